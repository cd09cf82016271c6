//! One after the other.
//!
//! The default of most load balancers. No constants.

use super::{Policy, Route, Verdict};
use crate::view::View;

#[derive(Default)]
pub(super) struct RoundRobin {
    next: usize,
}

impl Policy for RoundRobin {
    fn route(&mut self, view: &View<'_>, _request: usize) -> Verdict {
        let workers = view.seats().len();
        let turn = (0..workers).map(|step| (self.next + step) % workers);
        let chosen = turn.into_iter().find(|worker| view.is_ready(*worker));
        self.next = chosen.map_or(self.next, |worker| worker + 1);
        chosen.map(|worker| Route::cold(worker, "turn")).into()
    }
}
