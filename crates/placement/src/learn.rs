//! What each event teaches the fleet.

use std::time::Duration;

use smallvec::SmallVec;

use crate::backlog::Backlog;
use crate::event::{Event, PrefixName, Report, WorkerState};
use crate::fleet::Fleet;
use crate::flight::{Flight, Stage, Tested};
use crate::hold::{Asked, Held};
use crate::homecoming::Return;
use crate::id::{At, Generation, RequestId, WorkerId};
use crate::late::Wait;
use crate::name::Name;
use crate::rate::Sample;
use crate::request::Request;
use crate::residency::{Firmness, PlaceId, Slot};
use crate::ring::Ring;
use crate::settings::Policy;
use crate::sought::Sought;
use crate::worker::{Beside, Found, Worker};

impl Fleet {
    /// Learns from one event; chooses nothing.
    ///
    /// Any order of any events is harmless: what speaks of an unknown worker, of an unknown
    /// request, or of a request that is with another worker changes nothing.
    pub fn observe(&mut self, at: At, event: &Event<'_>) {
        self.latest = self.latest.max(at);
        self.presume(at);
        match *event {
            Event::Joined {
                worker,
                name,
                weight,
            } => self.joined(worker, name, weight),
            Event::Left { worker } => self.left(worker),
            Event::State { worker, state } => self.state(at, worker, state),
            Event::Generation { worker, generation } => self.generation(at, worker, generation),
            Event::Held {
                worker,
                request,
                of,
            } => self.hold(at, worker, request, of),
            Event::Abandoned { request } => self.unhold(request),
            Event::Dispatched {
                worker,
                request,
                of,
            } => self.dispatched(at, worker, request, of),
            Event::FirstByte { worker, request } => self.first_byte(at, worker, request),
            Event::Finished { worker, request } => {
                self.first_byte(at, worker, request);
                self.ended(at, worker, request);
            }
            Event::Failed { worker, request } => {
                self.withdrawn(worker, request);
                self.ended(at, worker, request);
            }
            Event::Cached {
                worker,
                request,
                tokens,
            } => self.cached(worker, request, tokens),
            Event::Stored { worker, prefixes } => self.stored(worker, prefixes),
            Event::Removed { worker, prefixes } => self.removed(worker, prefixes),
            Event::Cleared { worker } => self.cleared(worker),
            Event::Reported { worker, report } => self.reported(at, worker, report),
        }
        self.workers.settle(self.latest, &self.settings);
    }

    fn joined(&mut self, id: WorkerId, name: &str, weight: f64) {
        if self.workers.get(id).is_none() {
            let settings = &self.settings;
            self.workers
                .add(id, settings, |slot| Worker::new(id, slot, name, settings));
        }
        if let Some(worker) = self.workers.get_mut(id) {
            worker.reweigh(weight, &self.priced, &self.settings);
        }
        self.rebuild_ring();
    }

    fn left(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.remove(id, &self.settings) {
            self.flights.remove_all_of(worker.slot);
            self.held.evict(worker.slot);
            self.residency.forget(worker.slot);
            self.rebuild_ring();
        }
    }

    fn rebuild_ring(&mut self) {
        if self.settings.policy == Policy::Ring {
            self.ring = Ring::of(&self.workers, &self.settings);
        }
    }

    fn state(&mut self, at: At, id: WorkerId, state: WorkerState) {
        let Some(worker) = self.workers.get(id) else {
            return;
        };
        let (slot, begins) = (
            worker.slot,
            state == WorkerState::Ready && worker.state != state,
        );
        if begins {
            self.begin_serving(at, slot);
        }
        if let Some(worker) = self.workers.at_mut(slot) {
            worker.state = state;
        }
        // Who waits for a worker that is to be left alone need not wait for that to end.
        let others_serve = state == WorkerState::Starting && self.has_ready(&[]);
        if matches!(state, WorkerState::Draining | WorkerState::Down) || others_serve {
            self.make_homeless(slot);
        }
    }

