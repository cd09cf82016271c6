//! The workers known now: what placement believes of them and how each is, under one lock.

mod membership;
mod suspicion;

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_placement::{
    At, Decision, Event, Fleet, Generation, Handover, NoWorker, Reason, Report, Request, RequestId,
    Settings, WorkerId, WorkerView,
};
use headwater_signature::RouteTag;
use tokio::sync::oneshot;

use crate::endpoint::Endpoint;
use crate::engines::{Reading, Signal};
use crate::error::RouterError;
use crate::held::{Asked, Waiter, Waiters};
use crate::hottest::{HotPrefix, Hottest};
use crate::load_header::Load;
use crate::member::{Health, Member, Process, Scrape};
use crate::model_pool::PoolId;

/// Placement's fleet, and beside it what only the router needs to know of each worker.
pub(crate) struct Roster {
    fleet: Fleet,
    members: BTreeMap<WorkerId, Member>,
    pool: PoolId,
    next_serial: u64,
    hottest: Hottest,
    waiters: Waiters,
}

/// When a request gets its worker.
pub(crate) enum Turn {
    Now(Placed),
    /// When this tells which.
    Later(oneshot::Receiver<Placed>),
}

/// A request that has a worker and counts as being there.
pub(crate) struct Placed {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) tag: RouteTag,
    pub(crate) reason: Reason,
    pub(crate) matched_tokens: u32,
}

impl Roster {
    pub(crate) fn new(settings: Settings, pool: PoolId) -> Result<Self, RouterError> {
        let fleet = Fleet::new(settings).map_err(|error| RouterError::Placement {
            message: error.to_string(),
        })?;
        Ok(Self {
            fleet,
            members: BTreeMap::new(),
            pool,
            // Serials are never equal in two pools either.
            next_serial: (pool.0 as u64) << 48,
            hottest: Hottest::default(),
            waiters: Waiters::default(),
        })
    }

    /// Chooses a worker and counts the request there, so that the next decision knows of it.
    pub(crate) fn place(
        &mut self,
        at: At,
        request: &Request<'_>,
        id: RequestId,
    ) -> Result<Turn, NoWorker> {
        let decision = self.fleet.place(at, request)?;
        if decision.handover == Handover::Now {
            return self.send(at, &decision, request, id).map(Turn::Now);
        }
        let held = Event::Held {
            worker: decision.worker,
            request: id,
            of: request,
        };
        self.fleet.observe(at, &held);
        let (turn, waits) = oneshot::channel();
        let asked = Asked::of(request);
        self.waiters.insert(id, Waiter { asked, turn });
        Ok(Turn::Later(waits))
    }

    /// Counts a request at the worker that was chosen.
    fn send(
        &mut self,
        at: At,
        decision: &Decision,
        request: &Request<'_>,
        id: RequestId,
    ) -> Result<Placed, NoWorker> {
        let member = self.members.get(&decision.worker).ok_or(NoWorker::Empty)?;
        let placed = Placed {
            endpoint: Arc::clone(&member.endpoint),
            tag: member.tag,
            reason: decision.reason,
            matched_tokens: decision.matched_tokens,
        };
        let dispatched = Event::Dispatched {
            worker: decision.worker,
            request: id,
            of: request,
        };
        self.fleet.observe(at, &dispatched);
        if placed.endpoint.is_suspected() {
            self.change(at, &placed.endpoint, |member| {
                member.breaker.sent(at);
                true
            });
        }
        if let Some(signature) = request.signature {
            self.hottest.seen(signature);
        }
        Ok(placed)
    }

    pub(crate) fn observe(&mut self, at: At, event: &Event<'_>) {
        self.fleet.observe(at, event);
        self.release(at);
    }

