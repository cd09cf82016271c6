//! What is counted. The admin port prints it; nothing here decides anything.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_placement::{KeySource, NoWorker, Reason};

/// One for the whole process, shared by every thread.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) requests: Count,
    pub(crate) decisions: [Count; Reason::ALL.len()],
    pub(crate) no_worker: [Count; NoWorker::ALL.len()],
    pub(crate) keys: [Count; KEY_SOURCES.len()],
    pub(crate) signatures: Count,
    pub(crate) signature_errors: Labelled,
    pub(crate) prompt_tokens: Count,
    pub(crate) matched_tokens: Count,
    /// Answers that said what the engine had found in its cache, the tokens that it had found,
    /// and those that had been believed to be there.
    pub(crate) cache_reports: Count,
    pub(crate) cache_reported_tokens: Count,
    pub(crate) cache_expected_tokens: Count,
    /// By the hundreds of the status that the client got.
    pub(crate) responses: [Count; 6],
    pub(crate) retries: Labelled,
    pub(crate) retries_denied: Count,
    /// Requests that had to wait for a worker, and those that do now.
    pub(crate) held_total: Count,
    pub(crate) held: Gauge,
    pub(crate) cancelled_held: Count,
    pub(crate) cancelled_waiting: Count,
    pub(crate) cancelled_streaming: Count,
    pub(crate) upstream_errors: Labelled,
    /// What became of breakers.
    pub(crate) breaker: Labelled,
    pub(crate) refused: Labelled,
    pub(crate) connections: Count,
    pub(crate) connections_open: Gauge,
    pub(crate) upstream_connects: Count,
    pub(crate) reloads: Count,
    pub(crate) reload_errors: Count,
    pub(crate) discovery_errors: Count,
    pub(crate) kv_events: Labelled,
    pub(crate) kv_event_gaps: Labelled,
    pub(crate) decision_time: Histogram<DECISION_BUCKETS>,
    pub(crate) held_time: Histogram<HELD_BUCKETS>,
    pub(crate) first_byte_time: Histogram<FIRST_BYTE_BUCKETS>,
}

/// Every source of a key, in the order of declaration.
pub(crate) const KEY_SOURCES: [KeySource; 5] = [
    KeySource::Signature,
    KeySource::Session,
    KeySource::Affinity,
    KeySource::Body,
    KeySource::None,
];

const DECISION_BUCKETS: usize = 8;
const FIRST_BYTE_BUCKETS: usize = 12;
const HELD_BUCKETS: usize = 8;

/// Upper bounds of the time in the waiting room, in microseconds.
pub(crate) const HELD_BOUNDS_MICROS: [u64; HELD_BUCKETS] = [
    5_000, 20_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 30_000_000,
];

/// Upper bounds of a decision's time, in microseconds.
pub(crate) const DECISION_BOUNDS_MICROS: [u64; DECISION_BUCKETS] =
    [1, 2, 5, 10, 20, 50, 200, 1_000];

/// Upper bounds of the time to the first byte, in microseconds.
pub(crate) const FIRST_BYTE_BOUNDS_MICROS: [u64; FIRST_BYTE_BUCKETS] = [
    5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000, 60_000_000,
];

/// Goes up.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Goes up and down.
#[derive(Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    /// Adds one and gives the new value.
    pub(crate) fn enter(&self) -> u64 {
        self.0.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A count for each of a few constant labels; for what is rare.
#[derive(Default)]
pub(crate) struct Labelled(Mutex<BTreeMap<&'static str, u64>>);

impl Labelled {
    pub(crate) fn add(&self, label: &'static str) {
        *self.lock().entry(label).or_default() += 1;
    }

    pub(crate) fn all(&self) -> BTreeMap<&'static str, u64> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts by time; the bounds are the printer's.
pub(crate) struct Histogram<const N: usize> {
    pub(crate) buckets: [Count; N],
    pub(crate) count: Count,
    pub(crate) sum_nanos: Count,
}

impl<const N: usize> Histogram<N> {
    pub(crate) fn add(&self, took: Duration, bounds_micros: &[u64; N]) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = bounds_micros
            .iter()
            .position(|bound| nanos <= bound * 1_000);
        if let Some(count) = bucket.and_then(|b| self.buckets.get(b)) {
            count.add(1);
        }
        self.count.add(1);
        self.sum_nanos.add(nanos);
    }
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| Count::default()),
            count: Count::default(),
            sum_nanos: Count::default(),
        }
    }
}

impl Counters {
    pub(crate) fn response(&self, status: hyper::StatusCode) {
        if let Some(count) = self.responses.get(usize::from(status.as_u16() / 100)) {
            count.add(1);
        }
    }

    pub(crate) fn decided(&self, reason: Reason, matched_tokens: u32, prompt_tokens: u32) {
        if let Some(count) = self.decisions.get(reason as usize) {
            count.add(1);
        }
        if prompt_tokens > 0 {
            self.prompt_tokens.add(prompt_tokens.into());
            self.matched_tokens.add(matched_tokens.into());
        }
    }

    pub(crate) fn found_no_worker(&self, why: NoWorker) {
        if let Some(count) = self.no_worker.get(why as usize) {
            count.add(1);
        }
    }

    pub(crate) fn keyed_by(&self, source: KeySource) {
        if let Some(count) = self.keys.get(source as usize) {
            count.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_falls_into_the_first_bucket_that_holds_it() {
        let histogram = Histogram::<DECISION_BUCKETS>::default();
        for micros in [1, 2, 3, 5_000] {
            histogram.add(Duration::from_micros(micros), &DECISION_BOUNDS_MICROS);
        }
        let buckets: Vec<u64> = histogram.buckets.iter().map(Count::get).collect();
        assert_eq!(buckets, [1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(histogram.count.get(), 4);
    }

    #[test]
    fn every_member_has_a_counter_of_its_own() {
        for (index, source) in KEY_SOURCES.iter().enumerate() {
            assert_eq!(*source as usize, index);
        }
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
        for (index, why) in NoWorker::ALL.iter().enumerate() {
            assert_eq!(*why as usize, index);
        }
    }
}