    /// A worker that has just begun starts slowly, if others can do its work meanwhile.
    fn begin_serving(&mut self, at: At, slot: Slot) {
        let warm_for = self.settings.slow_start;
        let is_warm = |w: &Worker| {
            let since = w.ready_since.filter(|_| w.state == WorkerState::Ready);
            w.slot != slot && since.is_some_and(|since| at.since(since) >= warm_for)
        };
        let beside = match self.workers.iter().any(is_warm) {
            true => Beside::Warm,
            false => Beside::Nobody,
        };
        let birth = self.residency.next_birth();
        let returned = Return { at, birth };
        if let Some(worker) = self.workers.at_mut(slot) {
            worker.begin_serving(at, beside);
            // However young the fleet: what went elsewhere before has a home from now on.
            worker.returned = Some(returned);
        }
        self.draws.begin(returned, at.after(self.settings.draw_for));
    }

    /// What waits for this worker waits for any.
    fn make_homeless(&mut self, slot: Slot) {
        self.held.evict(slot);
        if let Some(worker) = self.workers.at_mut(slot) {
            worker.own.held = Backlog::default();
            worker.memory.unhold_all();
        }
    }

    fn generation(&mut self, at: At, id: WorkerId, generation: Generation) {
        let Some(worker) = self.workers.get_mut(id) else {
            return;
        };
        if worker.generation != generation {
            worker.restart(generation, &self.settings);
            let (slot, serves) = (worker.slot, worker.state == WorkerState::Ready);
            self.residency.forget(slot);
            if serves {
                self.begin_serving(at, slot);
            }
        }
    }

    /// An engine clears its cache while it has nothing to do, and tells of it with the next blocks
    /// that it stores: what is in flight by then is computed after.
    fn cleared(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(id) else {
            return;
        };
        let (slot, now, life) = (worker.slot, worker.wear().now, worker.life);
        let flights = self.flights.iter().filter(|(_, flight)| {
            flight.slot == slot && flight.life == life && flight.stage != Stage::Answering
        });
        let mut brought: Vec<_> = flights
            .flat_map(|(request, flight)| flight.places.iter().map(move |place| (*place, request)))
            .collect();
        // By request, as the order in a map of hashes is nobody's business.
        brought.sort_by_key(|(_, request)| *request);
        self.residency.forget_but(slot, &brought, now);
    }

    /// The request waits for the worker, which is expected to hold its prompt some day.
    fn hold(&mut self, at: At, id: WorkerId, request: RequestId, of: &Request<'_>) {
        self.supersede(request);
        let sought = Sought::of(of, &self.settings);
        let mut held = Held {
            request,
            since: at,
            prefill_us: 0,
            prompt_tokens: sought.prompt_tokens,
            places: SmallVec::new(),
            guess: self.guess(&sought, of.excluded),
            asked: Asked::of(of),
        };
        let Some(worker) = self.workers.get(id) else {
            return self.held.add(None, held);
        };
        let (slot, now) = (worker.slot, worker.wear().now);
        let tokens = self.belief_of(&sought, worker, Firmness::Expected).tokens;
        held.prefill_us = worker.prefill.micros(sought.prompt_tokens - tokens, tokens);
        for name in sought.names() {
            let by = (request, Firmness::Planned);
            held.places
                .push(self.residency.expect(name, slot, now, by).0);
        }
        if let Some(worker) = self.workers.at_mut(slot) {
            worker.own.held.add(held.prefill_us);
            worker.memory.hold(held.prompt_tokens);
        }
        self.held.add(Some(slot), held);
    }

    /// The request waits no longer, and what was planned because of it is off.
    fn unhold(&mut self, request: RequestId) {
        let Some((slot, held)) = self.held.remove(request) else {
            return;
        };
        for place in &held.places {
            self.residency.withdraw(*place, request);
        }
        if let Some(worker) = slot.and_then(|slot| self.workers.at_mut(slot)) {
            worker.own.held.remove(held.prefill_us);
            worker.memory.unhold(held.prompt_tokens);
        }
    }

