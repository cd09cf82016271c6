//! How much of a text may be changed: by whom it was written decides.

/// The version of the table, the contexts and the steps together.
///
/// Part of the fingerprint of a signature: a release that could clean one text to other bytes
/// raises it.
pub const PROFILE_VERSION: u32 = 1;

/// How much cleaning may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// For text that an author wrote (static and semi-static): every step. Characters that
    /// must not be there are errors.
    #[default]
    Strict,
    /// For text that a user or a tool sent: newline form, and removal of what is dangerous
    /// (byte order marks, tags, bidi overrides and stray isolates, NUL and ESC). Nothing else
    /// is ever rewritten, and nothing is an error: a user must not be able to make a request
    /// fail.
    Dynamic,
    /// For text that must stay as it is: nothing is looked at, changed or reported.
    Verbatim,
}

impl Profile {
    /// The profile as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Dynamic => "dynamic",
            Self::Verbatim => "verbatim",
        }
    }
}
