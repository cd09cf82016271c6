//! What a client says of its last turn, and how far that can be believed.
//!
//! An echo names a worker but not a time: the cache may have been overwritten since. Where this
//! router placed that turn itself, it knows how much has been computed there since. For turns that
//! went through other routers it assumes what it has lately seen of its own.

use headwater_signature::RouteEcho;

use crate::fleet::Fleet;
use crate::residency::{Firmness, Slot};
use crate::sought::Sought;
use crate::worker::Worker;

/// What has been learned of echoes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echoes {
    /// Share of the latest conversations' requests that had one, in units of 1/65,536.
    usual: u32,
    /// Share of the latest of our own turns' tokens that was still there when they came back.
    fresh: u32,
}

/// A whole, in units of 1/65,536.
const WHOLE: u32 = 65_536;

impl Default for Echoes {
    fn default() -> Self {
        Self {
            usual: 0,
            fresh: WHOLE,
        }
    }
}

impl Echoes {
    /// Whether clients usually say where their last turn was.
    pub(crate) fn are_usual(self) -> bool {
        self.usual > WHOLE / 5
    }

    /// Tokens of so many that are expected to be there still.
    fn expected(self, tokens: u32) -> u64 {
        u64::from(tokens) * u64::from(self.fresh) / u64::from(WHOLE)
    }
}

/// An average over some 64 requests.
fn averaged(share: u32, latest: u32) -> u32 {
    (share * 63 + latest) / 64
}

impl Fleet {
    /// Tokens that a worker holds by what the client says; 0 if it says nothing of this one, or
    /// nothing that this router does not know better.
    pub(crate) fn echoed(&self, sought: &Sought<'_>, worker: &Worker) -> u32 {
        let echo = sought.echo.filter(|echo| echo.tag == worker.tag);
        match echo {
            Some(echo) if !self.is_witness(sought, echo, worker.slot) => {
                sought.cacheable(self.echoes.expected(echo.tokens))
            }
            Some(_) | None => 0,
        }
    }

    /// A conversation's request goes out: does its client bring an echo, and how much of what it
    /// speaks of is still there?
    pub(crate) fn note_echo(&mut self, sought: &Sought<'_>) {
        if sought.conversation.is_none() {
            return;
        }
        let usual = if sought.echo.is_some() { WHOLE } else { 0 };
        self.echoes.usual = averaged(self.echoes.usual, usual);
        let Some(echo) = sought.echo else {
            return;
        };
        let Some(worker) = self.workers.iter().find(|w| w.tag == echo.tag) else {
            return;
        };
        let spoken_of = sought.cacheable(u64::from(echo.tokens));
        if spoken_of > 0 && self.is_witness(sought, echo, worker.slot) {
            let held = self.belief_of(sought, worker, Firmness::Planned).tokens;
            let share = u64::from(held.min(spoken_of)) * u64::from(WHOLE) / u64::from(spoken_of);
            let share = u32::try_from(share).unwrap_or(WHOLE);
            self.echoes.fresh = averaged(self.echoes.fresh, share);
        }
    }

    /// Whether this router placed the turn that an echo speaks of, or a later one.
    fn is_witness(&self, sought: &Sought<'_>, echo: RouteEcho, slot: Slot) -> bool {
        let Some(session) = sought.session() else {
            return false;
        };
        let mut holders = self.residency.holders(session).iter();
        let here = holders.find(|holder| holder.slot == slot);
        // A shorter prompt than the echo's was an earlier turn.
        here.and_then(|here| self.residency.prompt_tokens(here))
            .is_some_and(|latest| latest >= echo.tokens)
    }
}