    /// A number in use again: its earlier attempt is over, whatever became of it.
    fn supersede(&mut self, request: RequestId) {
        if !self.held.is_empty() {
            self.unhold(request);
        }
        let earlier = self.flights.get(request).map(|flight| flight.slot);
        if let Some(id) = earlier.and_then(|slot| self.workers.at(slot)).map(|w| w.id) {
            self.withdrawn(id, request);
            self.ended(self.latest, id, request);
        }
    }

    /// The worker has more to do, and from now on is expected to hold what the prompt brings.
    fn dispatched(&mut self, at: At, id: WorkerId, request: RequestId, of: &Request<'_>) {
        self.supersede(request);
        let sought = Sought::of(of, &self.settings);
        self.note_echo(&sought);
        let Some(worker) = self.workers.get(id) else {
            return;
        };
        self.dispatches = self.dispatches.wrapping_add(1);
        let echoed = self.echoed(&sought, worker);
        let (slot, wear, life) = (worker.slot, worker.wear(), worker.life);
        let tests = self.hears_of_caches.then(|| self.ages(&sought, slot));
        let mut held = echoed;
        let mut places = SmallVec::new();
        let mut new = SmallVec::<[(PlaceId, u32); 17]>::new();
        // The longest first, so that it is also the first to be evicted: what few prompts share.
        for (name, tokens) in sought.names_with_tokens(&self.settings) {
            let by = (request, Firmness::Expected);
            let (place, known) = self.residency.expect(name, slot, wear.now, by);
            if known.is_some_and(|known| known.firmness >= Firmness::Expected) {
                held = tokens.max(held);
            } else {
                new.push((place, tokens));
            }
            places.push(place);
        }
        // The last of the names is the conversation's, if there is one.
        if let (Some(place), Some(_)) = (places.last(), sought.session()) {
            self.residency.note_prompt(*place, sought.prompt_tokens);
        }
        self.charge(&sought, &new, held);
        self.residency.chain(&places);
        self.residency.fit(slot, wear.room());
        if self.settings.policy == Policy::Ring
            && let Some(name) = sought.static_prefix()
        {
            self.demand.note(at, name, &self.settings);
        }
        let workers = self.workers.len() as f64;
        let Some(worker) = self.workers.at_mut(slot) else {
            return;
        };
        let uncached_tokens = sought.prompt_tokens - held;
        let prefill_ms = worker.prefill.ms(uncached_tokens, held);
        let pending_us = worker.prefill.micros(uncached_tokens, held);
        let alone = worker.own.waiting == 0;
        let beside = worker.own.in_flight;
        worker.begin(sought.prompt_tokens, uncached_tokens, pending_us);
        self.inflow += f64::from(uncached_tokens);
        let rooms = worker.room() * workers;
        worker
            .turnover
            .note(uncached_tokens, self.inflow, (worker.room(), rooms));
        let until_due = Duration::from_micros(worker.own.pending_us);
        self.typical.note(uncached_tokens, prefill_ms);
        let presumed = match self.streams.is_the_rule() {
            // Its first byte will tell, unless it is one of the few.
            true => {
                let due_us = 3 * worker.own.pending_us.min(u64::MAX / 4);
                let patience = self.settings.patience;
                at.after(patience).after(Duration::from_micros(due_us))
            }
            false => at.after(until_due),
        };
        let oldness = wear.limit / 4;
        let flight = Flight {
            number: self.dispatches,
            slot,
            life,
            stage: Stage::Waiting,
            places,
            uncached_tokens,
            cached_tokens: held,
            pending_us,
            since: at,
            due: at.after(until_due),
            beside,
            alone,
            sample: None,
            believed: tests.and_then(|t| t.believed).map(|(tokens, age)| Tested {
                tokens,
                old: age >= oldness,
            }),
            aged_out: tests.and_then(|t| t.aged_out),
        };
        if self.settings.routers > 1 {
            worker.late.sent(Wait {
                request,
                number: flight.number,
                due: at.after(until_due),
            });
        }
        self.flights.insert(request, flight, presumed);
        self.settle_waits(slot);
    }

