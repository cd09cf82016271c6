//! Python's `str.format`: `{name}`, `{user.name!r:>10}`, `{{` and `}}` for the signs themselves.

use headwater_text::Span;

use super::{Syntax, atoms::variable};
use crate::{
    marks::{Mark, MarkKind},
    problem::Problem,
    tree::Node,
};

/// Reads a text from `start` on.
pub(crate) fn read(text: &str, start: usize, problems: &mut Vec<Problem>) -> Syntax {
    let mut syntax = Syntax {
        marks: Vec::new(),
        nodes: Vec::new(),
    };
    let bytes = text.as_bytes();
    let mut from = start;
    let mut at = start;
    while let Some(sign) = text[at..].find(['{', '}']).map(|found| at + found) {
        if bytes.get(sign + 1) == Some(&bytes[sign]) {
            at = sign + 2;
            continue;
        }
        let field = field(&text[sign..]);
        let Some((path, length)) = field else {
            let span = Span::new(sign, sign + 1);
            let what = &text[sign..=sign];
            let message = format!("a single `{what}`; write `{what}{what}` for the sign itself");
            problems.push(Problem::new(span, message));
            at = sign + 1;
            continue;
        };
        push(&mut syntax, MarkKind::Text, Span::new(from, sign));
        let span = Span::new(sign, sign + length);
        push(&mut syntax, MarkKind::Output, span);
        let name = Span::new(sign + 1, sign + 1 + path.len());
        syntax.nodes.push(Node::Output {
            span,
            value: variable(&path.replace(['[', ']'], "."), name),
        });
        (from, at) = (span.end, span.end);
    }
    push(&mut syntax, MarkKind::Text, Span::new(from, text.len()));
    syntax
}

fn push(syntax: &mut Syntax, kind: MarkKind, span: Span) {
    if span.start >= span.end {
        return;
    }
    syntax.marks.push(Mark { kind, span });
    if kind == MarkKind::Text {
        syntax.nodes.push(Node::Text(span));
    }
}

/// The path of the field at the start of the text, and the bytes of the field.
pub(crate) fn field(text: &str) -> Option<(&str, usize)> {
    /// Longer ones are no fields.
    const MAX_BYTES: usize = 256;
    let inner = text.strip_prefix('{')?;
    let end = inner
        .bytes()
        .take(MAX_BYTES)
        .position(|byte| byte == b'}')?;
    let inner = inner.get(..end)?;
    let path = inner.find(['!', ':']).map_or(inner, |at| &inner[..at]);
    let is_name = path.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_path = path
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'));
    (is_name && is_path).then_some((path, end + 2))
}
