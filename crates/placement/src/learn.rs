//! What each event teaches the fleet.

use std::collections::BTreeMap;

use crate::belief;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::id::{At, Generation, RequestId, WorkerId};
use crate::request::Request;
use crate::residency::Name;
use crate::sought::Sought;
use crate::worker::Worker;

/// A request that was dispatched and has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    worker: WorkerId,
    /// The worker's when it was dispatched: it warms no later cache.
    generation: Generation,
    /// What its prompt brings, the longest first.
    names: Vec<Name>,
    uncached_tokens: u32,
    pending_us: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Answering,
}

impl Fleet {
    /// Learns from one event; chooses nothing.
    ///
    /// Any order of any events is harmless: what speaks of an unknown worker, of an unknown
    /// request, or of a request that is with another worker changes nothing.
    pub fn observe(&mut self, at: At, event: &Event<'_>) {
        self.latest = self.latest.max(at);
        match *event {
            Event::Joined {
                worker,
                name,
                weight,
            } => self.joined(worker, name, weight),
            Event::Left { worker } => self.left(worker),
            Event::State { worker, state } => {
                self.workers.entry(worker).and_modify(|w| w.state = state);
            }
            Event::Generation { worker, generation } => self.generation(worker, generation),
            Event::Dispatched {
                worker,
                request,
                of,
            } => self.dispatched(worker, request, of),
            Event::FirstByte { worker, request } => self.prefilled(worker, request),
            Event::Finished { worker, request } => {
                self.prefilled(worker, request);
                self.ended(worker, request);
            }
            Event::Failed { worker, request } => {
                self.withdrawn(worker, request);
                self.ended(worker, request);
            }
            Event::Held { .. }
            | Event::Abandoned { .. }
            | Event::Cached { .. }
            | Event::Stored { .. }
            | Event::Removed { .. }
            | Event::Cleared { .. } => {}
            Event::Reported { worker, report } => {
                if let Some(w) = self.workers.get_mut(&worker) {
                    w.take(at, report, &self.settings);
                }
            }
        }
    }

    fn joined(&mut self, id: WorkerId, name: &str, weight: f64) {
        let new = || Worker::new(id, name, weight, &self.settings);
        self.workers
            .entry(id)
            .and_modify(|w| w.reweigh(weight))
            .or_insert_with(new);
        self.make_room();
    }

    fn left(&mut self, id: WorkerId) {
        if self.workers.remove(&id).is_some() {
            self.flights.retain(|_, flight| flight.worker != id);
            self.residency.forget(id);
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        let each = usize::try_from(self.settings.residency_per_worker).unwrap_or(usize::MAX);
        self.residency
            .resize(each.saturating_mul(self.workers.len()));
    }

    fn generation(&mut self, id: WorkerId, generation: Generation) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        if worker.generation != generation {
            worker.restart(generation);
            self.residency.forget(id);
        }
    }

    /// The worker has more to do, and from now on is expected to hold what the prompt brings.
    fn dispatched(&mut self, id: WorkerId, request: RequestId, of: &Request<'_>) {
        if let Some(earlier) = self.flights.get(&request).map(|flight| flight.worker) {
            // A number in use again: its earlier attempt is over, whatever became of it.
            self.withdrawn(earlier, request);
            self.ended(earlier, request);
        }
        let sought = Sought::of(of, &self.settings);
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        self.dispatches = self.dispatches.wrapping_add(1);
        let beliefs = belief::beliefs(&sought, &[&*worker], &self.residency, &self.settings);
        let held = beliefs.first().map_or(0, |belief| belief.tokens);
        let uncached_tokens = sought.prompt_tokens - held;
        let pending_us = worker.prefill.micros(uncached_tokens, held);
        worker.begin(uncached_tokens, pending_us);
        let names: Vec<Name> = sought
            .rungs()
            .map(|(name, _)| name)
            .chain(sought.session())
            .collect();
        // The longest first, so that it is also the first to be evicted: what few prompts share.
        for name in &names {
            self.residency
                .expect(*name, id, request, worker.wear(&self.settings));
        }
        let (generation, stage) = (worker.generation, Stage::Waiting);
        let flight = Flight {
            worker: id,
            generation,
            names,
            uncached_tokens,
            pending_us,
            stage,
        };
        self.flights.insert(request, flight);
    }

    /// The prompt is in the worker's cache now.
    fn prefilled(&mut self, id: WorkerId, request: RequestId) {
        let Some((worker, flight)) = waiting(&mut self.workers, &mut self.flights, id, request)
        else {
            return;
        };
        worker.prefilled(flight.uncached_tokens, flight.pending_us);
        flight.stage = Stage::Answering;
        if flight.generation == worker.generation {
            for name in &flight.names {
                self.residency
                    .confirm(*name, id, worker.wear(&self.settings));
            }
        }
    }

    /// The prompt never got there, unless it has been answered already.
    fn withdrawn(&mut self, id: WorkerId, request: RequestId) {
        let Some((worker, flight)) = waiting(&mut self.workers, &mut self.flights, id, request)
        else {
            return;
        };
        worker.prefilled(flight.uncached_tokens, flight.pending_us);
        flight.stage = Stage::Answering;
        for name in &flight.names {
            self.residency.withdraw(*name, id, request);
        }
    }

    fn ended(&mut self, id: WorkerId, request: RequestId) {
        if self
            .flights
            .get(&request)
            .is_none_or(|flight| flight.worker != id)
        {
            return;
        }
        self.flights.remove(&request);
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.end();
        }
    }
}

/// A request that this worker has and that has had no first byte.
fn waiting<'f>(
    workers: &'f mut BTreeMap<WorkerId, Worker>,
    flights: &'f mut BTreeMap<RequestId, Flight>,
    id: WorkerId,
    request: RequestId,
) -> Option<(&'f mut Worker, &'f mut Flight)> {
    let flight = flights.get_mut(&request)?;
    if flight.worker != id || flight.stage != Stage::Waiting {
        return None;
    }
    Some((workers.get_mut(&id)?, flight))
}