    /// What a prompt adds to a cache that holds so many tokens of it, to the account of the
    /// prefixes that are new there, the longest first. What no prefix names is the longest one's.
    fn charge(&mut self, sought: &Sought<'_>, new: &[(PlaceId, u32)], held: u32) {
        let mut end = sought.prompt_tokens;
        for (at, (place, tokens)) in new.iter().enumerate() {
            if *tokens <= held {
                self.residency.charge(*place, 0);
                continue;
            }
            let shorter = new.get(at + 1).map_or(0, |(_, tokens)| *tokens);
            let begin = shorter.max(held).min(end);
            self.residency.charge(*place, end - begin);
            end = begin;
        }
    }

    /// The prompt is in the worker's cache now.
    fn first_byte(&mut self, at: At, id: WorkerId, request: RequestId) {
        let (workers, flights) = (&mut self.workers, &mut self.flights);
        let Some((worker, flight)) = with_worker(workers.get_mut(id), flights.get_mut(request))
        else {
            return;
        };
        if flight.stage == Stage::Answering {
            return;
        }
        if flight.stage == Stage::Waiting {
            worker.prefilled(flight);
        }
        flight.stage = Stage::Answering;
        if flight.life != worker.life {
            return;
        }
        let sample = Sample {
            uncached: flight.uncached_tokens,
            cached: flight.cached_tokens,
            measured_ms: at.since(flight.since).as_secs_f64() * 1_000.0,
        };
        flight.sample = Some((at, sample));
        worker.late.came(at, flight.number);
        let now = worker.wear().now;
        for place in &flight.places {
            self.residency.answered(*place, now);
        }
    }

    /// The prompt never got there, unless it has been answered already.
    fn withdrawn(&mut self, id: WorkerId, request: RequestId) {
        let (workers, flights) = (&mut self.workers, &mut self.flights);
        let Some((worker, flight)) = with_worker(workers.get_mut(id), flights.get_mut(request))
        else {
            return;
        };
        if flight.stage == Stage::Answering {
            return;
        }
        if flight.stage == Stage::Waiting {
            worker.prefilled(flight);
        }
        flight.stage = Stage::Answering;
        let slot = worker.slot;
        for place in &flight.places {
            self.residency.withdraw(*place, request);
        }
        self.settle_waits(slot);
    }

    /// What waits for its first byte at a worker has changed.
    fn settle_waits(&mut self, slot: Slot) {
        let flights = &self.flights;
        let is_waiting = |wait: &Wait| {
            let flight = flights.get(wait.request);
            let is_it = |f: &&Flight| (f.slot, f.number) == (slot, wait.number);
            flight
                .filter(is_it)
                .is_some_and(|f| f.stage != Stage::Answering)
        };
        if self.settings.routers > 1
            && let Some(worker) = self.workers.at_mut(slot)
        {
            worker.late.settle(worker.own.in_flight, is_waiting);
        }
    }

    /// Prompts that should have been prefilled long ago count as such: an answer that does not
    /// stream has its first byte at its end, and a worker must not look busy until then.
    pub(crate) fn presume(&mut self, at: At) {
        while let Some(request) = self.flights.pop_due(at) {
            let Some(flight) = self.flights.get_mut(request) else {
                continue;
            };
            if flight.stage != Stage::Waiting {
                continue;
            }
            flight.stage = Stage::Presumed;
            if let Some(worker) = self.workers.at_mut(flight.slot) {
                worker.prefilled(flight);
            }
        }
    }

