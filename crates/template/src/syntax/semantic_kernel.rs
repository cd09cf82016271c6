//! The own language of Semantic Kernel: `{{$name}}`, `{{plugin.function $x}}`, `{{'text'}}`.

use headwater_text::Span;

use super::{
    Syntax,
    atoms::{TokenKind, atom, is_constant, tokens},
    delimiters::end_of_tag,
};
use crate::{
    expression::{AtomKind, Expression},
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
    let mut at = start;
    while let Some(open) = text[at..].find("{{").map(|found| at + found) {
        push_text(&mut syntax, at, open);
        let Some(end) = end_of_tag(text, open + 2, "}}", b"\"'") else {
            let span = Span::new(open, open + 2);
            problems.push(Problem::new(
                span,
                "this tag is never closed; expected `}}`",
            ));
            return syntax;
        };
        let span = Span::new(open, end);
        syntax.marks.push(Mark {
            kind: MarkKind::Output,
            span,
        });
        let value = expression(&text[open + 2..end - 2], open + 2);
        syntax.nodes.push(Node::Output { span, value });
        at = end;
    }
    push_text(&mut syntax, at, text.len());
    syntax
}

fn push_text(syntax: &mut Syntax, start: usize, end: usize) {
    if start < end {
        let span = Span::new(start, end);
        syntax.marks.push(Mark {
            kind: MarkKind::Text,
            span,
        });
        syntax.nodes.push(Node::Text(span));
    }
}

fn expression(inner: &str, base: usize) -> Expression {
    let mut atoms = Vec::new();
    let mut call = None;
    for token in tokens(inner, base) {
        let named = token.text.ends_with('=');
        if token.kind != TokenKind::Word || is_constant(token.text) || named {
            continue;
        }
        match token.text.strip_prefix('$') {
            Some(name) => atoms.push(atom(AtomKind::Variable, name, token.span)),
            None if call.is_none() => {
                call = Some(atom(AtomKind::Function, token.text, token.span));
            }
            None => {}
        }
    }
    atoms.extend(call);
    Expression { atoms }
}
