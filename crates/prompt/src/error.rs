//! Why a prompt could not be built, tokenized or signed. Messages never quote prompt text.

use std::fmt;
use std::ops::Range;

use headwater_text::{CleanError, Position};

use crate::{SegmentLabel, json::JsonError};

/// Why segments do not make a prompt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PromptError {
    /// There is nothing to sign.
    NoSegments,
    /// A segment stands behind one that changes more often.
    OutOfOrder {
        /// The one that changes more often.
        earlier: SegmentLabel,
        /// The one that should stand before it.
        later: SegmentLabel,
    },
    /// One segment has a role and its neighbour has none.
    MixedRoles {
        /// The first of the two.
        earlier: SegmentLabel,
        /// The second of the two.
        later: SegmentLabel,
    },
    /// Characters that hide text or turn its direction.
    Refused {
        /// Which segment.
        segment: SegmentLabel,
        /// All of them, with their places in the segment's text.
        error: CleanError,
    },
    /// A message marker in static or semi-static message text, where it can only be a mistake.
    Marker {
        /// Which segment.
        segment: SegmentLabel,
        /// The marker.
        marker: &'static str,
        /// Where it stands in the segment's text.
        position: Position,
    },
    /// Tools that are no JSON, or not in a form that all readers understand alike.
    Json {
        /// Which segment.
        segment: SegmentLabel,
        /// The first thing wrong. Its pointer begins with the tool's place in the list; its
        /// position is in that tool's own text.
        error: JsonError,
    },
    /// A conversation has no such turns.
    NoTurns {
        /// Which were asked for.
        asked: Range<usize>,
        /// How many there are.
        turns: usize,
    },
    /// A fact's name is none.
    FactName {
        /// Which fact.
        segment: SegmentLabel,
    },
}

impl PromptError {
    /// The segment and the place in its text, for errors that have one.
    pub fn place(&self) -> Option<(&SegmentLabel, Position)> {
        match self {
            Self::Refused { segment, error } => error
                .sightings
                .first()
                .map(|sighting| (segment, sighting.position)),
            Self::Marker {
                segment, position, ..
            } => Some((segment, *position)),
            Self::Json { segment, error } => Some((segment, error.position)),
            Self::FactName { segment } => Some((segment, Position { line: 1, column: 1 })),
            Self::NoSegments
            | Self::OutOfOrder { .. }
            | Self::MixedRoles { .. }
            | Self::NoTurns { .. } => None,
        }
    }

    /// What is wrong, without the place.
    pub fn problem(&self) -> String {
        match self {
            Self::NoSegments => "the prompt has no segments; add at least one".to_owned(),
            Self::OutOfOrder { earlier, later } => format!(
                "{later} stands behind {earlier}, which changes more often; \
                 put static before semi_static before dynamic"
            ),
            Self::MixedRoles { earlier, later } => {
                let (with, without) = if earlier.role.is_some() {
                    (earlier, later)
                } else {
                    (later, earlier)
                };
                format!(
                    "{without} has no role, but {with} has one; give all segments a role or none"
                )
            }
            Self::Refused { error, .. } => refused(error),
            Self::Json { error, .. } => {
                format!(
                    "`{}`: {}",
                    error.pointer.escape_debug(),
                    error.kind.problem()
                )
            }
            Self::NoTurns { asked, turns } => format!(
                "there are no turns {}..{} in a conversation of {turns}; count from 0",
                asked.start, asked.end
            ),
            Self::FactName { .. } => {
                "the fact's name is no name; use letters, digits, `_` and `-`".to_owned()
            }
            Self::Marker { marker, .. } => format!(
                "the text contains the message marker `{marker}`; remove it, or make the segment \
                 verbatim if the characters are meant"
            ),
        }
    }
}

fn refused(error: &CleanError) -> String {
    let first = error
        .sightings
        .first()
        .map_or_else(String::new, |sighting| {
            let c = sighting.code_point;
            format!("U+{:04X} {}", u32::from(c), headwater_text::name(c))
        });
    let more = match error.sightings.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    format!(
        "{first}{more} must not be in static text; delete it, or make the segment verbatim if it belongs there"
    )
}

impl fmt::Display for PromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((segment, position)) = self.place() {
            write!(
                f,
                "{segment}, line {}, column {}: ",
                position.line, position.column
            )?;
        }
        f.write_str(&self.problem())
    }
}

impl std::error::Error for PromptError {}

