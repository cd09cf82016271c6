//! What every thread shares: settings, counters, the clock and the roster.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use headwater_placement::{At, Event, NoWorker, Request, RequestId};
use headwater_signature::Signature;
use hyper::header::HeaderName;
use hyper::http::request;
use tokio::sync::{Semaphore, watch};

use crate::breaker::Verdict;
use crate::config::Config;
use crate::counters::{Counters, DECISION_BOUNDS_MICROS, Gauge};
use crate::endpoint::Endpoint;
use crate::error::RouterError;
use crate::file_stamp::Stamp;
use crate::held::Held;
use crate::history::History;
use crate::inflight::InFlight;
use crate::load_header::Load;
use crate::member::{Arrival, BreakerChange, Health, Origin, Process};
use crate::model_pool::{ModelPool, PoolId};
use crate::retry::Budget;
use crate::roster::{Placed, Roster, Turn};
use crate::sources::Sources;
use crate::telemetry::Telemetry;
use crate::tls::{Certificate, FromFiles, WorkerTls};
use crate::upload::HELD_PART_BYTES;

/// Memory for the bodies of all held requests together, beyond the first part of each.
const HELD_ROOM_BYTES: usize = 64 << 20;

/// One for the whole process.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) session_headers: Vec<HeaderName>,
    pub(crate) counters: Counters,
    pub(crate) budget: Budget,
    /// What clients see, if they speak TLS.
    pub(crate) certificate: Option<Certificate>,
    pub(crate) worker_tls: WorkerTls,
    /// Tells the control thread that workers came or went.
    pub(crate) roster_changed: watch::Sender<()>,
    pub(crate) history: History,
    pub(crate) telemetry: Option<Telemetry>,
    pub(crate) status_pages: Gauge,
    /// Parts of bodies that held requests may have read beyond their first; see
    /// [`Upload::read_ahead`](crate::upload::Upload::read_ahead).
    pub(crate) held_room: Arc<Semaphore>,
    /// The file of the admin port's token, as it was read.
    pub(crate) token_file: Option<Stamp>,
    started: Instant,
    next_request: AtomicU64,
    draining: AtomicBool,
    /// The time for streams to finish is over.
    over: AtomicBool,
    /// Counts the times that a worker was found to be down.
    downfalls: AtomicU64,
    /// There may be workers whose breaker is not closed.
    suspects: AtomicBool,
    pools: Vec<ModelPool>,
    pub(crate) sources: Sources,
}

/// Where a request is to go.
pub(crate) enum Place {
    Now(Placed, InFlight),
    /// When its turn has come.
    Later(Held),
}

impl Shared {
    pub(crate) fn new(config: Config) -> Result<Self, RouterError> {
        let names = config.session_headers.iter();
        let shared = Self {
            session_headers: names.filter_map(|name| name.parse().ok()).collect(),
            counters: Counters::default(),
            certificate: config.tls.as_ref().map(Certificate::read).transpose()?,
            worker_tls: WorkerTls::new(config.worker_tls.clone(), "worker_tls.ca")?,
            budget: Budget::new(config.retry.ratio),
            roster_changed: watch::Sender::new(()),
            history: History::default(),
            telemetry: Telemetry::of_config(&config)?,
            status_pages: Gauge::default(),
            held_room: Arc::new(Semaphore::new(HELD_ROOM_BYTES / HELD_PART_BYTES)),
            token_file: config.admin_token_file.as_deref().and_then(Stamp::of),
            started: Instant::now(),
            next_request: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            over: AtomicBool::new(false),
            downfalls: AtomicU64::new(0),
            suspects: AtomicBool::new(false),
            pools: ModelPool::of_config(&config)?,
            sources: Sources::default(),
            config,
        };
        for (index, workers) in shared.config.workers_of_pools().enumerate() {
            shared.list(PoolId(index), Origin::Config, workers, Arrival::AtStart);
        }
        Ok(shared)
    }

    pub(crate) fn now(&self) -> At {
        self.at(Instant::now())
    }

