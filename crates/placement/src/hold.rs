//! Requests that wait at the caller for a worker that is busy, and whose turn it is.
//!
//! What an engine has in its own queue can be neither ordered nor moved. So a worker gets only
//! as much prefill as it can chew, and the rest waits here: a request that hits overtakes one
//! that misses, what waits can go to another worker that has become free, and a client that
//! leaves costs nothing.

use std::collections::BTreeMap;

use headwater_signature::Signature;
use smallvec::SmallVec;

use crate::belief::{Belief, Ground};
use crate::event::WorkerState;
use crate::fleet::Fleet;
use crate::id::{At, RequestId, WorkerId};
use crate::reason::{Decision, Handover, Reason, Release};
use crate::request::{KeySource, Request};
use crate::residency::{Firmness, PlaceId, Slot};
use crate::settings::Order;
use crate::sought::Sought;
use crate::worker::Worker;

/// A request that waits.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) request: RequestId,
    pub(crate) since: At,
    pub(crate) prefill_us: u64,
    pub(crate) prompt_tokens: u32,
    /// What is planned because of it.
    pub(crate) places: SmallVec<[PlaceId; 17]>,
    /// What its home is taken to hold, where nobody knows better.
    pub(crate) guess: Option<(WorkerId, u32)>,
    pub(crate) asked: Asked,
}

/// A request that owns what it speaks of.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    signature: Option<Signature>,
    affinity: Option<u64>,
    key_source: KeySource,
    body_bytes: Option<u64>,
    excluded: SmallVec<[WorkerId; 2]>,
}

impl Asked {
    pub(crate) fn of(request: &Request<'_>) -> Self {
        Self {
            signature: request.signature.copied(),
            affinity: request.affinity,
            key_source: request.key_source,
            body_bytes: request.body_bytes,
            excluded: SmallVec::from_slice(request.excluded),
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            signature: self.signature.as_ref(),
            affinity: self.affinity,
            key_source: self.key_source,
            body_bytes: self.body_bytes,
            excluded: &self.excluded,
        }
    }
}

/// Who waits for whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingRoom {
    by_request: BTreeMap<RequestId, Option<Slot>>,
    queues: Vec<Vec<Held>>,
    /// Those whose worker has gone: they wait for any.
    homeless: Vec<Held>,
}

impl WaitingRoom {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_request.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_request.len()
    }

    pub(crate) fn add(&mut self, slot: Option<Slot>, held: Held) {
        self.by_request.insert(held.request, slot);
        self.queue_mut(slot).push(held);
    }

    /// Takes a request out, with the worker that it waited for.
    pub(crate) fn remove(&mut self, request: RequestId) -> Option<(Option<Slot>, Held)> {
        let slot = self.by_request.remove(&request)?;
        let queue = self.queue_mut(slot);
        let at = queue.iter().position(|held| held.request == request)?;
        Some((slot, queue.swap_remove(at)))
    }

    /// Those who waited for this worker wait for any.
    pub(crate) fn evict(&mut self, slot: Slot) {
        let queue = std::mem::take(self.queue_mut(Some(slot)));
        for held in &queue {
            self.by_request.insert(held.request, None);
        }
        self.homeless.extend(queue);
    }

    fn queue(&self, slot: Slot) -> &[Held] {
        self.queues.get(slot.index()).map_or(&[], Vec::as_slice)
    }

    fn queue_mut(&mut self, slot: Option<Slot>) -> &mut Vec<Held> {
        let Some(slot) = slot else {
            return &mut self.homeless;
        };
        if self.queues.len() <= slot.index() {
            self.queues.resize_with(slot.index() + 1, Vec::new);
        }
        &mut self.queues[slot.index()]
    }
}

/// A held request as one worker sees it.
struct Offer<'f> {
    held: &'f Held,
    worker: &'f Worker,
    belief: Belief,
    prefill_ms: f64,
    /// Lower comes first.
    rank: f64,
}

impl Fleet {
    /// The held request whose turn it is, if any.
    ///
    /// Whoever follows it tells [`Event::Dispatched`](crate::Event::Dispatched) and asks again,
    /// until there is none. To be asked after any event that can free a worker, and at
    /// [`Self::next_release_at`].
    #[must_use]
    pub fn release(&mut self, at: At) -> Option<Release> {
        if self.held.is_empty() {
            return None;
        }
        self.presume(at);
        self.overdue(at)
            .or_else(|| self.next_in_turn(at))
            .or_else(|| self.rebound(at))
            .map(|offer| self.release_of(at, &offer))
    }

    /// When a held request can leave with no event before: it will have waited for as long as it
    /// may, or what is at its worker will have been worked off.
    #[must_use]
    pub fn next_release_at(&self) -> Option<At> {
        let serving = self.workers.iter().filter(|w| serves(w));
        let due = serving.filter_map(|w| {
            let queue = self.held.queue(w.slot).iter();
            let patient = queue.map(|held| held.since.after(self.settings.max_hold));
            let patient = patient.min()?;
            let limit = f64::from(self.settings.hold_tokens) * w.weight;
            Some(w.below_at(limit).map_or(patient, |at| at.min(patient)))
        });
        let homeless = self.held.homeless.iter();
        let homeless = homeless.filter(|held| !self.is_stranded(held));
        let patient = homeless.map(|held| held.since.after(self.settings.max_hold));
        let presumed = match self.held.is_empty() {
            true => None,
            false => self.flights.next_due(),
        };
        due.chain(patient).chain(presumed).min()
    }

