//! Conversations that went elsewhere while their home was away, and what draws them back.
//!
//! A worker that has come back, or was added, is empty, and the conversations that prefer it are
//! warm elsewhere. If they all stayed, it would idle until new ones come; if they all came at
//! once, it would be overrun with prompts that it has to compute anew. So home draws them: with
//! every second that it has been there it counts as somewhat cheaper, for each conversation by a
//! factor of its own. Short ones come home within seconds and one after the other, long ones late or never.

use crate::fleet::Fleet;
use crate::id::At;
use crate::name::Name;
use crate::rendezvous::{mix, unit};
use crate::residency::{Birth, Slot};
use crate::sought::Sought;

/// From when on a worker draws what went elsewhere before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Return {
    pub(crate) at: At,
    /// Places that are older went elsewhere while it was away.
    pub(crate) birth: Birth,
}

/// What is known of all that draw, so that most requests need not look for their home.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Draws {
    until: At,
    /// Since the latest began: what came later is not displaced.
    latest: Birth,
}

impl Draws {
    pub(crate) fn begin(&mut self, returned: Return, until: At) {
        self.until = self.until.max(until);
        self.latest = returned.birth;
    }
}

impl Fleet {
    /// Whether any worker may be drawing this request.
    pub(crate) fn may_draw(&self, at: At, sought: &Sought<'_>) -> bool {
        let is_old = |session| {
            let mut holders = self.residency.holders(session).iter();
            holders.all(|h| h.birth().is_before(self.draws.latest))
        };
        at < self.draws.until && sought.session().is_some_and(is_old)
    }

    /// Milliseconds that a request's home counts as cheaper; 0 unless its conversation was
    /// somewhere else before the home was there, and nowhere since.
    pub(crate) fn draw_ms(&self, at: At, sought: &Sought<'_>, home: Slot) -> f64 {
        let returned = self.workers.at(home).and_then(|worker| worker.returned);
        let (Some(returned), Some(session)) = (returned, sought.session()) else {
            return 0.0;
        };
        let passed = at.since(returned.at);
        if passed >= self.settings.draw_for || !self.is_displaced(session, home, returned.birth) {
            return 0.0;
        }
        let reluctance = unit(mix(session.number() ^ RELUCTANCE));
        self.settings.draw_ms * passed.as_secs_f64() / reluctance
    }

    fn is_displaced(&self, session: Name, home: Slot, returned: Birth) -> bool {
        let holders = self.residency.holders(session);
        let elsewhere = |slot: Slot, birth: Birth| slot != home && birth.is_before(returned);
        !holders.is_empty() && holders.iter().all(|h| elsewhere(h.slot, h.birth()))
    }
}

/// Makes the draw independent of the order in which the key prefers workers.
const RELUCTANCE: u64 = 0x5bd1_e995_9d1f_43a7;
