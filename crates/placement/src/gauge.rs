//! What every decision reads of a worker, side by side for all of them.

use crate::backlog::Ahead;
use crate::cost::PrefillModel;
use crate::event::WorkerState;
use crate::id::{At, WorkerId};
use crate::memory::Room;
use crate::residency::Slot;
use crate::settings::Settings;
use crate::worker::Worker;

/// Derived from a worker after each event about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    pub(crate) id: WorkerId,
    pub(crate) slot: Slot,
    pub(crate) state: WorkerState,
    pub(crate) weight: f64,
    pub(crate) prefill: PrefillModel,
    /// See [`Turnover::price`](crate::turnover::Turnover::price).
    pub(crate) evicts: f64,
    /// What is left of its KV memory.
    pub(crate) room: Room,
    /// Our own requests, held ones too.
    pub(crate) own: u32,
    /// Whether any is held.
    pub(crate) holds: bool,
    /// What of the held ones comes before a new one.
    pub(crate) ahead: Ahead,
    /// Until when [`Self::live`] holds with no event; time alone changes it then.
    pub(crate) until: At,
    live: Live,
}

/// The part that time alone changes: reports go stale, and a slow start ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    /// Requests there.
    pub(crate) in_flight: u32,
    /// Those of them that wait for prefill.
    pub(crate) waiting: u32,
    pub(crate) is_hot: bool,
    /// The weight that it can bear now.
    pub(crate) bears: f64,
    /// What the work that was sent there costs a new request, in milliseconds.
    pub(crate) queue_ms: f64,
}

impl Gauge {
    pub(crate) fn of(worker: &Worker, at: At, settings: &Settings) -> Self {
        Self {
            id: worker.id,
            slot: worker.slot,
            state: worker.state,
            weight: worker.weight,
            prefill: worker.prefill,
            evicts: worker.turnover.price(),
            room: worker.memory.room(worker.cache_tokens()),
            own: worker.own.in_flight + worker.own.held.requests(),
            holds: worker.own.held.requests() > 0,
            ahead: worker.own.held.ahead(settings.order),
            until: worker.unchanged_until(at, settings),
            live: Live::of(worker, at, settings),
        }
    }

    /// How it was at the latest event about it.
    pub(crate) fn live_then(&self) -> &Live {
        &self.live
    }

    /// How it is now, if that has not to be looked up anew.
    #[inline]
    pub(crate) fn live(&self, at: At) -> Option<&Live> {
        (at <= self.until).then_some(&self.live)
    }
}

impl Live {
    /// Of a worker that is not there.
    pub(crate) const NOTHING: Self = Self {
        in_flight: 0,
        waiting: 0,
        is_hot: false,
        bears: 1.0,
        queue_ms: 0.0,
    };

    pub(crate) fn of(worker: &Worker, at: At, settings: &Settings) -> Self {
        let in_flight = worker.in_flight(at);
        let bears = worker.weight * worker.ramp(at, settings);
        let work_ms = worker.weight * worker.sent_ms(at);
        Self {
            in_flight,
            waiting: worker.prefilling(at),
            is_hot: worker.watermark.is_hot(at, settings),
            bears,
            queue_ms: (work_ms + worker.active_ms(settings) * f64::from(in_flight)) / bears,
        }
    }
}
