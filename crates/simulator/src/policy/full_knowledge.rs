//! The default cost formula with perfect knowledge of every block: what a header could at best bring.
//!
//! Not a router that could be built: it reads every worker's cache at the moment of the decision,
//! and knows which blocks are queued or running there. The price is that of Headwater's cost
//! policy: pending prefill, plus (3 + waiting per worker) × own prefill, plus 10 ms a request.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::{News, Policy, Route, Verdict};
use crate::cache::NodeHasher;
use crate::dice::mix_two;
use crate::trace::Node;
use crate::view::View;

const MISS: f64 = 3.0;
const ACTIVE_MS: f64 = 10.0;

#[derive(Default)]
pub(super) struct FullKnowledge {
    /// For each worker, how many of its requests have each block.
    at: Vec<HashMap<Node, u32, BuildHasherDefault<NodeHasher>>>,
}

impl FullKnowledge {
    fn queued(&self, worker: usize, path: &[Node]) -> usize {
        self.at.get(worker).map_or(0, |nodes| {
            path.partition_point(|node| nodes.contains_key(node))
        })
    }

    fn leave(&mut self, worker: usize, path: &[Node]) {
        let Some(nodes) = self.at.get_mut(worker) else {
            return;
        };
        for node in path {
            if let Some(count) = nodes.get_mut(node) {
                *count -= 1;
                if *count == 0 {
                    nodes.remove(node);
                }
            }
        }
    }
}

impl Policy for FullKnowledge {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        self.at.resize_with(view.seats().len(), HashMap::default);
        let (path, input) = (view.path(request), view.call(request).input_tokens);
        let waiting: u32 = view.ready().map(|(_, seat)| seat.waiting()).sum();
        let factor = MISS + f64::from(waiting) / view.ready().count().max(1) as f64;
        let tie = path.last().map_or(request as u64, |node| u64::from(node.0));
        let priced = view.ready().map(|(worker, seat)| {
            let held = view
                .resident_blocks(worker, request)
                .max(self.queued(worker, path));
            let cached = view.tokens_of(held, request);
            let own = view.profile().prefill_ms(input, cached);
            let price = seat.pending_ms + factor * own + ACTIVE_MS * f64::from(seat.active());
            (worker, cached, price)
        });
        let order = |worker: usize| mix_two(tie, worker as u64);
        let best = priced.min_by(|a, b| {
            a.2.total_cmp(&b.2)
                .then_with(|| order(a.0).cmp(&order(b.0)))
        });
        if let Some(nodes) = best.and_then(|(worker, ..)| self.at.get_mut(worker)) {
            for node in path {
                *nodes.entry(*node).or_insert(0) += 1;
            }
        }
        best.map(|(worker, cached, _)| Route::warm(worker, cached, "cheapest"))
            .into()
    }

    fn hear(&mut self, view: &View<'_>, news: &News) {
        match *news {
            News::Finished { worker, request } | News::Failed { worker, request } => {
                self.leave(worker, view.path(request));
            }
            News::Worker { .. } | News::FirstToken { .. } | News::Reported { .. } => {}
        }
    }
}
