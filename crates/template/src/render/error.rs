//! Why a template cannot be rendered.

use std::fmt;

use headwater_text::Position;
use minijinja::ErrorKind;

use super::{environment::RAISED, guard::TOO_LARGE, prepare::Prepared};
use crate::{Problem, Source};

/// Why a template cannot be rendered, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderError {
    /// What kind of failure it is.
    pub kind: RenderErrorKind,
    /// Where in the template, if that is known.
    pub position: Option<Position>,
    /// What was found and what was expected. May quote the template, and what it hands to
    /// `raise_exception`.
    pub message: String,
}

/// Kinds of [`RenderError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RenderErrorKind {
    /// The template is not valid.
    Syntax,
    /// The template refused the values with `raise_exception`.
    Raised,
    /// A limit of time or memory was reached.
    Limit,
    /// An operation failed: a value is missing, or of the wrong kind.
    Operation,
}

impl RenderErrorKind {
    /// `syntax`, `raised`, `limit` or `operation`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Raised => "raised",
            Self::Limit => "limit",
            Self::Operation => "operation",
        }
    }
}

impl RenderError {
    pub(crate) fn of_problem(source: &Source, problem: &Problem) -> Self {
        Self {
            kind: RenderErrorKind::Syntax,
            position: Some(source.position(problem.span.start)),
            message: problem.message.clone(),
        }
    }

    pub(crate) fn too_long(bytes: usize) -> Self {
        Self {
            kind: RenderErrorKind::Limit,
            position: None,
            message: format!(
                "the prompt is longer than {bytes} bytes; raise `Limits::output_bytes`"
            ),
        }
    }

    pub(crate) fn of_engine(
        error: &minijinja::Error,
        prepared: &Prepared,
        source: &Source,
    ) -> Self {
        // The innermost error has the cause; the outer ones say in which macro it happened.
        let mut cause = error;
        while let Some(inner) = std::error::Error::source(cause)
            .and_then(|source| source.downcast_ref::<minijinja::Error>())
        {
            cause = inner;
        }
        let range = cause.range().or_else(|| error.range());
        let position = range.map(|range| source.position(prepared.origin(range.start)));
        let (kind, message) = describe(cause);
        Self {
            kind,
            position,
            message,
        }
    }
}

fn describe(error: &minijinja::Error) -> (RenderErrorKind, String) {
    let detail = error.detail().unwrap_or_default();
    if let Some(message) = detail.strip_prefix(RAISED) {
        let message = format!("the template refuses the values: {message}");
        return (RenderErrorKind::Raised, message);
    }
    if let Some(what) = detail.strip_prefix(TOO_LARGE) {
        return (RenderErrorKind::Limit, what.to_owned());
    }
    match error.kind() {
        ErrorKind::OutOfFuel => (
            RenderErrorKind::Limit,
            "the template takes too many steps; raise `Limits::steps` if it is meant to".to_owned(),
        ),
        kind if detail.is_empty() => (of(kind), kind.to_string()),
        ErrorKind::InvalidOperation | ErrorKind::SyntaxError => {
            (of(error.kind()), detail.to_owned())
        }
        kind => (of(kind), format!("{kind}: {detail}")),
    }
}

fn of(kind: ErrorKind) -> RenderErrorKind {
    match kind {
        ErrorKind::SyntaxError => RenderErrorKind::Syntax,
        _ => RenderErrorKind::Operation,
    }
}

impl fmt::Display for RenderError {
    /// `3:7: the template refuses the values: roles must alternate`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for RenderError {}
