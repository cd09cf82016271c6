//! The source as the engine gets it: tags put in that watch the rendering, and tags replaced that the
//! engine does not know. No white space of the output changes, and every place leads back.

use std::{collections::BTreeMap, fmt::Write};

use headwater_text::Span;

use crate::{
    Volatility,
    marks::{Mark, MarkKind, inner, keyword, scan},
    statement::{Opened, Step, read_statement},
};

/// The function that weighs values which got a name.
pub(crate) const CHECK: &str = "__headwater_check";
/// The function that notes that what follows depends on a value.
pub(crate) const BORDER: &str = "__headwater_border";

/// Source for the engine.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) text: String,
    /// Where copied stretches begin: in `text`, and in the source.
    stretches: Vec<(usize, usize)>,
}

impl Prepared {
    /// The byte of the source behind a byte of the text.
    pub(crate) fn origin(&self, offset: usize) -> usize {
        let next = self.stretches.partition_point(|(at, _)| *at <= offset);
        let Some((at, origin)) = next
            .checked_sub(1)
            .and_then(|index| self.stretches.get(index))
        else {
            return 0;
        };
        let here = origin + (offset - at);
        // A place in a tag that was put in is the place behind it.
        match self.stretches.get(next) {
            Some((_, limit)) => here.min(*limit),
            None => here,
        }
    }
}

/// Prepares the text from `start` on, with a border before the tags that `borders` names.
pub(crate) fn prepare(text: &str, start: usize, borders: &BTreeMap<usize, Volatility>) -> Prepared {
    let mut writer = Writer {
        text,
        at: start,
        prepared: Prepared {
            text: String::with_capacity(text.len() - start),
            stretches: vec![(0, start)],
        },
        captures: Vec::new(),
    };
    // Problems were reported when the template was parsed.
    for mark in scan(text, start, &mut Vec::new()) {
        writer.mark(mark, borders);
    }
    writer.copy_to(text.len());
    writer.prepared
}

struct Writer<'t> {
    text: &'t str,
    /// Up to here the source is written.
    at: usize,
    prepared: Prepared,
    /// Names of the `set` blocks that are open.
    captures: Vec<String>,
}

impl Writer<'_> {
    fn mark(&mut self, mark: Mark, borders: &BTreeMap<usize, Volatility>) {
        let tag = &self.text[mark.span.start..mark.span.end];
        if !matches!(mark.kind, MarkKind::Output | MarkKind::Statement) {
            return;
        }
        if let Some(volatility) = borders.get(&mark.span.start) {
            self.copy_to(mark.span.start);
            // An output does not strip the white space before it, a statement does.
            let sign = match (&tag[2..3], mark.kind) {
                ("-", _) => "-",
                ("+", _) | (_, MarkKind::Output) => "+",
                _ => "",
            };
            let call = format!("{BORDER}({})", *volatility as u8);
            self.insert(&format!("{{%{sign} do {call} %}}"));
        }
        if mark.kind == MarkKind::Statement {
            self.statement(tag, mark.span);
        }
    }

    fn statement(&mut self, tag: &str, span: Span) {
        match keyword(tag) {
            "generation" => return self.replace(tag, span, "if true", closing_sign(tag)),
            "endgeneration" => return self.replace(tag, span, "endif", closing_sign(tag)),
            // Jinja2 keeps the line end behind this one tag, whatever `trim_blocks` says.
            "raw" if closing_sign(tag).is_empty() => return self.replace(tag, span, "raw", "+"),
            _ => {}
        }
        if let Some(names) = self.bound_names(tag, span) {
            self.copy_to(span.end);
            let sign = closing_sign(tag);
            self.insert(&format!("{{% do {CHECK}({names}) {sign}%}}"));
        }
    }

    /// The names that hold behind a tag and did not before it, as arguments of a call.
    fn bound_names(&mut self, tag: &str, span: Span) -> Option<String> {
        if keyword(tag) == "endset" {
            return self.captures.pop();
        }
        match read_statement(tag, span).ok()? {
            Step::Node(crate::tree::Node::Set { .. }) => {
                let target = inner(tag).strip_prefix("set")?.split('=').next()?;
                Some(target.trim().to_owned())
            }
            Step::Open(opened, _) => match opened {
                Opened::Capture { target } => {
                    self.captures.push(target);
                    None
                }
                Opened::For { targets, .. } => joined(targets),
                Opened::Macro { parameters, .. } => joined(parameters),
                Opened::Group { names, .. } => joined(names.into_iter().map(|(name, _)| name)),
                Opened::If
                | Opened::Call(_)
                | Opened::Block { .. }
                | Opened::Scope { .. }
                | Opened::Partial(..) => None,
            },
            _ => None,
        }
    }

    /// Puts other words in the place of a tag's.
    fn replace(&mut self, tag: &str, span: Span, words: &str, closing: &str) {
        self.copy_to(span.start);
        let opening = match &tag[2..3] {
            sign @ ("-" | "+") => sign,
            _ => "",
        };
        self.at = span.end;
        self.insert(&format!("{{%{opening} {words} {closing}%}}"));
    }

    fn copy_to(&mut self, end: usize) {
        self.prepared.text.push_str(&self.text[self.at..end]);
        self.at = end;
    }

    /// Writes what is not in the source; the next stretch of the source follows it.
    fn insert(&mut self, tag: &str) {
        write!(self.prepared.text, "{tag}").unwrap_or_default();
        self.prepared
            .stretches
            .push((self.prepared.text.len(), self.at));
    }
}

fn closing_sign(tag: &str) -> &str {
    match tag.get(tag.len().saturating_sub(3)..tag.len().saturating_sub(2)) {
        Some(sign @ ("-" | "+")) if tag.len() > 5 => sign,
        _ => "",
    }
}

fn joined(names: impl IntoIterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty()).then(|| names.join(", "))
}