    fn ended(&mut self, at: At, id: WorkerId, request: RequestId) {
        let Some(worker) = self.workers.get_mut(id) else {
            return;
        };
        let flight = self.flights.get(request);
        if flight.is_none_or(|flight| flight.slot != worker.slot) {
            return;
        }
        let Some(flight) = self.flights.remove(request) else {
            return;
        };
        worker.end(&flight);
        if flight.life == worker.life {
            for place in &flight.places {
                self.residency.renew(*place);
            }
        }
        // Only an answer that streamed says when its prompt had been prefilled.
        let Some((first, sample)) = flight.sample else {
            return;
        };
        let streamed_ms = at.since(first).as_secs_f64() * 1_000.0;
        if self.settings.routers > 1 {
            worker.late.ended(streamed_ms > STREAMS_MS);
        }
        let streamed = streamed_ms > STREAMS_MS;
        self.streams.note(streamed);
        if streamed {
            self.stay.note(streamed_ms);
        }
        // Beside other routers it would tell of what they have sent, too.
        if streamed && self.settings.routers == 1 {
            let expected_ms = flight.due.since(flight.since).as_secs_f64() * 1_000.0;
            worker
                .crowd
                .note(sample.measured_ms, expected_ms, flight.beside);
        }
        // Behind another prompt it would tell of both.
        if flight.alone && streamed_ms > sample.measured_ms / 16.0 + STREAMS_MS {
            worker.timed(sample, &mut self.rate, &self.settings);
            worker.reprice(&self.priced, &self.settings);
            if self.rate.has_left(&self.priced) {
                self.reprice_all();
            }
        }
    }

    /// Tells all workers what they have in common by now, also those that are never asked: else
    /// they would be taken for as fast as at the start, and for slow in a fast fleet. All at once,
    /// so that what prefill costs differs between two workers only if they differ.
    fn reprice_all(&mut self) {
        self.priced = self.rate;
        let slots: SmallVec<[Slot; 64]> = self.workers.iter().map(|worker| worker.slot).collect();
        for slot in slots {
            if let Some(worker) = self.workers.at_mut(slot) {
                worker.reprice(&self.priced, &self.settings);
            }
        }
    }

    /// What the engine found teaches how long its cache keeps things. The prompt itself is there
    /// by now, whatever was found.
    fn cached(&mut self, id: WorkerId, request: RequestId, tokens: u32) {
        self.hears_of_caches = true;
        let (workers, flights) = (&mut self.workers, &mut self.flights);
        let Some((worker, flight)) = with_worker(workers.get_mut(id), flights.get_mut(request))
        else {
            return;
        };
        if flight.life != worker.life {
            return;
        }
        let aged_out = flight.aged_out.take();
        if aged_out.is_some_and(|there| tokens >= there) {
            worker.cache_holds(Found::Kept, &self.settings);
        }
        let Some(believed) = flight.believed.take() else {
            return;
        };
        if tokens.saturating_add(believed.tokens / 8) >= believed.tokens {
            worker.surprises = 0;
        } else if believed.old {
            worker.cache_holds(Found::Gone, &self.settings);
        } else {
            worker.surprises += 1;
            // Fresh prefixes that are never there: its cache was emptied and nobody told us.
            if worker.surprises >= MOST_SURPRISES {
                worker.surprises = 0;
                self.cleared(id);
            }
        }
    }

    fn stored(&mut self, id: WorkerId, prefixes: &[PrefixName]) {
        let Some(worker) = self.workers.get(id) else {
            return;
        };
        let (slot, now) = (worker.slot, worker.wear().now);
        for name in prefixes {
            self.residency.store(Name::from(name), slot, now);
        }
    }

    fn removed(&mut self, id: WorkerId, prefixes: &[PrefixName]) {
        let Some(slot) = self.workers.get(id).map(|w| w.slot) else {
            return;
        };
        for name in prefixes {
            self.residency.remove(Name::from(name), slot);
        }
    }

    fn reported(&mut self, at: At, id: WorkerId, report: Report) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.take(at, report, self.typical, &self.settings);
            if let Some(tokens) = worker.crowding() {
                let (slot, wear) = (worker.slot, worker.wear());
                self.residency.crowd(slot, wear.now, tokens);
                self.residency.fit(slot, wear.room());
            }
        }
    }
}

/// Fresh prefixes in a row that were not there, after which nothing is believed any more.
const MOST_SURPRISES: u8 = 6;

/// An answer that ends so soon after its first byte came in one piece.
const STREAMS_MS: f64 = 5.0;

/// Both, if the request is with this worker.
fn with_worker<'f>(
    worker: Option<&'f mut Worker>,
    flight: Option<&'f mut Flight>,
) -> Option<(&'f mut Worker, &'f mut Flight)> {
    worker.zip(flight).filter(|(w, f)| w.slot == f.slot)
}
