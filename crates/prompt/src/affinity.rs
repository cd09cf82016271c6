//! Which conversation a request belongs to, as one token for proxies that hash a header.

use std::num::NonZeroU32;

use headwater_signature::{AffinityKey, PrefixHash, Seed};

use crate::{
    Role, SignOptions, Volatility,
    render::{Rendered, Renderer, Turn},
};

/// How the `Prefix-Affinity` key is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AffinityMode {
    /// [`Session`](Self::Session) with a session id or more than one user turn, else
    /// [`Spread`](Self::Spread) over 4. Give a session id from the first turn on where a plain
    /// hash proxy should keep that turn, too, with the later ones.
    #[default]
    Auto,
    /// One key per conversation: of the session id or, without one, of the text up to the end of
    /// the first user turn, which is equal on every turn.
    Session,
    /// One key per static part.
    Static,
    /// So many keys per static part, chosen by the conversation.
    Spread(NonZeroU32),
}

/// What [`AffinityMode::Auto`] spreads over when it knows of no conversation.
const AUTO_WAYS: NonZeroU32 = NonZeroU32::new(4).expect("4 is not 0");

/// Whether something tells this conversation from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A session id, or history.
    Conversation,
    /// Only a first question.
    FirstTurn,
}

impl Known {
    pub(crate) fn of(options: &SignOptions, rendered: &Rendered) -> Self {
        // Segments of a plain prompt do not tell turns apart.
        let history =
            rendered.renderer == Renderer::ChatMl && user_turns(rendered).nth(1).is_some();
        if options.session.is_some() || history {
            Self::Conversation
        } else {
            Self::FirstTurn
        }
    }
}

/// Makes the key. `static_prefix` is the name of the static part; without one (shorter than a
/// block) there is nothing worth sharing, and every mode keys by conversation.
pub(crate) fn key(
    mode: AffinityMode,
    seed: &Seed,
    session: &str,
    known: Known,
    static_prefix: Option<PrefixHash>,
) -> AffinityKey {
    let conversation = AffinityKey::session(seed, session);
    match (mode, static_prefix) {
        (AffinityMode::Static, Some(prefix)) => AffinityKey::prefix(prefix),
        (AffinityMode::Spread(ways), Some(prefix)) => {
            AffinityKey::spread(prefix, conversation, ways)
        }
        (AffinityMode::Auto, Some(prefix)) if known == Known::FirstTurn => {
            AffinityKey::spread(prefix, conversation, AUTO_WAYS)
        }
        _ => conversation,
    }
}

/// Turns of the conversation itself. Static ones are examples, and the same for everybody.
fn user_turns(rendered: &Rendered) -> impl Iterator<Item = &Turn> {
    rendered.turns.iter().filter(|turn| {
        turn.volatility == Volatility::Dynamic && turn.role.is_none_or(|role| role == Role::User)
    })
}

/// Whether there is a first turn, which history then keeps.
pub(crate) fn has_user_turn(rendered: &Rendered) -> bool {
    user_turns(rendered).next().is_some()
}

/// Stands for a session id. A prefix hash would not do: it ends at a whole block, and a short
/// first question on a long static part would not move it.
pub(crate) fn first_turn(rendered: &Rendered) -> String {
    let end = user_turns(rendered)
        .next()
        .map_or(rendered.text.len(), |turn| turn.end);
    let text = rendered.text.get(..end).unwrap_or_default();
    format!("first turn {}", blake3::hash(text.as_bytes()).to_hex())
}
