//! A worker as one request sees it: what it holds, what it would cost, how much it is preferred.

use std::cmp::Ordering;

use crate::belief::{self, Belief};
use crate::fleet::Fleet;
use crate::id::At;
use crate::rendezvous;
use crate::settings::Policy;
use crate::sought::Sought;
use crate::worker::Worker;

/// One worker that may get the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect<'w> {
    pub(crate) worker: &'w Worker,
    pub(crate) belief: Belief,
    /// Requests there now.
    pub(crate) in_flight: u32,
    /// What the request would cost there; only comparable within one decision.
    pub(crate) cost_ms: f64,
    /// Time to the first byte there.
    pub(crate) expected_ms: f64,
    /// How much the key prefers it; nothing without a key.
    rank: Option<f64>,
    heat: Heat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heat {
    Normal,
    /// Hot, but it holds enough of the prompt.
    Keeps,
    /// Hot, and the prompt would be new to it.
    Barred,
}

impl Prospect<'_> {
    /// Whether it must not get the request because it is hot.
    pub(crate) fn is_barred(&self) -> bool {
        self.heat == Heat::Barred
    }

    /// Whether its place in the order is the key's wish, not a rotation.
    pub(crate) fn preferred(&self) -> bool {
        self.rank.is_some()
    }

    /// Requests there for each unit of weight.
    pub(crate) fn queue(&self) -> f64 {
        f64::from(self.in_flight) / self.worker.weight
    }
}

/// A worker in its place in the order, not priced yet.
struct Candidate<'w> {
    worker: &'w Worker,
    belief: Belief,
    rank: Option<f64>,
}

impl Fleet {
    /// Each worker of the pool (in the order of ids) as the request sees it, most preferred first.
    pub(crate) fn prospects<'w>(
        &self,
        at: At,
        sought: &Sought<'_>,
        pool: &[&'w Worker],
    ) -> Vec<Prospect<'w>> {
        let mut candidates = self.in_order(sought, pool);
        if let Some(home) = candidates.first_mut().filter(|c| c.rank.is_some()) {
            home.belief = belief::home_prior(sought, home.belief, &self.residency, &self.settings);
        }
        let waiting = |w: &&Worker| f64::from(w.waiting(at, &self.settings));
        let mean_waiting = pool.iter().map(waiting).sum::<f64>() / pool.len().max(1) as f64;
        let price = |candidate| self.price(at, sought, mean_waiting, candidate);
        candidates.into_iter().map(price).collect()
    }

    /// By the key's preference, ties by id; without a key one further for each dispatch.
    fn in_order<'w>(&self, sought: &Sought<'_>, pool: &[&'w Worker]) -> Vec<Candidate<'w>> {
        // The baselines know no keys.
        let key = sought.key.filter(|_| self.settings.policy == Policy::Cost);
        let rank = |w: &Worker| key.map(|key| rendezvous::score(key, w.id, w.weight));
        let beliefs = belief::beliefs(sought, pool, &self.residency, &self.settings);
        let seen = pool.iter().zip(beliefs);
        let mut candidates: Vec<_> = seen
            .map(|(&worker, belief)| Candidate {
                worker,
                belief,
                rank: rank(worker),
            })
            .collect();
        match key {
            // The sort is stable, so equal scores stay in the order of ids.
            Some(_) => candidates.sort_by(|a, b| by_rank(b.rank, a.rank)),
            None => candidates.rotate_left(self.turn(pool.len())),
        }
        candidates
    }

    /// `pending + (miss + congestion · mean waiting) · prefill of what is missing + active`.
    fn price<'w>(
        &self,
        at: At,
        sought: &Sought<'_>,
        mean_waiting: f64,
        candidate: Candidate<'w>,
    ) -> Prospect<'w> {
        let (
            settings,
            Candidate {
                worker,
                belief,
                rank,
            },
        ) = (&self.settings, candidate);
        let in_flight = worker.in_flight(at, settings);
        let pending_ms = worker.pending_ms(at, settings);
        let prefill_ms = worker
            .prefill
            .ms(sought.prompt_tokens - belief.tokens, belief.tokens);
        let factor = settings.miss_factor + settings.congestion_factor * mean_waiting;
        let keeps = settings.hot_keep_share * f64::from(sought.prompt_tokens);
        let heat = if !worker.watermark.is_hot(at, settings) {
            Heat::Normal
        } else if f64::from(belief.tokens) >= keeps {
            Heat::Keeps
        } else {
            Heat::Barred
        };
        Prospect {
            worker,
            belief,
            in_flight,
            cost_ms: pending_ms + factor * prefill_ms + settings.active_ms * f64::from(in_flight),
            expected_ms: pending_ms + prefill_ms,
            rank,
            heat,
        }
    }
}

fn by_rank(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0))
}
