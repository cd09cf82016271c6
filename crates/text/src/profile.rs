//! How much of a text may be changed: by whom it was written decides.

/// The version of the table, the contexts and the steps together.
///
/// Part of the fingerprint of a signature: a release that could clean one text to other bytes
/// raises it.
pub const PROFILE_VERSION: u32 = 1;

/// Everything that decides which bytes come out of cleaning, as one short text for the
/// fingerprint: [`PROFILE_VERSION`] and the versions of the Unicode tables that were built in.
///
/// A newer table can compose or recognise characters that an older one did not know.
#[must_use]
pub fn profile_identity() -> String {
    let normalization = unicode_normalization::UNICODE_VERSION;
    let properties = unicode_properties::UNICODE_VERSION;
    let scripts = unicode_script::UNICODE_VERSION;
    format!(
        "clean-{PROFILE_VERSION}-nfc{}.{}-properties{}.{}-script{}.{}",
        normalization.0, normalization.1, properties.0, properties.1, scripts.0, scripts.1
    )
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_names_the_version_and_the_tables() {
        let identity = profile_identity();
        assert!(identity.starts_with("clean-1-nfc"), "{identity}");
        assert_eq!(identity.matches('.').count(), 3, "{identity}");
    }
}
