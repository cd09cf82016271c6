//! A bound that nothing reaches: one endless cache that all workers share, least work first.
//!
//! Every request hits all that any earlier request has brought. The worker with the least pending
//! prefill and 10 ms a request gets it.

use super::{Policy, Route, Verdict};
use crate::view::View;

const ACTIVE_MS: f64 = 10.0;

pub(super) struct Oracle {
    hits: Vec<u32>,
}

impl Oracle {
    pub(super) fn new(hits: Vec<u32>) -> Self {
        Self { hits }
    }
}

impl Policy for Oracle {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let hit = self.hits.get(request).copied().unwrap_or(0);
        let work = view.ready().map(|(worker, seat)| {
            (
                worker,
                seat.pending_ms + ACTIVE_MS * f64::from(seat.active()),
            )
        });
        let least = work.min_by(|a, b| a.1.total_cmp(&b.1));
        least
            .map(|(worker, _)| Route::warm(worker, hit, "least_work"))
            .into()
    }

    fn has_endless_cache(&self) -> bool {
        true
    }
}
