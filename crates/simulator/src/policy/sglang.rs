//! SGLang's cache_aware policy.
//!
//! Source: `sgl-project/sglang`, the router's `policies/cache_aware.rs`, with the defaults of its
//! command line: cache_threshold 0.3, balance_abs_threshold 64, balance_rel_threshold 1.5. If the
//! load of the whole fleet is uneven, everybody goes to the shortest queue. Else a prompt of
//! which more than the threshold is in the tree goes to the worker that last got the deepest
//! match, and any other to the worker with the smallest tree. The tree is not bounded here.

use super::tree::SentTree;
use super::{Policy, Route, Verdict};
use crate::dice::Dice;
use crate::policy::load::least;
use crate::view::View;

const CACHE_THRESHOLD: f64 = 0.3;
const ABSOLUTE: u32 = 64;
const RELATIVE: f64 = 1.5;

pub(super) struct Sglang {
    tree: SentTree,
    dice: Dice,
}

impl Sglang {
    pub(super) fn new(nodes: usize, workers: usize, dice: Dice) -> Self {
        Self {
            tree: SentTree::new(nodes, workers),
            dice,
        }
    }

    fn choose(&mut self, view: &View<'_>, request: usize) -> Option<Route> {
        let loads = view.ready().map(|(_, seat)| seat.active());
        let (fewest, most) = (loads.clone().min()?, loads.max()?);
        let uneven = most - fewest > ABSOLUTE && f64::from(most) > RELATIVE * f64::from(fewest);
        if uneven {
            return least(&mut self.dice, view).map(|worker| Route::cold(worker, "uneven"));
        }
        let path = view.path(request);
        let depth = self.tree.depth(path);
        let matched = view.tokens_of(depth, request);
        let rate = f64::from(matched) / f64::from(view.call(request).input_tokens.max(1));
        let holder = depth
            .checked_sub(1)
            .and_then(|at| path.get(at))
            .and_then(|node| self.tree.last(*node));
        match holder.filter(|worker| rate > CACHE_THRESHOLD && view.is_ready(*worker)) {
            Some(worker) => Some(Route::warm(worker, matched, "match")),
            None => {
                let smallest = view
                    .ready()
                    .min_by_key(|(worker, _)| self.tree.size(*worker));
                smallest.map(|(worker, _)| Route::cold(worker, "smallest_tree"))
            }
        }
    }
}

impl Policy for Sglang {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let route = self.choose(view, request);
        if let Some(route) = route {
            self.tree.send(view.path(request), route.worker);
        }
        route.into()
    }
}
