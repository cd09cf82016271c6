//! The salt that keeps the cached prefixes of one tenant from the others.

use std::fmt;

/// A `cache_salt` that the engine takes: 1 to 1,024 characters. Secret, so `Debug` hides it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CacheSalt<'a>(&'a str);

impl<'a> CacheSalt<'a> {
    /// The most characters that the engine takes.
    pub const MAX_CHARACTERS: usize = 1024;

    /// Checks the length, as the engine does.
    ///
    /// # Errors
    /// A salt that the engine would answer with status 400.
    pub fn new(salt: &'a str) -> Result<Self, SaltError> {
        match salt.chars().count() {
            0 => Err(SaltError::Empty),
            1..=Self::MAX_CHARACTERS => Ok(Self(salt)),
            characters => Err(SaltError::TooLong { characters }),
        }
    }

    /// The salt, as it goes into the request's body.
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

impl fmt::Debug for CacheSalt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheSalt(…)")
    }
}

/// Why the engine would not take a salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaltError {
    /// It has no character.
    Empty,
    /// It has too many.
    TooLong {
        /// How many.
        characters: usize,
    },
}

impl fmt::Display for SaltError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the cache salt is empty; give one, or leave it out"),
            Self::TooLong { characters } => write!(
                f,
                "the cache salt has {characters} characters, the engine takes {}; send a hash of it",
                CacheSalt::MAX_CHARACTERS
            ),
        }
    }
}

impl std::error::Error for SaltError {}
