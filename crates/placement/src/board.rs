//! What decisions read of all workers: a gauge of each, and the numbers that every decision takes
//! from every worker in columns, so that a loop over them is short and reads nothing else.

use crate::event::WorkerState;
use crate::gauge::{Gauge, Live};
use crate::id::At;
use crate::memory::Room;

/// By rank, which is the order of ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    gauges: Vec<Gauge>,
    columns: Columns,
    totals: Totals,
}

/// One number of every worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    /// What the work that was sent there costs a new request; [`CLOSED`] unless it is ready.
    pub(crate) queue_ms: Vec<f64>,
    /// Until when its gauge holds with no event; for ever unless it is ready.
    pub(crate) until: Vec<At>,
    pub(crate) fixed_ms: Vec<f64>,
    pub(crate) token_ms: Vec<f64>,
    pub(crate) pair_ms: Vec<f64>,
    pub(crate) evicts: Vec<f64>,
    pub(crate) waiting: Vec<f64>,
    pub(crate) room: Vec<Room>,
}

/// Sums over some workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) workers: usize,
    pub(crate) weights: f64,
    /// Requests there, and those of them without a first byte.
    pub(crate) requests: u64,
    pub(crate) waiting: u64,
    /// How many are hot, and at how many something waits at the caller.
    pub(crate) hot: usize,
    pub(crate) holding: usize,
}

/// What it costs to send a request to a worker that must not get it.
pub(crate) const CLOSED: f64 = f64::INFINITY;

impl Board {
    pub(crate) fn of(gauges: Vec<Gauge>) -> Self {
        let mut columns = Columns::default();
        for gauge in &gauges {
            columns.push(gauge);
        }
        let totals = Totals::of_ready(&gauges);
        Self {
            gauges,
            columns,
            totals,
        }
    }

    pub(crate) fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Of the ready workers, as their gauges say.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// What is known of one worker has changed.
    pub(crate) fn put(&mut self, rank: usize, gauge: Gauge) {
        let Some(place) = self.gauges.get_mut(rank) else {
            return;
        };
        let old = std::mem::replace(place, gauge);
        self.columns.put(rank, &gauge);
        if old.state != gauge.state || old.weight.to_bits() != gauge.weight.to_bits() {
            // Sums of fractions are made anew, so that they do not depend on what was before.
            self.totals = Totals::of_ready(&self.gauges);
        } else if gauge.state == WorkerState::Ready {
            self.totals.remove(old.live_then());
            self.totals.count(gauge.live_then());
            self.totals.holding -= usize::from(old.holds);
            self.totals.holding += usize::from(gauge.holds);
        }
    }
}

impl Columns {
    fn push(&mut self, gauge: &Gauge) {
        let rank = self.until.len();
        self.queue_ms.push(CLOSED);
        self.until.push(FOR_EVER);
        self.fixed_ms.push(0.0);
        self.token_ms.push(0.0);
        self.pair_ms.push(0.0);
        self.evicts.push(0.0);
        self.waiting.push(0.0);
        self.room.push(gauge.room);
        self.put(rank, gauge);
    }

    fn put(&mut self, rank: usize, gauge: &Gauge) {
        let (queue_ms, until) = match gauge.state {
            WorkerState::Ready => (gauge.live_then().queue_ms, gauge.until),
            _ => (CLOSED, FOR_EVER),
        };
        self.queue_ms[rank] = queue_ms;
        self.until[rank] = until;
        self.fixed_ms[rank] = gauge.prefill.fixed_ms;
        self.token_ms[rank] = gauge.prefill.token_ms;
        self.pair_ms[rank] = gauge.prefill.pair_ms;
        self.evicts[rank] = gauge.evicts;
        self.waiting[rank] = f64::from(gauge.live_then().waiting);
        self.room[rank] = gauge.room;
    }
}

impl Totals {
    fn of_ready(gauges: &[Gauge]) -> Self {
        let mut totals = Self::default();
        for gauge in gauges.iter().filter(|g| g.state == WorkerState::Ready) {
            totals.add(gauge, gauge.live_then());
        }
        totals
    }

    /// One worker more.
    pub(crate) fn add(&mut self, gauge: &Gauge, live: &Live) {
        self.workers += 1;
        self.weights += gauge.weight;
        self.holding += usize::from(gauge.holds);
        self.count(live);
    }

    /// Time has changed a worker.
    pub(crate) fn replace(&mut self, old: &Live, new: &Live) {
        self.remove(old);
        self.count(new);
    }

    fn count(&mut self, live: &Live) {
        self.requests += u64::from(live.in_flight);
        self.waiting += u64::from(live.waiting);
        self.hot += usize::from(live.is_hot);
    }

    fn remove(&mut self, live: &Live) {
        self.requests -= u64::from(live.in_flight);
        self.waiting -= u64::from(live.waiting);
        self.hot -= usize::from(live.is_hot);
    }
}

const FOR_EVER: At = At::from_micros(u64::MAX);