    /// A moment as placement counts it.
    pub(crate) fn at(&self, moment: Instant) -> At {
        let micros = moment.saturating_duration_since(self.started).as_micros();
        At::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    pub(crate) fn uptime_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The roster of a pool; see [`ModelPool::roster`].
    pub(crate) fn roster(&self, pool: PoolId) -> MutexGuard<'_, Roster> {
        // Ids come from this list, so the default is never needed.
        let pool = self.pools.get(pool.0).unwrap_or(&self.pools[0]);
        pool.roster()
    }

    /// Every pool, the default one first.
    pub(crate) fn pools(&self) -> &[ModelPool] {
        &self.pools
    }

    /// The pool whose request this is.
    pub(crate) fn pool_of(&self, head: &request::Parts) -> Option<PoolId> {
        let mut others = self.pools.iter().skip(1);
        match others.position(|pool| pool.takes(head)) {
            Some(index) => Some(PoolId(index + 1)),
            None => self.has_default().then(PoolId::default),
        }
    }

    /// Whether there are, or may be, workers beside those of the pools that have a name.
    fn has_default(&self) -> bool {
        let config = &self.config;
        let awaits = !config.workers.is_empty() || !config.discover.is_empty();
        let pool = self.pools.first();
        awaits || self.pools.len() == 1 || pool.is_some_and(|pool| !pool.roster().is_empty())
    }

    /// The pools that requests can go to.
    pub(crate) fn pools_in_use(&self) -> impl Iterator<Item = &ModelPool> {
        self.pools.iter().skip(usize::from(!self.has_default()))
    }

    /// The pool that has a worker of this name.
    pub(crate) fn pool_with(&self, worker: &str) -> Option<&ModelPool> {
        self.pools.iter().find(|pool| pool.roster().holds(worker))
    }

    /// Finds a worker for a request and counts it there until the guard ends.
    pub(crate) fn place(
        self: &Arc<Self>,
        pool: PoolId,
        request: &Request<'_>,
    ) -> Result<Place, NoWorker> {
        let id = RequestId(self.next_request.fetch_add(1, Relaxed));
        let began = Instant::now();
        let at = self.at(began);
        let found = self.roster(pool).place(at, request, id);
        self.counters
            .decision_time
            .add(began.elapsed(), &DECISION_BOUNDS_MICROS);
        match found {
            Ok(Turn::Now(placed)) => {
                let at_worker = (pool, placed.endpoint.id);
                let guard = InFlight::new(Arc::clone(self), at_worker, id, began);
                Ok(Place::Now(placed, guard))
            }
            Ok(Turn::Later(turn)) => {
                let held = Held::new(Arc::clone(self), pool, id, began, turn);
                Ok(Place::Later(held))
            }
            Err(why) => {
                self.counters.found_no_worker(why);
                Err(why)
            }
        }
    }

    /// Counts a decision that is followed.
    pub(crate) fn placed(&self, placed: &Placed, request: &Request<'_>) {
        let tokens = request.signature.map_or(0, Signature::tokens);
        self.counters
            .decided(placed.reason, placed.matched_tokens, tokens);
        placed.endpoint.requests.add(1);
    }

    /// Called often while requests are held: lets those go whose time has come.
    pub(crate) fn release_due(&self) {
        let at = self.now();
        for pool in &self.pools {
            pool.roster().tick(at);
        }
    }

    pub(crate) fn observe(&self, pool: PoolId, event: &Event<'_>) {
        let at = self.now();
        self.roster(pool).observe(at, event);
    }

