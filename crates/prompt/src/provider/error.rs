//! Why a file of provider limits cannot be used.

use std::fmt;

/// What is wrong with a file of limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitsError {
    /// It has another form.
    Form {
        /// What the YAML reader says, with its place.
        message: String,
    },
    /// A row says something that cannot be.
    Row {
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong, and the next step.
        problem: String,
    },
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { message } => write!(
                f,
                "the provider limits cannot be read: {message}; compare with the comment at the \
                 top of the file"
            ),
            Self::Row { number, problem } => {
                write!(f, "row {number} of the provider limits: {problem}")
            }
        }
    }
}

impl std::error::Error for LimitsError {}
