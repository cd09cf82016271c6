//! Why a header or a value was refused, and where.

use std::fmt;

/// A header that is refused as a whole: the request is served as if it had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// Where, in bytes from the start of the header's value.
    pub at: usize,
    /// What is wrong there.
    pub kind: ParseErrorKind,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.kind.sentence())
    }
}

impl std::error::Error for ParseError {}

/// The closed set of reasons for refusing a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Over 1,024 bytes.
    TooLong,
    /// Not an RFC 9651 dictionary from this byte on.
    Syntax,
    /// A key, or a rung's `h`, stands twice.
    DuplicateKey,
    /// Over 32 keys.
    TooManyKeys,
    /// A key that every header has, or a rung's `h`, is missing.
    MissingKey,
    /// A value of another type than its key has.
    WrongType,
    /// Not the canonical base64 of as many bytes as the key has.
    WrongBytes,
    /// A number outside its range.
    OutOfRange,
    /// Over 16 rungs.
    TooManyRungs,
    /// A rung that is not deeper than the one before it.
    RungOrder,
    /// A rung deeper than the prompt is long.
    RungBeyondPrompt,
    /// One of `w` and `wn` without the other.
    HalfEcho,
}

impl ParseErrorKind {
    /// A short constant name, fit for a metric label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Syntax => "syntax",
            Self::DuplicateKey => "duplicate_key",
            Self::TooManyKeys => "too_many_keys",
            Self::MissingKey => "missing_key",
            Self::WrongType => "wrong_type",
            Self::WrongBytes => "wrong_bytes",
            Self::OutOfRange => "out_of_range",
            Self::TooManyRungs => "too_many_rungs",
            Self::RungOrder => "rung_order",
            Self::RungBeyondPrompt => "rung_beyond_prompt",
            Self::HalfEcho => "half_echo",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::TooLong => "the header is over 1024 bytes; send fewer rungs",
            Self::Syntax => {
                "not an RFC 9651 dictionary from here on; let a library write the header"
            }
            Self::DuplicateKey => "the key stands twice; keep one",
            Self::TooManyKeys => "over 32 keys; send fewer",
            Self::MissingKey => {
                "a required key is missing; a signature has `v`, `b`, `n`, `fp` and `r`, a rung has `h`, a route has `w`, `matched` and `reason`"
            }
            Self::WrongType => "the value has another type than its key; see the table of keys",
            Self::WrongBytes => "expected padded base64 of 8 bytes for `fp` and `h`, of 4 for `w`",
            Self::OutOfRange => {
                "the number is out of range; `b` is 1 to 65536, a rung at least 1, all others at most 4294967295"
            }
            Self::TooManyRungs => "over 16 rungs; send 12 at most",
            Self::RungOrder => {
                "the rung is not deeper than the one before; sort them by block count"
            }
            Self::RungBeyondPrompt => "the rung ends after the prompt does; name whole blocks only",
            Self::HalfEcho => "one of `w` and `wn` is missing; send both or none",
        }
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Values that do not make a signature. Rungs are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// More rungs than a header may carry.
    TooManyRungs {
        /// How many were given.
        given: usize,
    },
    /// A rung of no blocks.
    EmptyRung {
        /// Which one.
        rung: usize,
    },
    /// A rung that is not deeper than the one before it.
    RungOrder {
        /// Which one.
        rung: usize,
    },
    /// A rung that ends after the prompt, or after 4,294,967,295 tokens when the prompt's length
    /// is unknown.
    RungBeyondPrompt {
        /// Which one.
        rung: usize,
    },
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyRungs { given } => {
                write!(
                    f,
                    "{given} rungs are too many for a signature; give 16 at most"
                )
            }
            Self::EmptyRung { rung } => {
                write!(f, "rung {rung} has no block; leave it out")
            }
            Self::RungOrder { rung } => {
                write!(
                    f,
                    "rung {rung} is not deeper than the one before; sort them by block count"
                )
            }
            Self::RungBeyondPrompt { rung } => {
                write!(
                    f,
                    "rung {rung} ends after the prompt does; name whole blocks only"
                )
            }
        }
    }
}

impl std::error::Error for SignatureError {}
