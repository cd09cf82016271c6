//! Ray Serve's PrefixCacheAffinityRouter.
//!
//! Source: `ray-project/ray`, `python/ray/llm/_internal/serve/routing_policies/prefix_aware/`. If
//! the queues differ by more than 10 (an earlier default; now there is no limit), the better of
//! two drawn workers. Else, if at least a tenth of the prompt is in the tree, the worker with the
//! fewest requests among those that got the deepest match, and the smallest tree for the rest.
//! The tree is not bounded, as by default.

use super::load::better_of_two;
use super::tree::SentTree;
use super::{Policy, Route, Verdict};
use crate::dice::Dice;
use crate::view::View;

const IMBALANCED: u32 = 10;
const MATCH_RATE: f64 = 0.1;

pub(super) struct Ray {
    tree: SentTree,
    dice: Dice,
}

impl Ray {
    pub(super) fn new(nodes: usize, workers: usize, dice: Dice) -> Self {
        Self {
            tree: SentTree::new(nodes, workers),
            dice,
        }
    }

    fn choose(&mut self, view: &View<'_>, request: usize) -> Option<Route> {
        let loads = view.ready().map(|(_, seat)| seat.active());
        if loads.clone().max()? - loads.min()? > IMBALANCED {
            return better_of_two(&mut self.dice, view).map(|worker| Route::cold(worker, "uneven"));
        }
        let path = view.path(request);
        let depth = self.tree.depth(path);
        let matched = view.tokens_of(depth, request);
        let rate = f64::from(matched) / f64::from(view.call(request).input_tokens.max(1));
        let deepest = depth.checked_sub(1).and_then(|at| path.get(at));
        let holder = deepest.filter(|_| rate > MATCH_RATE).and_then(|node| {
            let holders = view
                .ready()
                .filter(|(worker, _)| self.tree.has(*node, *worker));
            holders.min_by_key(|(_, seat)| seat.active())
        });
        match holder {
            Some((worker, _)) => Some(Route::warm(worker, matched, "match")),
            None => {
                let smallest = view
                    .ready()
                    .min_by_key(|(worker, _)| self.tree.size(*worker));
                smallest.map(|(worker, _)| Route::cold(worker, "smallest_tree"))
            }
        }
    }
}

impl Policy for Ray {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let route = self.choose(view, request);
        if let Some(route) = route {
            self.tree.send(view.path(request), route.worker);
        }
        route.into()
    }
}
