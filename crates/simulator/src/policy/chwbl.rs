//! Consistent hashing with bounded loads, as KubeAI has it.
//!
//! Source: `substratusai/kubeai`, `internal/loadbalancer/balance_chwbl.go`: 256 points a worker,
//! a mean load factor of 125 %, keyed by the first 100 characters of the first user message. The
//! first block of the prompt stands for those here. The walk goes on while a worker has more than
//! 1.25 times the mean, the new request counted; if all have, the first one gets it.

use super::ring::Ring;
use super::{Policy, Route, Verdict};
use crate::view::View;

const POINTS: usize = 256;
const LOAD_FACTOR: f64 = 1.25;

pub(super) struct Chwbl {
    ring: Ring,
}

impl Default for Chwbl {
    fn default() -> Self {
        Self {
            ring: Ring::new(POINTS),
        }
    }
}

impl Policy for Chwbl {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let first_block = view.path(request).first();
        let key = first_block.map_or_else(
            || u64::from(view.call(request).session),
            |node| u64::from(node.0),
        );
        let total: u32 = view.ready().map(|(_, seat)| seat.active()).sum();
        let most = LOAD_FACTOR * f64::from(total + 1) / view.ready().count().max(1) as f64;
        let fits = |worker: &usize| {
            view.seats()
                .get(*worker)
                .is_some_and(|seat| f64::from(seat.active()) <= most)
        };
        let mut walk = self.ring.from(key, view);
        let Some(home) = walk.next() else {
            return Verdict::Nobody;
        };
        if fits(&home) {
            return Verdict::Send(Route::cold(home, "home"));
        }
        Verdict::Send(match walk.find(fits) {
            Some(worker) => Route::cold(worker, "spill"),
            None => Route::cold(home, "all_over"),
        })
    }
}
