//! Consistent hashing by session with a spill at 16 requests: the design that Headwater began with.
//!
//! A ring of 100 points a worker, keyed by the session. A worker with more than 16 requests in
//! flight is passed over for the one with the fewest.

use super::hashed::session;
use super::load::least;
use super::ring::Ring;
use super::{Policy, Route, Verdict};
use crate::dice::Dice;
use crate::view::View;

const SPILL_AT: u32 = 16;

pub(super) struct SessionRing {
    ring: Ring,
    dice: Dice,
}

impl SessionRing {
    pub(super) fn new(dice: Dice) -> Self {
        Self {
            ring: Ring::new(100),
            dice,
        }
    }
}

impl Policy for SessionRing {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let Some(home) = self.ring.from(session(view, request), view).next() else {
            return Verdict::Nobody;
        };
        let busy = view
            .seats()
            .get(home)
            .is_some_and(|seat| seat.active() > SPILL_AT);
        if busy && let Some(worker) = least(&mut self.dice, view) {
            return Verdict::Send(Route::cold(worker, "spill"));
        }
        Verdict::Send(Route::cold(home, "home"))
    }
}