    /// A held request that no worker may get any more, if there is one. It is never released:
    /// whoever asked for it is to be told, and that by
    /// [`Event::Abandoned`](crate::Event::Abandoned).
    #[must_use]
    pub fn stranded(&self) -> Option<RequestId> {
        let mut homeless = self.held.homeless.iter();
        let stranded = homeless.find(|held| self.is_stranded(held));
        stranded.map(|held| held.request)
    }

    fn is_stranded(&self, held: &Held) -> bool {
        let serves = |w: &Worker| serves(w) && !held.asked.excluded.contains(&w.id);
        !self.workers.iter().any(serves)
    }

    /// Requests that wait for a worker.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether a worker can take so much at once.
    ///
    /// Beside other routers whose work is known nothing waits: it would let pass what they send, in
    /// an order that is nobody's (simulated: p99 is 2 to 9 % longer than if everything is sent at once).
    pub(crate) fn handover(&self, at: At, worker: &Worker) -> Handover {
        let has_rivals = self.settings.routers > 1 && worker.is_heard(at);
        let waits = self.settings.order != Order::Off
            && !has_rivals
            && worker.own.held.requests() < self.settings.max_held
            && (worker.own.held.requests() > 0 || !self.has_appetite(at, worker));
        if waits { Handover::Wait } else { Handover::Now }
    }

    /// Whether its engine has less to prefill than it can chew.
    fn has_appetite(&self, at: At, worker: &Worker) -> bool {
        let limit = f64::from(self.settings.hold_tokens) * worker.weight;
        self.settings.order == Order::Off || worker.pending_tokens(at) < limit
    }

    /// Whether it may get what waits for others: as with a new request, one that is not ready is
    /// only for when no other is.
    fn is_wanted(&self, worker: &Worker, excluded: &[WorkerId]) -> bool {
        worker.state == WorkerState::Ready || serves(worker) && !self.has_ready(excluded)
    }

    pub(crate) fn has_ready(&self, excluded: &[WorkerId]) -> bool {
        let ready = |w: &Worker| w.state == WorkerState::Ready && !excluded.contains(&w.id);
        self.workers.iter().any(ready)
    }

