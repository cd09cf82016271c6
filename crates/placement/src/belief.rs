//! What each worker is believed to hold of a prompt, and how we come to believe it.

use crate::residency::{Name, Residency};
use crate::settings::Settings;
use crate::sought::{By, Sought};
use crate::worker::Worker;

/// Tokens of a prompt that a worker is believed to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Belief {
    pub(crate) tokens: u32,
    pub(crate) ground: Ground,
}

/// Why we believe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// There is no reason to.
    Nothing,
    /// It is the home of a conversation that must have been somewhere.
    Prior,
    /// The key's last request went there.
    Session,
    /// The client says so.
    Echo,
    /// A prefix of this name went there.
    Resident,
}

impl Belief {
    pub(crate) const NOTHING: Self = Self {
        tokens: 0,
        ground: Ground::Nothing,
    };

    /// The stronger of two; the first of equals.
    fn or(self, tokens: u32, ground: Ground) -> Self {
        if tokens > self.tokens {
            Self { tokens, ground }
        } else {
            self
        }
    }

    /// Tokens that are known by name. A session's or a home's share is a guess, good for
    /// weighing workers but not for telling anybody.
    pub(crate) fn matched_tokens(self) -> u32 {
        match self.ground {
            Ground::Resident | Ground::Echo => self.tokens,
            Ground::Nothing | Ground::Prior | Ground::Session => 0,
        }
    }
}

/// What each of these workers, in the order of their ids, is believed to hold.
pub(crate) fn beliefs(
    sought: &Sought<'_>,
    workers: &[&Worker],
    residency: &Residency,
    settings: &Settings,
) -> Vec<Belief> {
    let mut beliefs = vec![Belief::NOTHING; workers.len()];
    let mut learn = |name: Name, tokens: u32, ground: Ground| {
        for holder in residency.holders(name) {
            let Ok(at) = workers.binary_search_by_key(&holder.worker, |w| w.id) else {
                continue;
            };
            if workers[at].wear(settings).spares(holder.sent_at) {
                beliefs[at] = beliefs[at].or(tokens, ground);
            }
        }
    };
    for (name, tokens) in sought.rungs() {
        learn(name, tokens, Ground::Resident);
    }
    if let By::Key(key) = sought.by {
        learn(
            Name::session(key),
            sought.share(settings.session_share),
            Ground::Session,
        );
    }
    if let Some(echo) = sought.echo {
        let tokens = sought.cacheable(u64::from(echo.tokens));
        for (belief, worker) in beliefs.iter_mut().zip(workers) {
            if worker.tag == echo.tag {
                *belief = belief.or(tokens, Ground::Echo);
            }
        }
    }
    beliefs
}

/// What the home of a conversation is believed to hold if nothing better is known.
///
/// A conversation whose key this router has placed, or whose client says where it was, needs no
/// guess. A router cannot tell a first turn from a conversation that lived elsewhere, which is
/// why the guess is off unless the settings say that other routers exist.
pub(crate) fn home_prior(
    sought: &Sought<'_>,
    home: Belief,
    residency: &Residency,
    settings: &Settings,
) -> Belief {
    let unseen = sought
        .conversation
        .is_some_and(|key| residency.holders(Name::session(key)).is_empty());
    if settings.home_prior > 0.0 && unseen && sought.echo.is_none() {
        home.or(sought.share(settings.home_prior), Ground::Prior)
    } else {
        home
    }
}
