//! Preble's E2 rule, simplified.
//!
//! Source: arXiv 2407.00023: a request whose cached part is longer than the rest exploits (among
//! the workers with the longest match, the one with the least work in the last three minutes), any
//! other explores (least work in the window plus what the prompt would cost there). A worker with
//! more than twice the least work and 2 s more is relieved (constants not checked).

use std::collections::VecDeque;

use super::llm_d::{forget_restarted, grow};
use super::{News, Policy, Route, Verdict};
use crate::cache::BlockCache;
use crate::view::View;

const WINDOW_MS: f64 = 180_000.0;
const REBALANCE: f64 = 2.0;
const SLACK_MS: f64 = 2_000.0;

#[derive(Default)]
pub(super) struct Preble {
    copies: Vec<BlockCache>,
    sent: VecDeque<(f64, usize, f64)>,
    work_ms: Vec<f64>,
}

impl Preble {
    fn work(&self, worker: usize) -> f64 {
        self.work_ms.get(worker).copied().unwrap_or(0.0)
    }

    fn add(&mut self, worker: usize, ms: f64) {
        self.work_ms.resize(self.work_ms.len().max(worker + 1), 0.0);
        if let Some(work) = self.work_ms.get_mut(worker) {
            *work += ms;
        }
    }

    fn forget_old(&mut self, now_ms: f64) {
        while let Some((_, worker, ms)) =
            self.sent.pop_front_if(|(at, ..)| *at < now_ms - WINDOW_MS)
        {
            self.add(worker, -ms);
        }
    }

    fn choose(&self, view: &View<'_>, request: usize) -> Option<Route> {
        let (path, call) = (view.path(request), view.call(request));
        let cached = |worker: usize| {
            let held = self.copies.get(worker).map_or(0, |copy| copy.held(path));
            view.tokens_of(held, request)
        };
        let held: Vec<(usize, u32)> = view
            .ready()
            .map(|(worker, _)| (worker, cached(worker)))
            .collect();
        let longest = held.iter().map(|(_, cached)| *cached).max()?;
        let by_work =
            |a: &&(usize, u32), b: &&(usize, u32)| self.work(a.0).total_cmp(&self.work(b.0));
        let least = held.iter().min_by(by_work)?;
        if longest > call.input_tokens - longest {
            let holder = held
                .iter()
                .filter(|(_, cached)| *cached == longest)
                .min_by(by_work)?;
            if self.work(holder.0) > REBALANCE * self.work(least.0) + SLACK_MS {
                return Some(Route::warm(least.0, least.1, "rebalance"));
            }
            return Some(Route::warm(holder.0, longest, "exploit"));
        }
        let price = |(worker, cached): &(usize, u32)| {
            self.work(*worker) + view.profile().prefill_ms(call.input_tokens, *cached)
        };
        let cheapest = held.iter().min_by(|a, b| price(a).total_cmp(&price(b)))?;
        Some(Route::warm(cheapest.0, cheapest.1, "explore"))
    }
}

impl Policy for Preble {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        grow(&mut self.copies, view);
        self.forget_old(view.now_ms());
        let route = self.choose(view, request);
        if let Some(route) = route {
            let ms = view
                .profile()
                .work_ms(view.call(request), route.cached_tokens);
            self.sent.push_back((view.now_ms(), route.worker, ms));
            self.add(route.worker, ms);
            if let Some(copy) = self.copies.get_mut(route.worker) {
                copy.touch(view.path(request));
            }
        }
        route.into()
    }

    fn hear(&mut self, _view: &View<'_>, news: &News) {
        forget_restarted(&mut self.copies, news);
    }
}