    /// One that has waited for as long as it may.
    fn overdue(&self, at: At) -> Option<Offer<'_>> {
        let is_due = |held: &&Held| at.since(held.since) >= self.settings.max_hold;
        let serving = self.workers.iter().filter(|w| serves(w));
        let mut due = serving.flat_map(|w| {
            let queue = self.held.queue(w.slot).iter().filter(is_due);
            queue.map(move |held| (held, w))
        });
        let due = due.next().map(|(held, worker)| self.offer(held, worker));
        due.or_else(|| self.overdue_homeless(at))
    }

    /// The same of those whose worker has gone: to whom it costs least, a hot one last.
    fn overdue_homeless(&self, at: At) -> Option<Offer<'_>> {
        let is_due = |held: &&Held| at.since(held.since) >= self.settings.max_hold;
        let due = self.held.homeless.iter().filter(is_due);
        let held = due
            .filter(|held| !self.is_stranded(held))
            .min_by_key(|held| (held.since, held.request))?;
        let excluded = &held.asked.excluded;
        let wanted = |w: &&Worker| self.is_wanted(w, excluded) && !excluded.contains(&w.id);
        let offers = self.workers.iter().filter(wanted).map(|worker| {
            let offer = self.offer(held, worker);
            let is_hot = worker.watermark.is_hot(at, &self.settings);
            (is_hot, worker.pending_ms(at) + offer.prefill_ms, offer)
        });
        let least = offers.min_by(|a, b| (a.0.cmp(&b.0)).then(a.1.total_cmp(&b.1)));
        least.map(|(_, _, offer)| offer)
    }

    /// The first in the order of a worker with appetite, among its own and the homeless.
    fn next_in_turn(&self, at: At) -> Option<Offer<'_>> {
        let is_hot = |w: &Worker| w.watermark.is_hot(at, &self.settings);
        let everybody_is_hot = self.workers.iter().filter(|w| serves(w)).all(is_hot);
        let hungry = self
            .workers
            .iter()
            .filter(|w| serves(w) && self.has_appetite(at, w));
        hungry
            .filter(|w| w.own.held.requests() > 0 || !self.held.homeless.is_empty())
            .find_map(|worker| {
                let own = self.held.queue(worker.slot).iter();
                let homeless = self.held.homeless.iter();
                let homeless = homeless.filter(|h| !h.asked.excluded.contains(&worker.id));
                let homeless = homeless.filter(|h| self.is_wanted(worker, &h.asked.excluded));
                let homeless = homeless.filter(|_| everybody_is_hot || !is_hot(worker));
                let offers = own.chain(homeless).map(|held| self.offer(held, worker));
                offers.min_by(|a, b| {
                    let key = |o: &Offer<'_>| (o.held.since, o.held.request);
                    a.rank.total_cmp(&b.rank).then(key(a).cmp(&key(b)))
                })
            })
    }

    /// One that waits for another worker and would be better off at one that has nothing to do.
    fn rebound(&self, at: At) -> Option<Offer<'_>> {
        if self.settings.order != Order::Shortest {
            return None;
        }
        let is_idle = |w: &&Worker| {
            self.is_wanted(w, &[])
                && w.own.held.requests() == 0
                && self.has_appetite(at, w)
                && !w.watermark.is_hot(at, &self.settings)
        };
        let waiting: f64 = self.workers.iter().map(|w| f64::from(w.waiting(at))).sum();
        let mean_waiting = waiting / self.workers.len().max(1) as f64;
        let mut best: Option<(f64, Offer<'_>)> = None;
        for idle in self.workers.iter().filter(is_idle) {
            for busy in self.workers.iter().filter(|w| w.own.held.requests() > 0) {
                for held in self.held.queue(busy.slot).iter().take(SCANNED) {
                    let gain = self.gain(at, held, (busy, idle), mean_waiting);
                    let beats = best.as_ref().is_none_or(|(most, _)| gain > *most);
                    if gain > self.settings.rebound_ms && beats {
                        best = Some((gain, self.offer(held, idle)));
                    }
                }
            }
        }
        best.map(|(_, offer)| offer)
    }

    /// Milliseconds of cost that a held request saves by going to the idle worker.
    fn gain(
        &self,
        at: At,
        held: &Held,
        (busy, idle): (&Worker, &Worker),
        mean_waiting: f64,
    ) -> f64 {
        let request = held.asked.request();
        let miss = self.miss(&Sought::of(&request, &self.settings));
        let factor = |w: &Worker| {
            let waiting = f64::from(w.waiting(at));
            miss.factor(mean_waiting, waiting)
        };
        if held.asked.excluded.contains(&idle.id) {
            return f64::MIN;
        }
        let (there, here) = (self.offer(held, busy), self.offer(held, idle));
        // All that waits there, not only what goes before it: the rest would wait for it.
        let ahead = busy.pending_ms(at) - held.prefill_us as f64 / 1_000.0;
        let active =
            |w: &Worker| w.active_ms(&self.settings) * f64::from(w.in_flight(at)) / w.weight;
        let memory = |w: &Worker, tokens: u32| {
            let room = w.memory.room(w.cache_tokens());
            room.price_ms(self.stay.price_ms(), f64::from(tokens))
        };
        // It counts among what waits there already.
        let stay =
            ahead.max(0.0) + active(busy) + factor(busy) * there.prefill_ms + memory(busy, 0);
        let go = idle.pending_ms(at) + active(idle) + factor(idle) * here.prefill_ms;
        stay - (go + memory(idle, held.prompt_tokens))
    }

    /// What a held request would be at a worker, by what has been sent there: what others only
    /// wait with is not there yet.
    fn offer<'f>(&self, held: &'f Held, worker: &'f Worker) -> Offer<'f> {
        let request = held.asked.request();
        let sought = Sought::of(&request, &self.settings);
        let belief = self.belief_of(&sought, worker, Firmness::Expected);
        let belief = match held.guess {
            Some((home, tokens)) if home == worker.id => belief.or(tokens, Ground::Prior),
            Some(_) | None => belief,
        };
        let prefill_ms = worker
            .prefill
            .ms(sought.prompt_tokens - belief.tokens, belief.tokens);
        // All age alike, so the moment of arrival stands for the time waited.
        let since_ms = held.since.micros() as f64 / 1_000.0;
        let rank = match self.settings.order {
            Order::Shortest => prefill_ms + self.settings.ageing * since_ms,
            Order::Fifo | Order::Off => since_ms,
        };
        Offer {
            held,
            worker,
            belief,
            prefill_ms,
            rank,
        }
    }

    fn release_of(&self, at: At, offer: &Offer<'_>) -> Release {
        let Offer { held, worker, .. } = *offer;
        let moved = self.held.by_request.get(&held.request) != Some(&Some(worker.slot));
        let reason = match offer.belief.ground {
            _ if !held.asked.excluded.is_empty() => Reason::Retry,
            Ground::Resident => Reason::Resident,
            Ground::Echo => Reason::Echo,
            Ground::Session => Reason::Session,
            Ground::Prior => Reason::Home,
            Ground::Nothing if moved => Reason::Rebound,
            Ground::Nothing => Reason::Cold,
        };
        let before_ms = worker.sent_ms(at);
        Release {
            request: held.request,
            decision: Decision {
                worker: worker.id,
                reason,
                matched_tokens: offer.belief.matched_tokens(),
                expected_ms: before_ms + offer.prefill_ms,
                handover: Handover::Now,
            },
        }
    }
}

/// Requests of one queue that are looked at for a move.
const SCANNED: usize = 32;

/// Whether it may get a request.
pub(crate) fn serves(worker: &Worker) -> bool {
    matches!(worker.state, WorkerState::Ready | WorkerState::Starting)
}
