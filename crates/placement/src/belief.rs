//! What each worker is believed to hold of a prompt, and how we come to believe it.

use smallvec::SmallVec;

use crate::fleet::Fleet;
use crate::hold::serves;
use crate::id::WorkerId;
use crate::name::Name;
use crate::rendezvous;
use crate::residency::{Firmness, Slot};
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
    pub(crate) fn or(self, tokens: u32, ground: Ground) -> Self {
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

/// Beliefs by slot. Fleets of up to 256 workers need no memory for them.
#[derive(Debug)]
pub(crate) struct Beliefs {
    /// Apart from the grounds, so that both are cleared at once.
    tokens: [u32; NEAR],
    grounds: [Ground; NEAR],
    /// Of whom anything is believed.
    holders: SmallVec<[Slot; NEAR]>,
    /// Those of larger fleets.
    far: Vec<Belief>,
}

const NEAR: usize = 256;

impl Beliefs {
    /// Nothing is believed of so many.
    pub(crate) fn nothing(slots: usize) -> Self {
        Self {
            tokens: [0; NEAR],
            grounds: [Ground::Nothing; NEAR],
            holders: SmallVec::new(),
            far: vec![Belief::NOTHING; slots.saturating_sub(NEAR)],
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Belief {
        let at = slot.index();
        match (self.tokens.get(at), self.grounds.get(at)) {
            (Some(&tokens), Some(&ground)) => Belief { tokens, ground },
            _ => self.far.get(at - NEAR).copied().unwrap_or(Belief::NOTHING),
        }
    }

    /// Of whom anything is believed, in no order.
    pub(crate) fn holders(&self) -> &[Slot] {
        &self.holders
    }

    /// Believes in so many tokens, if that is more than before.
    pub(crate) fn raise(&mut self, slot: Slot, tokens: u32, ground: Ground) {
        let before = self.get(slot).tokens;
        if tokens <= before {
            return;
        }
        if before == 0 {
            self.holders.push(slot);
        }
        let at = slot.index();
        if let (Some(most), Some(why)) = (self.tokens.get_mut(at), self.grounds.get_mut(at)) {
            (*most, *why) = (tokens, ground);
        } else if let Some(belief) = self.far.get_mut(at - NEAR) {
            *belief = Belief { tokens, ground };
        }
    }
}

/// Milliseconds between an answer and the next turn of its conversation. A turn that comes before
/// its client could know where the last one went has no echo: the likelier, the longer the prefill.
const TURN_MS: f64 = 10_000.0;

impl Fleet {
    /// What each worker is believed to hold, written to where it is needed: it is large.
    pub(crate) fn beliefs(&self, sought: &Sought<'_>, beliefs: &mut Beliefs) {
        // Found first and read then: what each name waits for in memory does not wait for another.
        let mut found = SmallVec::<[_; 17]>::new();
        self.each_named(sought, |name, tokens, ground| {
            found.push((self.residency.entry(name), tokens, ground));
        });
        for (entry, tokens, ground) in found {
            for holder in self.residency.holders_of(entry) {
                if holder.fresh {
                    beliefs.raise(holder.slot, tokens, ground);
                }
            }
        }
        if let Some(echo) = sought.echo {
            for worker in self.workers.iter().filter(|w| w.tag == echo.tag) {
                beliefs.raise(worker.slot, self.echoed(sought, worker), Ground::Echo);
            }
        }
    }

    /// What one worker is believed to hold, counting only places at least so firm.
    pub(crate) fn belief_of(
        &self,
        sought: &Sought<'_>,
        worker: &Worker,
        least: Firmness,
    ) -> Belief {
        let mut belief = Belief::NOTHING;
        self.each_named(sought, |name, tokens, ground| {
            if tokens > belief.tokens && self.holds(name, worker, least) {
                belief = Belief { tokens, ground };
            }
        });
        belief.or(self.echoed(sought, worker), Ground::Echo)
    }

    fn holds(&self, name: Name, worker: &Worker, least: Firmness) -> bool {
        let mut holders = self.residency.holders(name).iter();
        holders.any(|h| h.slot == worker.slot && h.firmness >= least && h.fresh)
    }

    /// Calls with every name that the request can be found by, the longest first.
    fn each_named(&self, sought: &Sought<'_>, mut with: impl FnMut(Name, u32, Ground)) {
        for (name, tokens) in sought.rungs() {
            with(name, tokens, Ground::Resident);
        }
        if let By::Key(key) = sought.by {
            let tokens = sought.share(self.settings.session_share);
            with(Name::session(key), tokens, Ground::Session);
        }
    }

    /// What the home of the conversation is taken to hold if nothing better is known: nothing,
    /// unless other routers exist and it may have been with one of them.
    ///
    /// That this router has seen a turn of it says little: the next one may have gone elsewhere, and
    /// gone home from there. Nor can it tell a first turn from a conversation that lived elsewhere,
    /// except where clients say where they were: there, one who does not is new, or in a hurry.
    pub(crate) fn home_prior(&self, sought: &Sought<'_>) -> u32 {
        let Settings {
            home_prior,
            routers,
            ..
        } = self.settings;
        let is_told = sought.echo.is_some() || sought.conversation.is_none();
        if home_prior <= 0.0 || routers < 2 || is_told {
            return 0;
        }
        if self.echoes.is_usual() {
            let prefill_ms = self.settings.prefill.ms(sought.prompt_tokens, 0);
            return sought.share(home_prior * prefill_ms / (prefill_ms + TURN_MS));
        }
        sought.share(home_prior)
    }

    /// The same with the home, for whoever has no survey at hand.
    pub(crate) fn guess(
        &self,
        sought: &Sought<'_>,
        excluded: &[WorkerId],
    ) -> Option<(WorkerId, u32)> {
        let prior = self.home_prior(sought);
        let key = sought.key.filter(|_| prior > 0)?;
        let open = |w: &&Worker| serves(w) && !excluded.contains(&w.id);
        let open = self.workers.iter().filter(open);
        let home = rendezvous::first(key, open.map(|w| (w.id, w.weight, w.id)))?;
        Some((home, prior))
    }

    /// How long ago what a worker holds of a prompt was last used there, in units of wear: of
    /// the longest prefix that is believed, and of the longest that has aged out.
    pub(crate) fn ages(&self, sought: &Sought<'_>, slot: Slot) -> Ages {
        let mut ages = Ages::default();
        let Some(worker) = self.workers.at(slot) else {
            return ages;
        };
        let wear = worker.wear();
        for (name, tokens) in sought.rungs() {
            let here =
                |h: &&crate::residency::Holder| h.slot == slot && h.firmness == Firmness::Confirmed;
            let Some(holder) = self.residency.holders(name).iter().find(here) else {
                continue;
            };
            if holder.fresh {
                ages.believed = Some((tokens, wear.age(holder.stamp)));
                return ages;
            }
            ages.aged_out.get_or_insert(tokens);
        }
        ages
    }
}

/// See [`Fleet::ages`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ages {
    /// Tokens and units.
    pub(crate) believed: Option<(u32, u32)>,
    /// Tokens.
    pub(crate) aged_out: Option<u32>,
}
