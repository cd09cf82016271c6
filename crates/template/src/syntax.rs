//! One stretch of text in its language, as the tree that all languages share.

pub(crate) mod go;
pub(crate) mod handlebars;
pub(crate) mod semantic_kernel;
pub(crate) mod str_format;

pub(crate) mod atoms;
mod delimiters;

use headwater_text::Span;

use crate::{
    dialect::Dialect,
    marks::{Mark, MarkKind, scan},
    problem::Problem,
    tree::{Node, build},
};

/// A text that was read.
pub(crate) struct Syntax {
    pub(crate) marks: Vec<Mark>,
    pub(crate) nodes: Vec<Node>,
}

/// Reads the stretch `span` of a text.
pub(crate) fn read(
    dialect: Dialect,
    text: &str,
    span: Span,
    problems: &mut Vec<Problem>,
) -> Syntax {
    let text = &text[..span.end];
    match dialect {
        Dialect::Jinja => {
            let marks = scan(text, span.start, problems);
            let nodes = build(text, &marks, problems);
            Syntax { marks, nodes }
        }
        Dialect::Handlebars => handlebars::read(text, span.start, problems),
        Dialect::Mustache => handlebars::read(text, span.start, problems),
        Dialect::Go => go::read(text, span.start, problems),
        Dialect::SemanticKernel => semantic_kernel::read(text, span.start, problems),
        Dialect::StrFormat => str_format::read(text, span.start, problems),
        Dialect::Plain => plain(span),
    }
}

fn plain(span: Span) -> Syntax {
    if span.start >= span.end {
        return Syntax {
            marks: Vec::new(),
            nodes: Vec::new(),
        };
    }
    let mark = Mark {
        kind: MarkKind::Text,
        span,
    };
    Syntax {
        marks: vec![mark],
        nodes: vec![Node::Text(span)],
    }
}
