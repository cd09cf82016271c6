//! The scorers of llm-d's endpoint picker, with the approximate prefix cache.
//!
//! Source: `llm-d/llm-d-router`, `pkg/epp/framework/plugins`: the highest sum of 3 × the share of
//! the prompt that the router's own copy of the worker's cache holds, 2 × how short its queue is
//! between the longest and the shortest, 2 × the free share of its cache (weights from memory, not
//! checked). The copy is a least-recently-used list of the worker's own size, written when a
//! request is sent. Its limits (131,072 tokens of a prompt; metrics 50 ms old) are left out:
//! this is llm-d at its best.

use super::{Policy, Route, Verdict};
use crate::cache::BlockCache;
use crate::view::View;

const PREFIX: f64 = 3.0;
const QUEUE: f64 = 2.0;
const KV: f64 = 2.0;

#[derive(Default)]
pub(super) struct LlmD {
    copies: Vec<BlockCache>,
}

impl Policy for LlmD {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        grow(&mut self.copies, view);
        let (path, input) = (view.path(request), view.call(request).input_tokens);
        let queues = view.ready().map(|(_, seat)| f64::from(seat.waiting()));
        let (shortest, longest) = (
            queues.clone().fold(f64::MAX, f64::min),
            queues.fold(0.0, f64::max),
        );
        let scored = view.ready().map(|(worker, seat)| {
            let held = self.copies.get(worker).map_or(0, |copy| copy.held(path));
            let cached = view.tokens_of(held, request);
            let matched = f64::from(cached) / f64::from(input.max(1));
            let queue = match longest > shortest {
                true => (longest - f64::from(seat.waiting())) / (longest - shortest),
                false => 1.0,
            };
            let kv = (seat.kv_tokens as f64 / view.cache_tokens(worker) as f64).min(1.0);
            (
                worker,
                cached,
                PREFIX * matched + QUEUE * queue + KV * (1.0 - kv),
            )
        });
        // The first of equals.
        let best = scored.reduce(|best, next| if next.2 > best.2 { next } else { best });
        if let Some(copy) = best.and_then(|(worker, ..)| self.copies.get_mut(worker)) {
            copy.touch(path);
        }
        best.map(|(worker, cached, _)| Route::warm(worker, cached, "highest_score"))
            .into()
    }

    fn hear(&mut self, _view: &View<'_>, news: &super::News) {
        forget_restarted(&mut self.copies, news);
    }
}

/// A copy of the cache of each worker.
pub(super) fn grow(copies: &mut Vec<BlockCache>, view: &View<'_>) {
    for worker in copies.len()..view.seats().len() {
        let blocks = view.cache_tokens(worker) / u64::from(view.block_tokens());
        copies.push(BlockCache::new(
            usize::try_from(blocks).unwrap_or(usize::MAX),
        ));
    }
}

/// The routers drop a worker's entries when it goes away.
pub(super) fn forget_restarted(copies: &mut [BlockCache], news: &super::News) {
    if let super::News::Worker {
        worker,
        standing: super::Standing::Down,
        ..
    } = news
        && let Some(copy) = copies.get_mut(*worker)
    {
        copy.clear();
    }
}
