//! Atoms of languages whose expressions are words, strings and brackets.

use headwater_text::Span;

use crate::expression::{Atom, AtomKind, Expression};

/// A word of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    /// Without quotes.
    pub(super) text: &'t str,
    pub(super) span: Span,
}

/// Kinds of [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, path, number or sign.
    Word,
    Text,
    Open,
    Close,
    Pipe,
}

/// Cuts an expression that begins at byte `base` into words.
pub(super) fn tokens(text: &str, base: usize) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        let (kind, length, inner) = match first {
            _ if first.is_whitespace() || first == ',' => {
                at += first.len_utf8();
                continue;
            }
            '"' | '\'' | '`' => {
                let length = string_length(rest, first);
                let inner = rest.get(1..length.max(2) - 1).unwrap_or_default();
                (TokenKind::Text, length, inner)
            }
            '(' => (TokenKind::Open, 1, "("),
            ')' => (TokenKind::Close, 1, ")"),
            '|' => (TokenKind::Pipe, 1, "|"),
            _ => {
                let length = word_length(rest);
                (TokenKind::Word, length, &rest[..length])
            }
        };
        tokens.push(Token {
            kind,
            text: inner,
            span: Span::new(base + at, base + at + length),
        });
        at += length;
    }
    tokens
}

fn string_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped && quote != '`';
    }
    rest.len()
}

/// A word goes on through `[…]` and stops before strings, brackets and pipes.
fn word_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            '(' | ')' | '|' | ',' | '"' | '\'' | '`' => return at.max(1),
            _ if c.is_whitespace() => return at,
            // `key=value` is two words.
            '=' if at > 0 => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// An atom at a place.
pub(super) fn atom(kind: AtomKind, path: &str, span: Span) -> Atom {
    Atom {
        kind,
        name: path.rsplit('.').next().unwrap_or_default().to_owned(),
        path: path.to_owned(),
        keywords: Vec::new(),
        span,
        derived: false,
    }
}

/// An expression of one variable.
pub(crate) fn variable(path: &str, span: Span) -> Expression {
    Expression {
        atoms: vec![atom(AtomKind::Variable, path, span)],
    }
}

/// It is a number or a constant.
pub(super) fn is_constant(word: &str) -> bool {
    let digits = word.trim_start_matches(['-', '+']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        || matches!(
            word,
            "true" | "false" | "null" | "nil" | "none" | "undefined"
        )
}
