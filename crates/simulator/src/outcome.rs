//! What a run came to: hits, times to the first token, how even the work was.

use crate::policy::{PolicyName, Route};
use crate::profile::Profile;
use crate::run::{Conditions, Loads};
use crate::trace::Trace;

mod recovery;
mod spread;

pub use recovery::{Recovery, recovery};
pub use spread::Spread;

/// The outcome of one policy over one trace.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whose.
    pub policy: PolicyName,
    /// Workers at the start.
    pub workers: usize,
    /// Routers in front of them.
    pub routers: usize,
    /// Tokens that a worker's cache holds.
    pub cache_tokens: u64,
    /// Requests of the trace.
    pub requests: usize,
    /// Answers that ended well.
    pub finished: usize,
    /// Answers that broke off, or that never began.
    pub failed: usize,
    /// Times that a request was sent again because its worker was lost before the first token.
    pub retried: u64,
    /// Prompt tokens of the answered requests.
    pub prompt_tokens: u64,
    /// Those of them that were cached.
    pub hit_tokens: u64,
    /// Those of them that one endless cache would have held.
    pub ideal_tokens: u64,
    /// Milliseconds from arrival to the first token.
    pub ttft_ms: Spread,
    /// Milliseconds from arrival to the end.
    pub total_ms: Spread,
    /// The busiest worker's work over the mean; 1 is even.
    pub imbalance: f64,
    /// Seconds from the start to the last end.
    pub duration_s: f64,
    /// Requests a second that ended in the middle three fifths of that.
    pub throughput_rps: f64,
    /// How often the policy gave each reason, by name.
    pub reasons: Vec<(&'static str, u64)>,
    /// For each turn of a conversation, from the first: how it went.
    pub turns: Vec<Turn>,
    /// Over time.
    pub timeline: Timelines,
}

/// How one turn of all conversations went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// Answered requests.
    pub requests: u64,
    /// Their prompt tokens.
    pub prompt_tokens: u64,
    /// Those of them that were cached.
    pub hit_tokens: u64,
    /// Sum of the milliseconds to the first token.
    pub ttft_sum_ms: f64,
}

/// What is shown over time, in slices.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Timelines {
    /// Milliseconds of a slice.
    pub slice_ms: f64,
    /// Requests at each worker: a row a worker, a number a slice.
    pub load: Vec<Vec<f64>>,
    /// Prompt tokens answered in each slice, and those of them that were cached.
    pub hits: Vec<(u64, u64)>,
    /// Answered requests that arrived in each slice, and the sum of their milliseconds to the
    /// first token.
    pub waits: Vec<(u64, f64)>,
}

/// The last turn that is told apart.
const MOST_TURNS: usize = 16;

/// What is written down of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(crate) arrived_ms: f64,
    first_token_ms: Option<f64>,
    finished_ms: Option<f64>,
    worker: usize,
    hit_tokens: u32,
    reason: &'static str,
    failures: u32,
}

impl Record {
    pub(crate) fn sent(&mut self, route: Route) {
        self.reason = route.reason;
    }

    pub(crate) fn answered(&mut self, now_ms: f64, worker: usize, hit_tokens: u32) {
        (self.first_token_ms, self.worker, self.hit_tokens) = (Some(now_ms), worker, hit_tokens);
    }

    pub(crate) fn finished(&mut self, now_ms: f64) {
        self.finished_ms = Some(now_ms);
    }

    pub(crate) fn failed(&mut self) {
        self.failures += 1;
    }
}

impl Outcome {
    /// Share of the prompt tokens that were cached, 0..=1.
    #[must_use]
    pub fn hit_rate(&self) -> f64 {
        self.hit_tokens as f64 / self.prompt_tokens.max(1) as f64
    }

    /// Cached tokens over those that one endless cache would have held.
    #[must_use]
    pub fn hit_share_of_ideal(&self) -> f64 {
        self.hit_tokens as f64 / self.ideal_tokens.max(1) as f64
    }

