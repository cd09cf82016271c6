//! What could not be understood, as data with a place.

use headwater_text::Span;

/// A part of a template that could not be understood. The rest was still parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, in bytes of the source.
    pub span: Span,
    /// What was found and what was expected, in lower case.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }
}
