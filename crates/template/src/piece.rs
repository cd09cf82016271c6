//! A part of the prompt: what a rule looks at.

use std::sync::Arc;

use headwater_text::Span;

use crate::{expression::Expression, role::Role};

/// A part of the prompt, in the order in which the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it stands in the source, in bytes. A macro's pieces stand in the macro.
    pub span: Span,
    /// What it is.
    pub kind: PieceKind,
    /// Static bytes that may follow it in the prompt: without marks of roles, and with the longest
    /// way through every condition.
    pub static_bytes_after: usize,
    /// Those of them that are more than markup and labels (`</context>`, `Question:`).
    pub prose_bytes_after: usize,
    /// Static bytes inside it: the body of a loop or condition.
    pub static_bytes_within: usize,
    /// It belongs to the last message of the user, which is new in every request anyway.
    pub in_last_turn: bool,
    /// Of the first condition of a branch: how many ways through it there are, with the one past it.
    pub ways: usize,
    /// Who speaks at this place; none where nothing says it.
    pub role: Option<Role>,
    /// The other file that it stands in, as the template names it; [`span`](Self::span) is then the tag
    /// that brings it.
    pub from: Option<Arc<str>>,
}

/// Kinds of [`Piece`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceKind {
    /// Static text.
    Text,
    /// A printed value, with everything that it is made of.
    Value(Expression),
    /// The messages of a conversation, put in the place of a name. They only grow at their end.
    History(Expression),
    /// A loop over a value; its body follows.
    Loop(Expression),
    /// A condition; its ways follow.
    Condition(Expression),
    /// Text from another file that was not followed.
    Include,
    /// From here on somebody else speaks.
    Role(Role),
    /// A cache marker, an index into [`Template::markers`](crate::Template::markers).
    Marker(usize),
}

impl Piece {
    /// It prints or asks for something that is not static text.
    pub(crate) fn is_value(&self) -> bool {
        matches!(
            self.kind,
            PieceKind::Value(_)
                | PieceKind::History(_)
                | PieceKind::Loop(_)
                | PieceKind::Condition(_)
                | PieceKind::Include
        )
    }
}

/// A piece that is not measured yet.
pub(crate) fn piece(span: Span, kind: PieceKind) -> Piece {
    Piece {
        span,
        kind,
        static_bytes_after: 0,
        prose_bytes_after: 0,
        static_bytes_within: 0,
        in_last_turn: false,
        ways: 0,
        role: None,
        from: None,
    }
}
