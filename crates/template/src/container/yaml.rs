//! YAML as values with places, from the parser's events: anchors are not expanded, so nothing grows.

use std::borrow::Cow;

use headwater_text::Span;
use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{
    MAX_DEPTH,
    value::{Data, Style, Text, Value},
};
use crate::problem::Problem;

/// Longer than any file of prompts; the parser is slow compared with what else is read here.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Characters between two entries of the table of offsets.
const STEP: usize = 128;

/// Reads the first document of a YAML text that begins at byte `base` of the file. None if it is empty.
pub(crate) fn read_yaml(text: &str, base: usize) -> Result<Option<Value<'_>>, Problem> {
    if text.len() > MAX_BYTES {
        let message =
            format!("more than the {MAX_BYTES} bytes of YAML that are read; split the file");
        return Err(Problem::new(Span::new(base, base), message));
    }
    if opens_too_many(text) {
        return Err(too_deep(base));
    }
    let mut builder = Builder {
        text,
        base,
        offsets: Offsets::new(text),
        open: Vec::new(),
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = base + builder.offsets.byte(error.marker().index());
            Problem::new(
                Span::new(at, at),
                format!("not valid YAML: {}", error.info()),
            )
        })?;
        let start = builder.offsets.byte(span.start.index());
        let span = Span::new(start, builder.offsets.byte(span.end.index()).max(start));
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.event(event, span)?;
    }
    Ok(builder.root)
}

/// One line opens many nested values: `- - - -`, `[[[[`.
fn opens_too_many(text: &str) -> bool {
    text.lines().any(|line| {
        let mut depth = 0_usize;
        let opens = |c: char| matches!(c, '-' | '?' | ':' | '[' | '{' | ' ' | '\t');
        for c in line.chars().take_while(|c| opens(*c)) {
            depth += usize::from(!c.is_whitespace());
        }
        // A line of dashes is a rule or a border, not a list in a list.
        depth > MAX_DEPTH && !line.trim().chars().all(|c| c == '-')
    })
}

fn too_deep(at: usize) -> Problem {
    Problem::new(Span::new(at, at), "values nest too deep to be read")
}

/// Bytes of characters, for a parser that counts characters.
struct Offsets<'t> {
    text: &'t str,
    /// Byte of every [`STEP`]th character; empty where every character is one byte.
    table: Vec<usize>,
}

impl<'t> Offsets<'t> {
    fn new(text: &'t str) -> Self {
        let table = if text.is_ascii() {
            Vec::new()
        } else {
            let starts = text.char_indices().map(|(at, _)| at);
            starts.step_by(STEP).collect()
        };
        Self { text, table }
    }

    fn byte(&self, character: usize) -> usize {
        if self.table.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.table.get(character / STEP).copied() else {
            return self.text.len();
        };
        let mut behind = self.text[start..].char_indices().map(|(at, _)| at);
        behind
            .nth(character % STEP)
            .map_or(self.text.len(), |at| start + at)
    }
}

/// A list or map that is not closed yet.
struct Open<'t> {
    start: usize,
    is_map: bool,
    items: Vec<Value<'t>>,
    pairs: Vec<(Text<'t>, Value<'t>)>,
    /// The key whose value comes next.
    key: Option<Option<Text<'t>>>,
}

struct Builder<'t> {
    text: &'t str,
    base: usize,
    offsets: Offsets<'t>,
    open: Vec<Open<'t>>,
    root: Option<Value<'t>>,
}

impl<'t> Builder<'t> {
    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), Problem> {
        match event {
            Event::Scalar(value, style, _, _) => {
                let data = self.scalar(value, style, span);
                self.push(self.value(span, data));
            }
            Event::Alias(_) => self.push(self.value(span, Data::Other)),
            Event::SequenceStart(..) => self.enter(span, false)?,
            Event::MappingStart(..) => self.enter(span, true)?,
            Event::SequenceEnd | Event::MappingEnd => self.leave(span),
            _ => {}
        }
        Ok(())
    }

    fn value(&self, span: Span, data: Data<'t>) -> Value<'t> {
        let span = Span::new(self.base + span.start, self.base + span.end);
        Value { span, data }
    }

    fn scalar(&self, value: Cow<'t, str>, style: ScalarStyle, span: Span) -> Data<'t> {
        let style = match style {
            ScalarStyle::Plain => Style::YamlPlain,
            ScalarStyle::SingleQuoted => Style::YamlSingle,
            ScalarStyle::DoubleQuoted => Style::YamlDouble,
            ScalarStyle::Literal => Style::YamlLiteral,
            ScalarStyle::Folded => Style::YamlFolded,
        };
        let span = self.written(style, span);
        Data::Text(Text {
            value,
            span: Span::new(self.base + span.start, self.base + span.end),
            style,
        })
    }

    /// Where the text itself is written: without anchor and tag, and a block with its whole first line.
    fn written(&self, style: Style, span: Span) -> Span {
        let start = match style {
            Style::YamlLiteral | Style::YamlFolded => {
                let before = self.text[..span.start].trim_end_matches([' ', '\t', '\n', '\r']);
                let header = &self.text[before.len()..span.start];
                before.len() + header.find('\n').map_or(header.len(), |at| at + 1)
            }
            _ => span.start + properties(&self.text[span.start..span.end]),
        };
        Span::new(start, span.end)
    }

    fn enter(&mut self, span: Span, is_map: bool) -> Result<(), Problem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(self.base + span.start));
        }
        self.open.push(Open {
            start: span.start,
            is_map,
            items: Vec::new(),
            pairs: Vec::new(),
            key: None,
        });
        Ok(())
    }

    fn leave(&mut self, span: Span) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let data = if open.is_map {
            Data::Map(open.pairs)
        } else {
            Data::List(open.items)
        };
        self.push(self.value(Span::new(open.start, span.end.max(open.start)), data));
    }

    fn push(&mut self, value: Value<'t>) {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(value);
            return;
        };
        if !open.is_map {
            return open.items.push(value);
        }
        match open.key.take() {
            None => {
                let key = match value.data {
                    Data::Text(text) => Some(text),
                    _ => None,
                };
                open.key = Some(key);
            }
            Some(Some(key)) => open.pairs.push((key, value)),
            // A key that is no string names nothing that is looked for.
            Some(None) => {}
        }
    }
}

/// Bytes of anchor and tag before a scalar.
fn properties(raw: &str) -> usize {
    let mut rest = raw;
    while rest.starts_with(['&', '!']) {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[word..].trim_start();
    }
    raw.len() - rest.len()
}
