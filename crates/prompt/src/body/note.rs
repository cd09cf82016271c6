//! What a caller should know about a body: minimums, markers that are not there, moved text.

use std::fmt;

use crate::{SegmentLabel, provider::Date};

/// Something about a body that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyNote {
    /// The provider caches no prompt as short as this one.
    BelowMinimum {
        /// Tokens in the prompt, as the tokenizer of the signature counts them.
        tokens: u32,
        /// Tokens from which on the provider caches.
        minimum: u32,
        /// Where it says so.
        source: String,
        /// The date of that source.
        date: Date,
    },
    /// No source says from which length on the provider caches prompts for this model.
    UnknownMinimum,
    /// A marker was not written.
    MarkerOmitted {
        /// What it would have stood for.
        place: MarkerPlace,
        /// Why it was not.
        why: Omission,
    },
    /// More blocks were added since the last request than the provider looks back, and no marker
    /// was left. The history is computed again.
    OutOfReach {
        /// Content blocks since the last request, those of the model among them.
        blocks: usize,
        /// How many the provider looks back from a marker.
        lookback: usize,
    },
    /// System text was moved ahead of messages that stand before it in the signed prompt, since
    /// this provider has no other place for it. Static messages behind it are no longer shared
    /// between tenants.
    Hoisted {
        /// Which segment.
        segment: SegmentLabel,
    },
}

/// What a marker stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MarkerPlace {
    /// The end of what is the same for all requests.
    StaticEnd,
    /// The end of what is the same for a tenant or session.
    SemiStaticEnd,
    /// Where the request before this one ended.
    PreviousRequest,
    /// Inside the history, so that the provider's search goes on from there.
    History,
    /// The end of the newest turn.
    Newest,
}

impl MarkerPlace {
    /// `static end`, `semi-static end`, `previous request`, `history` or `newest turn`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StaticEnd => "static end",
            Self::SemiStaticEnd => "semi-static end",
            Self::PreviousRequest => "previous request",
            Self::History => "history",
            Self::Newest => "newest turn",
        }
    }
}

/// Why a marker was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Omission {
    /// The prefix is shorter than what the provider caches, so that the marker would be one of
    /// few and of no use.
    BelowMinimum {
        /// Tokens in the prefix.
        tokens: u32,
        /// Tokens from which on the provider caches.
        minimum: u32,
    },
    /// All markers that the provider takes are in use.
    NoRoom {
        /// How many it takes.
        markers: u32,
    },
    /// No source says how many markers the provider takes.
    UnknownRoom,
    /// Nothing in this part can carry a marker in this form of body.
    NoBlock,
}

impl fmt::Display for BodyNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BelowMinimum {
                tokens,
                minimum,
                source,
                date,
            } => write!(
                f,
                "the prompt has {tokens} tokens and is cached from {minimum} on ({source}, {date})"
            ),
            Self::UnknownMinimum => {
                f.write_str("no source says from how many tokens on this model caches")
            }
            Self::MarkerOmitted { place, why } => {
                write!(f, "no marker at the {}: {why}", place.as_str())
            }
            Self::OutOfReach { blocks, lookback } => write!(
                f,
                "{blocks} blocks were added since the last request, the provider looks back \
                 {lookback}, and no marker is left; send requests more often, or put fewer, \
                 larger blocks into a turn"
            ),
            Self::Hoisted { segment } => write!(
                f,
                "{segment} was moved ahead of the messages before it, the only place for system \
                 text; examples behind it are cached for each tenant anew"
            ),
        }
    }
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BelowMinimum { tokens, minimum } => write!(
                f,
                "the prefix has {tokens} tokens and is cached from {minimum} on"
            ),
            Self::NoRoom { markers } => {
                write!(f, "the provider takes {markers}, and they are in use")
            }
            Self::UnknownRoom => f.write_str("no source says how many the provider takes"),
            Self::NoBlock => f.write_str("no block of this part can carry one"),
        }
    }
}
