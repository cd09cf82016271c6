//! `headwater: ignore[HW201] reason` in a comment: takes a finding away, and is one if it takes none.

use std::cell::LazyCell;

use headwater_template::{SourceFile, Template};
use headwater_text::Span;

use crate::{
    code::{holds, merged},
    finding::Finding,
    fix::{Edit, Fix},
    matcher::Matcher,
    rule::Rule,
};

/// A finding that a comment takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// What was found.
    pub finding: Finding,
    /// What the comment gives as its reason; may be empty.
    pub reason: String,
}

/// A comment that suppresses.
pub(crate) struct Suppression {
    /// The comment, in bytes of the file.
    span: Span,
    /// The line on which it ends, from 1.
    line: usize,
    reach: Reach,
    /// What stands between the square brackets.
    list: Span,
    names: Vec<Name>,
    reason: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Its own line and the next one.
    Lines,
    File,
}

/// An id or a code.
struct Name {
    text: String,
    is_used: bool,
}

/// How comments begin, and how they end; none for the end of the line. Longer beginnings first.
const COMMENTS: [(&str, Option<&str>); 8] = [
    ("<!--", Some("-->")),
    ("{{!--", Some("--}}")),
    ("{{!", Some("}}")),
    ("{{/*", Some("*/}}")),
    ("{#", Some("#}")),
    ("<%#", Some("%>")),
    ("//", None),
    ("#", None),
];

const MARK: &str = "headwater:";

/// The comments of a file. Comments that end with their line exist only outside of prompts: in one,
/// `# …` is a heading.
pub(crate) fn read<'t>(
    file: &SourceFile,
    templates: impl Iterator<Item = &'t Template>,
) -> Vec<Suppression> {
    let text = file.text();
    let places = LazyCell::new(|| merged(templates.flat_map(places).collect()));
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(mark) = text[at..].find(MARK).map(|offset| at + offset) {
        at = mark + MARK.len();
        let Some((open, close)) = opening(&text[..mark]) else {
            continue;
        };
        if close.is_none() && holds(&places, mark) {
            continue;
        }
        let rest = &text[at..];
        let (inner, end) = match close {
            Some(close) => match rest.find(close) {
                Some(length) => (&rest[..length], at + length + close.len()),
                None => continue,
            },
            None => {
                let line = rest.lines().next().unwrap_or_default();
                (line, at + line.len())
            }
        };
        found.extend(suppression(file, Span::new(open, end), inner, at));
    }
    found
}

/// The bytes of the file that a template's prompt is written in.
fn places(template: &Template) -> Vec<Span> {
    let source = template.source();
    if source.is_whole_file() {
        return vec![Span::new(template.body_start(), source.text().len())];
    }
    source.places()
}

/// Where the comment opens that ends right before the directive, and what closes it.
fn opening(before: &str) -> Option<(usize, Option<&'static str>)> {
    let trimmed = before.trim_end_matches([' ', '\t']);
    // Jinja's trim marks.
    let untrimmed = trimmed.trim_end_matches(['-', '+']);
    COMMENTS.iter().find_map(|(open, close)| {
        let head = trimmed.strip_suffix(open).or_else(|| {
            (*open == "{#")
                .then(|| untrimmed.strip_suffix(open))
                .flatten()
        })?;
        Some((head.len(), *close))
    })
}

fn suppression(file: &SourceFile, span: Span, inner: &str, base: usize) -> Option<Suppression> {
    let directive = inner.trim_start();
    let (reach, rest) = match directive.strip_prefix("ignore-file[") {
        Some(rest) => (Reach::File, rest),
        None => (Reach::Lines, directive.strip_prefix("ignore[")?),
    };
    let (names, reason) = rest.split_once(']')?;
    let start = base + inner.len() - rest.len();
    let reason = reason.trim().trim_end_matches('-').trim();
    Some(Suppression {
        span,
        line: file.position(span.end).line,
        reach,
        list: Span::new(start, start + names.len()),
        names: names
            .split(',')
            .map(|name| Name {
                text: name.trim().to_owned(),
                is_used: false,
            })
            .collect(),
        reason: reason.to_owned(),
    })
}

/// Takes suppressed findings out and adds one for each comment with a name that suppresses nothing.
pub(crate) fn apply(
    rules: &[Rule],
    file: &SourceFile,
    mut suppressions: Vec<Suppression>,
    findings: Vec<Finding>,
) -> (Vec<Finding>, Vec<Suppressed>) {
    let mut kept = Vec::new();
    let mut suppressed = Vec::new();
    for finding in findings {
        match reason(&mut suppressions, &finding) {
            Some(reason) => suppressed.push(Suppressed { finding, reason }),
            None => kept.push(finding),
        }
    }
    let unused = rules
        .iter()
        .find(|rule| matches!(rule.matcher, Matcher::Suppression));
    if let Some(rule) = unused {
        let idle = suppressions
            .iter()
            .filter(|each| each.names.iter().any(|name| !name.is_used));
        kept.extend(idle.map(|each| unused_finding(rule, file, each)));
    }
    (kept, suppressed)
}

/// Why a finding is suppressed, if it is. Every comment that speaks for it is in use.
fn reason(suppressions: &mut [Suppression], finding: &Finding) -> Option<String> {
    let mut reason = None;
    for suppression in suppressions {
        let near = suppression.reach == Reach::File
            || [suppression.line, suppression.line + 1].contains(&finding.position.line);
        if !near {
            continue;
        }
        for name in &mut suppression.names {
            let is_meant =
                name.text == finding.rule || name.text.eq_ignore_ascii_case(finding.code.as_str());
            if is_meant {
                name.is_used = true;
                reason.get_or_insert_with(|| suppression.reason.clone());
            }
        }
    }
    reason
}

fn unused_finding(rule: &Rule, file: &SourceFile, suppression: &Suppression) -> Finding {
    let of_use = |used: bool| {
        let names = suppression.names.iter();
        let names = names.filter(move |name| name.is_used == used);
        names.map(|name| name.text.as_str()).collect::<Vec<_>>()
    };
    let mut finding =
        Finding::in_file(rule, file, suppression.span, 0).with("name", &of_use(false).join(", "));
    finding.fix = rule.fix.map(|fix| {
        let used = of_use(true);
        let edit = match used.as_slice() {
            [] => delete_comment(file.text(), suppression.span),
            _ => Edit {
                span: suppression.list,
                replacement: used.join(", "),
            },
        };
        Fix {
            safety: fix.safety,
            title: match used.as_slice() {
                [] => "delete the comment".to_owned(),
                _ => "delete the unused names".to_owned(),
            },
            edits: vec![edit],
        }
    });
    finding
}

/// With the whole line if nothing else stands on it, else with the spaces before it.
fn delete_comment(text: &str, span: Span) -> Edit {
    let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[span.end..]
        .find('\n')
        .map_or(text.len(), |at| span.end + at + 1);
    let before = &text[line_start..span.start];
    let is_alone = before.trim().is_empty() && text[span.end..line_end].trim().is_empty();
    let span = if is_alone {
        Span::new(line_start, line_end)
    } else {
        let spaces = before.len() - before.trim_end_matches([' ', '\t']).len();
        Span::new(span.start - spaces, span.end)
    };
    Edit {
        span,
        replacement: String::new(),
    }
}
