//! One policy over one trace in virtual time.

use std::collections::BinaryHeap;

use headwater_placement::{Settings, SettingsError};

use self::agenda::{Event, Timed};
use self::echo::Threads;
use self::router::Router;
use self::timeline::Timeline;
use crate::engine::{Engine, Happened, Job, Milestone};
use crate::outcome::{Outcome, Record};
use crate::policy::{HeadwaterOptions, PolicyName, Standing, Status};
use crate::profile::Profile;
use crate::scenario::Scenario;
use crate::trace::{Arrival, Trace};
use crate::view::Echo;

mod agenda;
mod echo;
mod failure;
mod reports;
mod router;
mod routing;
mod timeline;

pub(crate) use timeline::Loads;

/// Under which circumstances a policy runs.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers change some and take the rest"
)]
pub struct Conditions {
    /// Workers at the start, 1 or more.
    pub workers: usize,
    /// Tokens that a worker's cache holds; the profile's if none.
    pub cache_tokens: Option<u64>,
    /// Routers in front, each with a memory of its own; 1 or more.
    pub routers: usize,
    /// Which router gets a request.
    pub split: Split,
    /// Whether clients return where their last answer came from.
    pub echoes: Echoes,
    /// Whether routers hear from the workers' engines.
    pub reports: Reports,
    /// Milliseconds between two of these reports; 500 is what our router does. With 0 a router
    /// knows the load at each decision.
    pub report_every_ms: f64,
    /// Settings of our placement.
    pub settings: Settings,
    /// How our clients and routers work.
    pub ours: HeadwaterOptions,
    /// What draws come from.
    pub seed: u64,
    /// What goes wrong.
    pub scenario: Scenario,
}

/// Which router gets a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a closed choice of the command line"
)]
pub enum Split {
    /// Any.
    Random,
    /// The same for all of a conversation, as long as that router is there.
    Affinity,
}

/// Whether clients return the route of their last answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "two, by design")]
pub enum Echoes {
    /// They do.
    Returned,
    /// They do not.
    Dropped,
}

/// What routers hear from the workers' engines besides the size of their cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a closed choice of the command line"
)]
pub enum Reports {
    /// Nothing.
    None,
    /// The cache in use.
    Cache,
    /// The cache in use, and requests that run and wait.
    Load,
    /// The same, and with every answer how many wait at that moment and how full the cache is: the
    /// two numbers that vLLM puts into the header of an answer where it is asked to.
    LoadWithAnswers,
}

impl Reports {
    /// Whether requests that run and wait are told.
    pub(crate) const fn tell_load(self) -> bool {
        matches!(self, Self::Load | Self::LoadWithAnswers)
    }
}

impl Conditions {
    /// One router, so many workers, nothing goes wrong.
    #[must_use]
    pub fn of(workers: usize) -> Self {
        Self {
            workers,
            cache_tokens: None,
            routers: 1,
            split: Split::Random,
            echoes: Echoes::Dropped,
            reports: Reports::None,
            report_every_ms: 500.0,
            settings: Settings::default(),
            ours: HeadwaterOptions::default(),
            seed: 1,
            scenario: Scenario::default(),
        }
    }
}

/// Runs a policy until the last request has ended.
///
/// `progress` is called now and then with the number of requests that have ended since the last
/// call. The same arguments give the same outcome, to the last bit.
///
/// # Errors
/// Placement refuses the settings.
pub fn simulate(
    trace: &Trace,
    profile: &Profile,
    policy: PolicyName,
    conditions: &Conditions,
    progress: &dyn Fn(u64),
) -> Result<Outcome, SettingsError> {
    let mut run = Run::new(trace, profile, policy, conditions)?;
    let mut told = 0;
    while let Some(next) = run.agenda.pop() {
        run.now_ms = next.at_ms;
        run.handle(next.event)?;
        if run.ended - told >= 1_000 {
            progress(run.ended - told);
            told = run.ended;
        }
    }
    progress(run.ended - told);
    Ok(run.outcome(policy))
}