/// Everything that can go wrong between the pieces of a prompt and its headers, for callers who
/// want one type. `?` turns each of the others into it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The pieces make no prompt.
    Prompt(PromptError),
    /// The prompt cannot be signed.
    Sign(SignError),
    /// The prompt makes no request body for a provider.
    Body(crate::body::BodyError),
}

impl Error {
    /// The segment and the place in its text, for errors that have one.
    pub fn place(&self) -> Option<(&SegmentLabel, Position)> {
        match self {
            Self::Prompt(error) => error.place(),
            Self::Sign(_) | Self::Body(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt(error) => error.fmt(f),
            Self::Sign(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Prompt(error) => error.source(),
            Self::Sign(error) => error.source(),
            Self::Body(error) => error.source(),
        }
    }
}

impl From<PromptError> for Error {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error)
    }
}

impl From<SignError> for Error {
    fn from(error: SignError) -> Self {
        Self::Sign(error)
    }
}

impl From<crate::body::BodyError> for Error {
    fn from(error: crate::body::BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<TokenizeError> for Error {
    fn from(error: TokenizeError) -> Self {
        Self::Sign(SignError::Tokenize(error))
    }
}

/// Why a text has no tokens.
#[derive(Debug)]
#[non_exhaustive]
pub struct TokenizeError {
    /// What failed.
    pub kind: TokenizeErrorKind,
    message: String,
    source: Option<std::io::Error>,
}

/// The closed set of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenizeErrorKind {
    /// The tokenizer file cannot be read.
    Unreadable,
    /// The tokenizer file is over the limit.
    TooLarge,
    /// The tokenizer file is not a tokenizer.
    Broken,
    /// The vocabulary cannot express the text.
    Encode,
    /// The text begins with the start token that would be added in front of it.
    SecondStart,
}

impl TokenizeError {
    /// For implementations of [`Tokenize`](crate::Tokenize) outside this crate: the text cannot
    /// be encoded, because of `reason`.
    pub fn encode(reason: &dyn fmt::Display) -> Self {
        let message = format!(
            "the tokenizer cannot encode the prompt: {reason}; use the tokenizer of the model"
        );
        Self {
            kind: TokenizeErrorKind::Encode,
            message,
            source: None,
        }
    }

    pub(crate) fn second_start(token: &str) -> Self {
        let message = format!(
            "the prompt begins with `{token}`, and the tokenizer would add `{token}` in front of \
             it; sign with `SpecialTokens::Omitted`, or take the token out of the text"
        );
        Self {
            kind: TokenizeErrorKind::SecondStart,
            message,
            source: None,
        }
    }

    pub(crate) fn unreadable(origin: &str, error: std::io::Error) -> Self {
        let message =
            format!("cannot read the tokenizer file `{origin}`; give the path of a tokenizer.json");
        Self {
            kind: TokenizeErrorKind::Unreadable,
            message,
            source: Some(error),
        }
    }

    pub(crate) fn too_large(origin: &str, limit: u64) -> Self {
        let message =
            format!("the tokenizer file `{origin}` is over {limit} bytes; give a tokenizer.json");
        Self {
            kind: TokenizeErrorKind::TooLarge,
            message,
            source: None,
        }
    }

    pub(crate) fn broken(origin: &str, error: &dyn fmt::Display) -> Self {
        let message = format!(
            "`{origin}` is not a tokenizer: {error}; give the tokenizer.json that stands beside the model"
        );
        Self {
            kind: TokenizeErrorKind::Broken,
            message,
            source: None,
        }
    }
}

impl fmt::Display for TokenizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TokenizeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// Why a prompt could not be signed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SignError {
    /// It has no tokens.
    Tokenize(TokenizeError),
    /// It has more tokens than a header can say.
    TooLong {
        /// How many.
        tokens: usize,
    },
    /// The pieces do not make a signature, which a faulty [`Tokenize`](crate::Tokenize) can cause.
    Signature(headwater_signature::SignatureError),
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokenize(error) => error.fmt(f),
            Self::TooLong { tokens } => {
                write!(
                    f,
                    "the prompt has {tokens} tokens, a signature covers {}; shorten it",
                    u32::MAX
                )
            }
            Self::Signature(error) => {
                write!(f, "the tokenizer's output makes no signature: {error}")
            }
        }
    }
}

impl std::error::Error for SignError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tokenize(error) => error.source(),
            Self::TooLong { .. } => None,
            Self::Signature(error) => Some(error),
        }
    }
}

impl From<TokenizeError> for SignError {
    fn from(error: TokenizeError) -> Self {
        Self::Tokenize(error)
    }
}