    pub(crate) fn of(
        policy: PolicyName,
        conditions: &Conditions,
        work: (&Trace, &Profile),
        records: &[Record],
        loads: Loads,
    ) -> Self {
        let (trace, profile) = work;
        let mut outcome = Self {
            policy,
            workers: conditions.workers,
            routers: conditions.routers,
            cache_tokens: conditions.cache_tokens.unwrap_or(profile.cache_tokens),
            requests: trace.len(),
            finished: 0,
            failed: 0,
            retried: 0,
            prompt_tokens: 0,
            hit_tokens: 0,
            ideal_tokens: 0,
            ttft_ms: Spread::default(),
            total_ms: Spread::default(),
            imbalance: 1.0,
            duration_s: 0.0,
            throughput_rps: 0.0,
            reasons: Vec::new(),
            turns: Vec::new(),
            timeline: Timelines {
                slice_ms: loads.slice_ms,
                load: loads.rows,
                hits: Vec::new(),
                waits: Vec::new(),
            },
        };
        let mut work_ms = vec![0.0; outcome.timeline.load.len()];
        let (mut ttfts, mut totals) = (
            Vec::with_capacity(records.len()),
            Vec::with_capacity(records.len()),
        );
        for ((record, call), ideal) in records.iter().zip(trace.calls()).zip(trace.ideal_hits()) {
            outcome.retried += u64::from(record.failures);
            if !record.reason.is_empty() {
                outcome.count(record.reason);
            }
            match record.finished_ms {
                Some(finished) => {
                    outcome.finished += 1;
                    totals.push(finished - record.arrived_ms);
                }
                None => {
                    outcome.failed += 1;
                    // The failure that ended it was no second attempt.
                    outcome.retried = outcome
                        .retried
                        .saturating_sub(u64::from(record.failures > 0));
                }
            }
            let Some(first) = record.first_token_ms else {
                continue;
            };
            let ttft = first - record.arrived_ms;
            ttfts.push(ttft);
            outcome.prompt_tokens += u64::from(call.input_tokens);
            outcome.hit_tokens += u64::from(record.hit_tokens);
            outcome.ideal_tokens += u64::from(ideal);
            if let Some(sum) = work_ms.get_mut(record.worker) {
                *sum += profile.work_ms(call, record.hit_tokens);
            }
            outcome.note_turn(call.turn, call.input_tokens, record.hit_tokens, ttft);
            outcome.note_hits(first, call.input_tokens, record.hit_tokens);
            outcome.note_wait(record.arrived_ms, ttft);
        }
        outcome.ttft_ms = Spread::of(ttfts);
        outcome.total_ms = Spread::of(totals);
        outcome.imbalance = imbalance(&work_ms, conditions.workers);
        let ends: Vec<f64> = records
            .iter()
            .filter_map(|record| record.finished_ms)
            .collect();
        let last = ends.iter().copied().fold(0.0, f64::max);
        outcome.duration_s = last / 1_000.0;
        let middle = ends
            .iter()
            .filter(|end| (0.2 * last..0.8 * last).contains(*end))
            .count();
        // Begin and end are filled and emptied. A burst may have no middle.
        let (answers, seconds) = match middle {
            0 => (ends.len(), outcome.duration_s),
            _ => (middle, 0.6 * outcome.duration_s),
        };
        outcome.throughput_rps = answers as f64 / seconds.max(1e-9);
        outcome
            .reasons
            .sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        outcome
    }

    fn count(&mut self, reason: &'static str) {
        match self.reasons.iter_mut().find(|(name, _)| *name == reason) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((reason, 1)),
        }
    }

    fn note_turn(&mut self, turn: u32, input_tokens: u32, hit_tokens: u32, ttft_ms: f64) {
        let place = (turn as usize).min(MOST_TURNS - 1);
        if self.turns.len() <= place {
            self.turns.resize(place + 1, Turn::default());
        }
        if let Some(turn) = self.turns.get_mut(place) {
            turn.requests += 1;
            turn.prompt_tokens += u64::from(input_tokens);
            turn.hit_tokens += u64::from(hit_tokens);
            turn.ttft_sum_ms += ttft_ms;
        }
    }

    fn note_hits(&mut self, at_ms: f64, input_tokens: u32, hit_tokens: u32) {
        let slice = self.slice(at_ms);
        if let Some(hit) = entry(&mut self.timeline.hits, slice) {
            hit.0 += u64::from(input_tokens);
            hit.1 += u64::from(hit_tokens);
        }
    }

    fn note_wait(&mut self, at_ms: f64, ttft_ms: f64) {
        let slice = self.slice(at_ms);
        if let Some(wait) = entry(&mut self.timeline.waits, slice) {
            wait.0 += 1;
            wait.1 += ttft_ms;
        }
    }

    fn slice(&self, at_ms: f64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "never negative; `as` saturates"
        )]
        let slice = (at_ms / self.timeline.slice_ms) as usize;
        slice.min(MOST_SLICES)
    }
}

/// Slices that are told apart.
const MOST_SLICES: usize = 100_000;

fn entry<T: Copy + Default>(slices: &mut Vec<T>, slice: usize) -> Option<&mut T> {
    if slices.len() <= slice {
        slices.resize(slice + 1, T::default());
    }
    slices.get_mut(slice)
}

fn imbalance(work_ms: &[f64], workers: usize) -> f64 {
    let sum: f64 = work_ms.iter().sum();
    let mean = sum / work_ms.len().max(workers).max(1) as f64;
    let most = work_ms.iter().copied().fold(0.0, f64::max);
    if mean > 0.0 { most / mean } else { 1.0 }
}