/// Everything that changes while the clock runs.
struct Run<'r> {
    trace: &'r Trace,
    profile: &'r Profile,
    policy: PolicyName,
    conditions: &'r Conditions,
    now_ms: f64,
    agenda: BinaryHeap<Timed>,
    /// For ties: events that were planned earlier come first.
    planned: u64,
    /// Requests with a fixed time that have not been put on the agenda.
    fixed: std::vec::IntoIter<usize>,
    /// For each request, the one that waits for its end.
    followers: Vec<Option<u32>>,
    engines: Vec<Engine<'r>>,
    workers: Vec<Seen>,
    routers: Vec<Router>,
    /// Which router stands at each place, if one does.
    places: Vec<Option<usize>>,
    flights: Vec<Flight>,
    records: Vec<Record>,
    threads: Threads,
    /// What each request brings with it.
    echoes: Vec<Option<Echo>>,
    /// What each request hits if the workers share an endless cache.
    granted: Option<Vec<u32>>,
    timeline: Timeline,
    reporting: bool,
    /// What each worker's engine told when the routers last looked.
    looks: Vec<Status>,
    ended: u64,
    happened: Vec<Happened>,
}

/// A worker from outside.
#[derive(Clone, Copy, Debug)]
struct Seen {
    standing: Standing,
    life: u64,
    /// Which planned wake is the valid one.
    wake: u64,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flight {
    /// Not arrived, or with nobody.
    Nowhere,
    Held {
        router: usize,
    },
    Sent {
        router: usize,
        worker: usize,
        tokens: u32,
        ms: f64,
        stage: Stage,
    },
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Answering,
}

impl<'r> Run<'r> {
    fn new(
        trace: &'r Trace,
        profile: &'r Profile,
        policy: PolicyName,
        conditions: &'r Conditions,
    ) -> Result<Self, SettingsError> {
        let fixed = trace.calls().iter().enumerate();
        let mut fixed: Vec<(f64, usize)> = fixed
            .filter_map(|(request, call)| match call.arrival {
                Arrival::AtMs(at) => Some((at, request)),
                Arrival::After { .. } => None,
            })
            .collect();
        fixed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let fixed: Vec<usize> = fixed.into_iter().map(|(_, request)| request).collect();
        let threads = match conditions.echoes {
            Echoes::Returned => Threads::of(trace),
            Echoes::Dropped => Threads::default(),
        };
        let mut run = Self {
            trace,
            profile,
            policy,
            conditions,
            now_ms: 0.0,
            agenda: BinaryHeap::new(),
            planned: 0,
            fixed: fixed.into_iter(),
            followers: followers(trace),
            engines: Vec::new(),
            workers: Vec::new(),
            routers: Vec::new(),
            places: Vec::new(),
            flights: vec![Flight::Nowhere; trace.len()],
            records: vec![Record::default(); trace.len()],
            threads,
            echoes: vec![None; trace.len()],
            granted: None,
            timeline: Timeline::new(trace.span_ms()),
            reporting: true,
            looks: Vec::new(),
            ended: 0,
            happened: Vec::new(),
        };
        for _ in 0..conditions.routers.max(1) {
            run.add_router()?;
        }
        for _ in 0..conditions.workers.max(1) {
            run.add_worker();
        }
        let endless = run
            .routers
            .first()
            .is_some_and(|router| router.policy.has_endless_cache());
        run.granted = endless.then(|| trace.ideal_hits());
        for (number, incident) in conditions.scenario.incidents.iter().enumerate() {
            run.plan(incident.at_s * 1_000.0, Event::Incident(number));
        }
        if conditions.reports != Reports::None {
            run.plan(0.0, Event::Sample);
        }
        run.plan_next_fixed();
        Ok(run)
    }

    fn plan(&mut self, at_ms: f64, event: Event) {
        self.planned += 1;
        self.agenda.push(Timed {
            at_ms,
            order: self.planned,
            event,
        });
    }