    /// An answer began, and ended if it did at once.
    pub(crate) fn observe_at(&self, moment: Instant, pool: PoolId, events: &[Event<'_>]) {
        let at = self.at(moment);
        let mut roster = self.roster(pool);
        for event in events {
            roster.observe(at, event);
        }
    }

    /// Notes how a worker is; logs when that is news.
    pub(crate) fn set_health(
        &self,
        endpoint: &Endpoint,
        health: Health,
        process: Process,
        why: &'static str,
    ) {
        let at = self.now();
        let mut roster = self.roster(endpoint.pool);
        let news = roster.set_health(at, endpoint, health, process);
        drop(roster);
        if !news {
            return;
        }
        match health {
            Health::Down => {
                self.downfalls.fetch_add(1, Relaxed);
                tracing::warn!(worker = endpoint.name, why, "worker is down");
            }
            Health::Up | Health::Unknown => {
                tracing::info!(worker = endpoint.name, why, "worker is up");
            }
        }
    }

    /// Tells the breaker of a worker how a request went.
    pub(crate) fn learn(&self, endpoint: &Endpoint, verdict: Verdict, why: &'static str) {
        let config = &self.config.breaker;
        let failed = verdict == Verdict::Failed;
        let too_many = failed && endpoint.request_failed() >= config.failures;
        if !too_many && !endpoint.is_suspected() {
            return;
        }
        let at = self.now();
        let mut roster = self.roster(endpoint.pool);
        let change = roster.learn(at, endpoint, verdict, config);
        drop(roster);
        self.suspects.store(true, Relaxed);
        let Some(change) = change else {
            return;
        };
        self.counters.breaker.add(change.as_str());
        if change == BreakerChange::StillKept {
            return;
        }
        let change = change.as_str();
        tracing::warn!(worker = endpoint.name, why, change, "breaker");
    }

    /// A worker has too much to do: others are preferred for a while. An answer of 503 or 429
    /// comes fast, so that such a worker would look like the freest of all.
    pub(crate) fn press(&self, endpoint: &Endpoint, time: Duration) {
        let at = self.now();
        self.roster(endpoint.pool).press(at, endpoint, time);
        self.suspects.store(true, Relaxed);
    }

    /// Called now and then: lets a request try a worker whose breaker has been open for long
    /// enough.
    pub(crate) fn try_suspects(&self) {
        if !self.suspects.swap(false, Relaxed) {
            return;
        }
        let at = self.now();
        for pool in &self.pools {
            if pool.roster().try_suspects(at) {
                self.suspects.store(true, Relaxed);
            }
        }
    }

    /// Counts a failure of a worker; after enough in a row it is down.
    pub(crate) fn failed(&self, endpoint: &Endpoint, why: &'static str) {
        if endpoint.failed() >= self.config.health.failures {
            self.set_health(endpoint, Health::Down, Process::AsBefore, why);
        }
    }

    /// How often a worker was found to be down so far.
    pub(crate) fn downfalls(&self) -> u64 {
        self.downfalls.load(Relaxed)
    }

    /// An answer told how its worker is.
    pub(crate) fn told_load(&self, endpoint: &Endpoint, load: Load) {
        let at = self.now();
        self.roster(endpoint.pool).told_load(at, endpoint, load);
    }

    /// What was read from files that may be renewed.
    pub(crate) fn read_from_files(&self) -> impl Iterator<Item = FromFiles<'_>> {
        let certificate = self.certificate.as_ref().map(FromFiles::Certificate);
        let has_ca = self.config.worker_tls.ca.is_some();
        let authorities = has_ca.then_some(FromFiles::Authorities(&self.worker_tls));
        certificate.into_iter().chain(authorities)
    }

    /// Reads files again; those that cannot be used change nothing. Gives whether they are used.
    pub(crate) fn read_again(&self, part: FromFiles<'_>) -> bool {
        let (name, read) = match part {
            FromFiles::Certificate(certificate) => ("certificate", certificate.reload()),
            FromFiles::Authorities(tls) => ("workers' authorities", tls.reload()),
        };
        match read {
            Ok(()) => tracing::info!("{name} read again"),
            Err(error) => {
                self.counters.reload_errors.add(1);
                tracing::error!("{name} kept as before: {error}");
                return false;
            }
        }
        true
    }

    /// From now on `/readyz` fails.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
    }

    /// From now on the end of a stream is this router's doing.
    pub(crate) fn cut_off(&self) {
        self.over.store(true, Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    pub(crate) fn header_time(&self) -> Duration {
        Duration::from_secs(self.config.limits.header_seconds)
    }
}
