//! What a client says of its last turn, and how far that can be believed.
//!
//! An echo names a worker but not a time: the cache may have been overwritten since. Where this
//! router placed that turn itself, it knows how much has been computed there since. For turns that
//! went through other routers it assumes what it has lately seen of its own.

use headwater_signature::RouteEcho;

use crate::fleet::Fleet;
use crate::residency::{Holder, Slot};
use crate::sought::Sought;
use crate::worker::Worker;

/// What has been learned of echoes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echoes {
    /// Share of the latest conversations' requests that had one, in units of 1/65,536.
    usual: u32,
    /// Share of the latest of our own turns that were still in the cache when they came back.
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
fn averaged(share: u32, now: bool) -> u32 {
    (share * 63 + if now { WHOLE } else { 0 }) / 64
}

impl Fleet {
    /// Tokens that a worker holds by what the client says; 0 if it says nothing of this one.
    pub(crate) fn echoed(&self, sought: &Sought<'_>, worker: &Worker) -> u32 {
        let Some(echo) = sought.echo.filter(|echo| echo.tag == worker.tag) else {
            return 0;
        };
        let tokens = match self.witnessed(sought, echo, worker.slot) {
            Some(holder) if !worker.wear().spares(holder.stamp) => 0,
            Some(_) => u64::from(echo.tokens),
            None => self.echoes.expected(echo.tokens),
        };
        sought.cacheable(tokens)
    }

    /// A conversation's request goes out: does its client bring an echo, and is what it speaks
    /// of still there?
    pub(crate) fn note_echo(&mut self, sought: &Sought<'_>) {
        if sought.conversation.is_none() {
            return;
        }
        self.echoes.usual = averaged(self.echoes.usual, sought.echo.is_some());
        let Some(echo) = sought.echo else {
            return;
        };
        let Some(worker) = self.workers.iter().find(|w| w.tag == echo.tag) else {
            return;
        };
        if let Some(holder) = self.witnessed(sought, echo, worker.slot) {
            let fresh = worker.wear().spares(holder.stamp);
            self.echoes.fresh = averaged(self.echoes.fresh, fresh);
        }
    }

    /// Our own record of the turn that an echo speaks of.
    fn witnessed(&self, sought: &Sought<'_>, echo: RouteEcho, slot: Slot) -> Option<&Holder> {
        let mut holders = self.residency.holders(sought.session()?).iter();
        let here = holders.find(|holder| holder.slot == slot)?;
        // A shorter prompt than the echo's was an earlier turn.
        let latest = self.residency.prompt_tokens(here)?;
        (latest >= echo.tokens).then_some(here)
    }
}