    fn plan_next_fixed(&mut self) {
        if let Some(request) = self.fixed.next()
            && let Some(Arrival::AtMs(at)) =
                self.trace.calls().get(request).map(|call| call.arrival)
        {
            self.plan(at, Event::Fixed(request));
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), SettingsError> {
        match event {
            Event::Wake { worker, wake } => {
                if self
                    .workers
                    .get(worker)
                    .is_some_and(|seen| seen.wake == wake)
                {
                    self.wake(worker);
                }
            }
            Event::Incident(number) => self.incident(number)?,
            Event::Sample => self.sample(),
            Event::Delivery(samples) => self.deliver(&samples),
            Event::Patience(router) => self.release(router),
            Event::Fixed(request) => {
                self.plan_next_fixed();
                self.arrive(request);
            }
            Event::Arrival(request) => self.arrive(request),
            Event::Again { request, tries } => self.route(request, tries),
        }
        Ok(())
    }

    fn arrive(&mut self, request: usize) {
        if let Some(record) = self.records.get_mut(request) {
            record.arrived_ms = self.now_ms;
        }
        self.route(request, 0);
    }

    /// Hands a request to a worker's engine.
    fn send(&mut self, request: usize, worker: usize) {
        let Some(call) = self.trace.calls().get(request) else {
            return;
        };
        let job = Job {
            request: u32::try_from(request).unwrap_or(u32::MAX),
            input_tokens: call.input_tokens,
            output_tokens: call.output_tokens,
            granted_tokens: self
                .granted
                .as_ref()
                .and_then(|hits| hits.get(request))
                .copied(),
        };
        self.timeline.change(self.now_ms, worker, 1);
        if let Some(engine) = self.engines.get_mut(worker) {
            engine.enqueue(self.now_ms, job, self.trace);
        }
        self.plan_wake(worker);
    }

    fn plan_wake(&mut self, worker: usize) {
        let next = self.engines.get(worker).and_then(Engine::next_ms);
        let Some(seen) = self.workers.get_mut(worker) else {
            return;
        };
        seen.wake += 1;
        let wake = seen.wake;
        if let Some(at_ms) = next {
            self.plan(at_ms.max(self.now_ms), Event::Wake { worker, wake });
        }
    }

    /// A worker has come to the end of something.
    fn wake(&mut self, worker: usize) {
        let mut happened = std::mem::take(&mut self.happened);
        if let Some(engine) = self.engines.get_mut(worker) {
            engine.advance(self.now_ms, self.trace, &mut happened);
        }
        self.plan_wake(worker);
        for Happened { request, what, .. } in happened.drain(..) {
            match what {
                Milestone::FirstToken { hit_tokens } => {
                    self.first_token(request as usize, worker, hit_tokens);
                }
                Milestone::Finished => self.finished(request as usize, worker),
            }
        }
        self.happened = happened;
        self.release_all();
    }

    /// A request has ended, well or badly; whoever waited for that may go on.
    fn end(&mut self, request: usize) {
        if let Some(flight) = self.flights.get_mut(request) {
            *flight = Flight::Ended;
        }
        self.ended += 1;
        let follower = self.followers.get(request).copied().flatten();
        let arrival = follower
            .and_then(|next| self.trace.calls().get(next as usize))
            .map(|call| call.arrival);
        if let (Some(next), Some(Arrival::After { think_ms, .. })) = (follower, arrival) {
            self.plan(
                self.now_ms + think_ms.max(0.0),
                Event::Arrival(next as usize),
            );
        }
    }

    fn outcome(self, policy: PolicyName) -> Outcome {
        let loads = self.timeline.finish(self.now_ms);
        Outcome::of(
            policy,
            self.conditions,
            (self.trace, self.profile),
            &self.records,
            loads,
        )
    }
}

fn followers(trace: &Trace) -> Vec<Option<u32>> {
    let mut followers = vec![None; trace.len()];
    for (number, call) in (0..).zip(trace.calls()) {
        if let Arrival::After { request, .. } = call.arrival
            && let Some(slot) = followers.get_mut(request as usize)
        {
            *slot = Some(number);
        }
    }
    followers
}

#[cfg(test)]
mod tests;
