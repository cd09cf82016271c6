//! The workers known now: what placement believes of them and how each is, under one lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_placement::{
    At, Decision, Event, Fleet, Generation, Handover, NoWorker, Reason, Report, Request, RequestId,
    Settings, WorkerId, WorkerState, WorkerView,
};
use headwater_signature::RouteTag;
use tokio::sync::oneshot;

use crate::breaker::{Breaker, Verdict};
use crate::config::{BreakerConfig, WorkerConfig};
use crate::endpoint::Endpoint;
use crate::engines::{Reading, Signal};
use crate::error::RouterError;
use crate::held::{Asked, Waiter, Waiters};
use crate::hottest::{HotPrefix, Hottest};
use crate::load_header::Load;
use crate::member::{Arrival, BreakerChange, Health, Member, Origin, Scrape, Service};
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
        if !self.has_worker() {
            // Whoever waits learns of it by the end of the channel.
            self.waiters.clear();
        }
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

    /// Makes the list the one that `origin` knows: adds, removes, changes weights. Gives the
    /// names that another origin has already.
    pub(crate) fn set_workers(
        &mut self,
        at: At,
        origin: Origin,
        workers: &[WorkerConfig],
        arrival: Arrival,
    ) -> Vec<String> {
        let stays = |member: &Member| {
            let same = |w: &&WorkerConfig| w.name == member.endpoint.name;
            workers
                .iter()
                .find(same)
                .is_some_and(|w| w.url == member.endpoint.url)
        };
        let own = |member: &&Member| member.origin == origin;
        let gone: Vec<String> = self
            .members
            .values()
            .filter(own)
            .filter(|member| !stays(member))
            .map(|member| member.endpoint.name.clone())
            .collect();
        for name in gone {
            self.leave(at, &name);
        }
        let joins = |config: &&WorkerConfig| !self.join(at, origin, config, arrival);
        let taken = workers.iter().filter(joins);
        taken.map(|config| config.name.clone()).collect()
    }

    /// Adds a worker, or changes its weight if `origin` named it before. Gives whether it is
    /// now as `config` says; another origin's worker stays as it is.
    pub(crate) fn join(
        &mut self,
        at: At,
        origin: Origin,
        config: &WorkerConfig,
        arrival: Arrival,
    ) -> bool {
        let worker = WorkerId::of(&config.name);
        if let Some(member) = self.members.get_mut(&worker) {
            if member.origin != origin || member.endpoint.url != config.url {
                return false;
            }
            return self.set_weight(at, &config.name, config.weight).is_some();
        }
        let joined = Event::Joined {
            worker,
            name: &config.name,
            weight: config.weight,
        };
        self.fleet.observe(at, &joined);
        let member = Member {
            endpoint: Arc::new(Endpoint::new(config, self.pool, self.next_serial)),
            weight: config.weight,
            origin,
            service: Service::In,
            health: match arrival {
                Arrival::AtStart => Health::Up,
                Arrival::Later => Health::Unknown,
            },
            breaker: Breaker::default(),
            pressed_until: None,
            scrape: None,
            generation: Generation::default(),
            tag: RouteTag::of(&config.name, 0),
        };
        self.next_serial += 1;
        let state = member.state();
        self.members.insert(worker, member);
        self.fleet.observe(at, &Event::State { worker, state });
        true
    }

    /// Removes a worker, whoever named it; its streams go on. `None` if there is none.
    pub(crate) fn leave(&mut self, at: At, name: &str) -> Option<()> {
        let worker = WorkerId::of(name);
        let member = self.members.remove(&worker)?;
        member.endpoint.remove();
        self.observe(at, &Event::Left { worker });
        Some(())
    }

    /// Changes a worker's share of the work; `None` if there is none of that name.
    pub(crate) fn set_weight(&mut self, at: At, name: &str, weight: f64) -> Option<()> {
        let worker = WorkerId::of(name);
        self.members.get_mut(&worker)?.weight = weight;
        let changed = Event::Joined {
            worker,
            name,
            weight,
        };
        self.fleet.observe(at, &changed);
        Some(())
    }

    /// Notes what was found out about a worker; gives whether that was news.
    pub(crate) fn set_health(&mut self, at: At, endpoint: &Endpoint, health: Health) -> bool {
        self.change(at, endpoint, |member| {
            let news = member.health != health;
            // A process that is gone took its cache with it. Where the engine tells when it
            // began, the next scrape will say so; where it does not, count its lives here.
            let told = member
                .scrape
                .as_ref()
                .is_some_and(|s| s.reading.started.is_some());
            if news && health == Health::Down && !told {
                member.generation = member.generation.after_restart();
            }
            member.health = health;
            news
        })
    }

    /// Lets a breaker learn from a request; gives what changed.
    pub(crate) fn learn(
        &mut self,
        at: At,
        endpoint: &Endpoint,
        verdict: Verdict,
        config: &BreakerConfig,
    ) -> Option<BreakerChange> {
        let may_open = self.may_open(config.floor);
        let mut change = None;
        self.change(at, endpoint, |member| {
            let before = member.breaker;
            if before.is_closed() && verdict == Verdict::Failed {
                if may_open {
                    member.breaker.open(at, config);
                    change = Some(BreakerChange::Opened);
                } else {
                    change = Some(BreakerChange::KeptByFloor);
                }
            } else {
                member.breaker.learn(at, verdict, config);
                change = (member.breaker.is_closed() && !before.is_closed())
                    .then_some(BreakerChange::Closed)
                    .or_else(|| {
                        let reopened = before.is_trying() && !member.breaker.is_trying();
                        (reopened && verdict == Verdict::Failed).then_some(BreakerChange::Opened)
                    });
            }
            member.endpoint.suspect(!member.breaker.is_closed());
            true
        });
        change
    }

    /// Whether one more worker can be done without: outliers are kept out, but when most fail
    /// the fault lies elsewhere, and keeping all of them out would help nobody.
    fn may_open(&self, floor: f64) -> bool {
        let healthy = |m: &&Member| m.service == Service::In && m.health == Health::Up;
        let all = self.members.values().filter(healthy).count();
        let closed = |m: &&Member| healthy(m) && m.breaker.is_closed();
        let left = self
            .members
            .values()
            .filter(closed)
            .count()
            .saturating_sub(1);
        #[expect(clippy::cast_precision_loss, reason = "a number of workers")]
        let least = (all as f64 * floor).max(1.0);
        #[expect(clippy::cast_precision_loss, reason = "a number of workers")]
        let left = left as f64;
        left >= least
    }

    /// Prefers others to a worker for a while.
    pub(crate) fn press(&mut self, at: At, endpoint: &Endpoint, time: Duration) {
        self.change(at, endpoint, |member| {
            let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            let until = at.micros().saturating_add(micros);
            member.pressed_until = Some(At::from_micros(until));
            true
        });
    }

    /// Lets the next request try each worker whose breaker has been open for long enough, and
    /// ends what was said for a while; gives whether there is more to come back for.
    pub(crate) fn try_suspects(&mut self, at: At) -> bool {
        let suspected = |m: &&Member| !m.breaker.is_closed() || m.pressed_until.is_some();
        let suspects: Vec<Arc<Endpoint>> = self
            .members
            .values()
            .filter(suspected)
            .map(|m| Arc::clone(&m.endpoint))
            .collect();
        for endpoint in &suspects {
            self.change(at, endpoint, |member| {
                member.breaker.tick(at);
                if member.pressed_until.is_some_and(|until| at >= until) {
                    member.pressed_until = None;
                    member.endpoint.press(false);
                }
                true
            });
        }
        !suspects.is_empty()
    }

    /// Takes a worker out of service or puts it back; `None` if there is none of that name.
    pub(crate) fn set_service(&mut self, at: At, name: &str, service: Service) -> Option<()> {
        let endpoint = Arc::clone(&self.members.get(&WorkerId::of(name))?.endpoint);
        self.change(at, &endpoint, |member| {
            member.service = service;
            true
        });
        Some(())
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
        self.change(at, endpoint, |member| {
            let before = member.scrape.as_ref().map(|scrape| &scrape.reading);
            if let Some(seconds) = reading.started {
                member.generation = Generation::started(seconds);
            } else if before.is_some_and(|before| reading.restarted_since(before)) {
                member.generation = member.generation.after_restart();
            }
            member.scrape = Some(Scrape { at, reading });
            true
        });
        let worker = endpoint.id;
        self.observe(at, &Event::Reported { worker, report });
    }

    /// Learns from what an answer told; what it did not tell is as the last scrape had it.
    pub(crate) fn told_load(&mut self, at: At, endpoint: &Endpoint, load: Load) {
        let worker = endpoint.id;
        let member = self.members.get(&worker);
        let scrape = member.and_then(|member| member.scrape.as_ref());
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
        let usable = |m: &Member| matches!(m.state(), WorkerState::Ready | WorkerState::Starting);
        self.members.values().any(usable)
    }
}