    /// Calls everybody whose turn it is. Asked after whatever may have freed a worker.
    fn release(&mut self, at: At) {
        if self.waiters.is_empty() {
            return;
        }
        while let Some(release) = self.fleet.release(at) {
            let request = release.request;
            let called = self.waiters.remove(&request);
            let sent = called.and_then(|waiter| {
                let of = waiter.asked.request();
                let placed = self.send(at, &release.decision, &of, request).ok()?;
                Some((waiter.turn, placed))
            });
            let Some((turn, placed)) = sent else {
                self.fleet.observe(at, &Event::Abandoned { request });
                continue;
            };
            if let Err(placed) = turn.send(placed) {
                // The client left at this very moment.
                let worker = placed.endpoint.id;
                self.fleet.observe(at, &Event::Failed { worker, request });
            }
        }
        while let Some(request) = self.fleet.stranded() {
            // Whoever waits learns of it by the end of the channel.
            self.waiters.remove(&request);
            self.fleet.observe(at, &Event::Abandoned { request });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A request is wanted no more while it waits.
    pub(crate) fn abandon(&mut self, at: At, request: RequestId) {
        self.waiters.remove(&request);
        self.observe(at, &Event::Abandoned { request });
    }

    /// Time passed: a worker may be presumed free, or somebody has waited for long enough.
    pub(crate) fn tick(&mut self, at: At) {
        if !self.waiters.is_empty() {
            // Any event makes the fleet look at its clock; this one is about nobody.
            let request = RequestId(u64::MAX);
            self.observe(at, &Event::Abandoned { request });
        }
    }

    /// Notes what was found out about a worker; gives whether that was news.
    pub(crate) fn set_health(
        &mut self,
        at: At,
        endpoint: &Endpoint,
        health: Health,
        process: Process,
    ) -> bool {
        self.change(at, endpoint, |member| {
            let news = member.health != health;
            // A process that is gone took its cache with it. Where the engine tells when it
            // began, the next scrape will say so; where it does not, count its lives here.
            let told = member
                .scrape
                .as_ref()
                .is_some_and(|s| s.reading.started.is_some());
            if news && process == Process::Gone && !told {
                member.generation = member.generation.after_restart();
            }
            member.health = health;
            member.endpoint.sink(health == Health::Down);
            news
        })
    }

    /// Whether this router has requests there.
    pub(crate) fn is_busy(&self, endpoint: &Endpoint) -> bool {
        let view = self.fleet.worker(endpoint.id);
        view.is_some_and(|view| view.in_flight > 0)
    }

    /// Whether another worker could get a request that is at this one.
    pub(crate) fn has_other_than(&self, endpoint: &Endpoint) -> bool {
        let mut others = self.members.values();
        others.any(|m| m.endpoint.serial != endpoint.serial && m.is_usable())
    }

    /// Whether anybody is left who has not had a request yet.
    pub(crate) fn has_other_than_these(&self, had: &[WorkerId]) -> bool {
        let mut others = self.members.values();
        others.any(|m| !had.contains(&m.endpoint.id) && m.is_usable())
    }

    /// Learns from a scrape.
    pub(crate) fn scraped(&mut self, at: At, endpoint: &Endpoint, reading: Reading) {
        let report = Report {
            running: reading.count(Signal::Running),
            waiting: reading.count(Signal::Waiting),
            pending_tokens: None,
            computed_tokens: reading.computed_tokens(),
            kv_use: reading.kv_use(),
            cache_tokens: reading.cache_tokens(),
        };
        let mut is_known = false;
        self.change(at, endpoint, |member| {
            is_known = true;
            let before = member.scrape.as_ref().map(|scrape| &scrape.reading);
            if let Some(seconds) = reading.started {
                member.generation = Generation::started(seconds);
            } else if before.is_some_and(|before| reading.restarted_since(before)) {
                member.generation = member.generation.after_restart();
            }
            member.scrape = Some(Scrape { at, reading });
            true
        });
        if is_known {
            let worker = endpoint.id;
            self.observe(at, &Event::Reported { worker, report });
        }
    }

    /// Which process a worker is, as far as is known.
    #[cfg(feature = "kv-events")]
    pub(crate) fn process(&self, endpoint: &Endpoint) -> Option<RouteTag> {
        self.fleet.worker(endpoint.id).map(|view| view.route_tag)
    }

    /// Learns from what an answer told; what it did not tell is as the last scrape had it.
    pub(crate) fn told_load(&mut self, at: At, endpoint: &Endpoint, load: Load) {
        let worker = endpoint.id;
        let same = |member: &&Member| member.endpoint.serial == endpoint.serial;
        let Some(member) = self.members.get(&worker).filter(same) else {
            return;
        };
        // What an old scrape said is unknown by now, and no answer makes it known again.
        let stale_after = self.fleet.settings().stale_after;
        let fresh = |scrape: &&Scrape| at.since(scrape.at) < stale_after;
        let scrape = member.scrape.as_ref().filter(fresh);
        let reading = scrape.map(|scrape| &scrape.reading);
        let last = |signal| reading.and_then(|reading| reading.count(signal));
        let report = Report {
            running: load.running.or_else(|| last(Signal::Running)),
            waiting: load.waiting.or_else(|| last(Signal::Waiting)),
            pending_tokens: None,
            computed_tokens: None,
            kv_use: load.kv_use.or_else(|| reading.and_then(Reading::kv_use)),
            cache_tokens: reading.and_then(Reading::cache_tokens),
        };
        self.observe(at, &Event::Reported { worker, report });
    }

    /// Changes a member and tells placement what follows from it.
    fn change(
        &mut self,
        at: At,
        endpoint: &Endpoint,
        by: impl FnOnce(&mut Member) -> bool,
    ) -> bool {
        // Another worker may have the name by now; what was learned is not about that one.
        let same = |member: &&mut Member| member.endpoint.serial == endpoint.serial;
        let worker = endpoint.id;
        let Some(member) = self.members.get_mut(&worker).filter(same) else {
            return false;
        };
        let (state, generation) = (member.state(), member.generation);
        let news = by(member);
        if member.generation != generation {
            let generation = member.generation;
            member.tag = RouteTag::of(&member.endpoint.name, generation.started);
            self.fleet
                .observe(at, &Event::Generation { worker, generation });
        }
        if member.state() != state {
            let state = member.state();
            self.fleet.observe(at, &Event::State { worker, state });
            self.release(at);
        }
        news
    }

    /// Every worker, sorted by name, as the router and as placement know it.
    pub(crate) fn views(&self) -> impl Iterator<Item = (&Member, WorkerView)> {
        let views = self.fleet.workers();
        views.filter_map(|view| self.members.get(&view.id).map(|member| (member, view)))
    }

    pub(crate) fn endpoints(&self) -> Vec<Arc<Endpoint>> {
        self.members
            .values()
            .map(|m| Arc::clone(&m.endpoint))
            .collect()
    }

    /// What would become of a request; changes nothing.
    pub(crate) fn would_place(&self, at: At, request: &Request<'_>) -> Result<Decision, NoWorker> {
        self.fleet.place(at, request)
    }

    /// Every worker that could get a request, as the request prefers them.
    pub(crate) fn candidates(&self, at: At, request: &Request<'_>) -> Vec<WorkerId> {
        self.fleet.candidates(at, request)
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.members.contains_key(&WorkerId::of(name))
    }

    /// The prefixes that most of the latest requests begin with.
    pub(crate) fn hottest(&self) -> Vec<HotPrefix> {
        self.hottest.list()
    }

    /// The worker with this route tag, as a finished request names it.
    pub(crate) fn tagged(&self, tag: RouteTag) -> Option<&Member> {
        self.members.values().find(|member| member.tag == tag)
    }

    pub(crate) fn residency_len(&self) -> usize {
        self.fleet.residency_len()
    }

    /// Whether a request would find a worker.
    pub(crate) fn has_worker(&self) -> bool {
        self.usable_workers() > 0
    }

    /// How many workers a request could get.
    pub(crate) fn usable_workers(&self) -> usize {
        self.members.values().filter(|m| m.is_usable()).count()
    }
}
