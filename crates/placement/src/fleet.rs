//! The fleet and its decision: `place` chooses, `observe` (in `learn.rs`) learns.

use crate::belief::Ground;
use crate::crew::Crew;
use crate::demand::Demand;
use crate::flight::Flights;
use crate::habit::Habit;
use crate::hold::WaitingRoom;
use crate::homecoming::Draws;
use crate::id::{At, WorkerId};
use crate::memory::Stay;
use crate::name::Seed;
use crate::rate::Rate;
use crate::reason::{Decision, NoWorker, Reason};
use crate::rendezvous;
use crate::request::Request;
use crate::residency::Residency;
use crate::ring::Ring;
use crate::settings::{Policy, Settings, SettingsError};
use crate::sought::{By, Sought};
use crate::spill::{self, Choice, Spilled};
use crate::survey::{Prospect, Survey};
use crate::worker::Typical;

/// Every worker, what is known of it, and what is believed to be in its cache.
///
/// A value like any other: clone it, swap it, replay events into it. The same events and the
/// same request give the same decision on every machine.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(crate) settings: Settings,
    pub(crate) workers: Crew,
    pub(crate) flights: Flights,
    pub(crate) held: WaitingRoom,
    pub(crate) residency: Residency,
    pub(crate) ring: Ring,
    pub(crate) demand: Demand,
    pub(crate) echoes: Habit,
    /// How fast workers of weight 1 prefill.
    pub(crate) rate: Rate,
    /// The same when prices were made from it.
    pub(crate) priced: Rate,
    /// What a request's prefill is lately.
    pub(crate) typical: Typical,
    /// Tokens that were new where they were sent, of all workers.
    pub(crate) inflow: f64,
    /// Whether answers stream.
    pub(crate) streams: Habit,
    /// How long they do.
    pub(crate) stay: Stay,
    /// Whether any engine has ever said what it found in its cache.
    pub(crate) hears_of_caches: bool,
    /// Requests dispatched so far: whose turn it is where nothing else decides.
    pub(crate) dispatches: u64,
    /// Workers that have come back draw what went elsewhere meanwhile.
    pub(crate) draws: Draws,
    /// When the latest event was.
    pub(crate) latest: At,
}

impl Fleet {
    /// An empty fleet.
    ///
    /// # Errors
    /// A setting is outside its range; the error names it.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let room = usize::try_from(settings.residency_per_worker).unwrap_or(usize::MAX);
        let assumed = settings.assumed_prompt_tokens;
        let typical = Typical::new(assumed, settings.prefill.ms(assumed, 0));
        Ok(Self {
            workers: Crew::default(),
            flights: Flights::default(),
            held: WaitingRoom::default(),
            residency: Residency::new(Seed::new(settings.table_seed), room),
            ring: Ring::default(),
            demand: Demand::default(),
            echoes: Habit::default(),
            rate: Rate::COMMON,
            priced: Rate::COMMON,
            typical,
            inflow: 0.0,
            streams: Habit::default(),
            stay: Stay::default(),
            hears_of_caches: false,
            dispatches: 0,
            draws: Draws::default(),
            latest: At::default(),
            settings,
        })
    }

    /// The settings that it was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Chooses a worker for a request; changes nothing. Whoever follows the decision says so
    /// with [`Event::Dispatched`](crate::Event::Dispatched) or, where it is to wait,
    /// [`Event::Held`](crate::Event::Held).
    ///
    /// # Errors
    /// No worker may get the request; see [`NoWorker`].
    pub fn place(&self, at: At, request: &Request<'_>) -> Result<Decision, NoWorker> {
        let sought = Sought::of(request, &self.settings);
        let mut survey = Survey::new(self, at, &sought);
        self.survey(request, &sought, &mut survey)?;
        let choice = match self.settings.policy {
            Policy::Cost => spill::choose(&survey, &self.settings),
            Policy::Ring => self.on_ring(at, &sought, &survey),
            Policy::LeastRequests => spill::fewest_requests(&survey),
            Policy::RoundRobin => survey.prospects().next().map(Choice::unspilled),
        };
        let choice = choice.ok_or(NoWorker::Empty)?;
        let (gauge, belief) = (choice.prospect.gauge, choice.prospect.belief);
        let worker = self.workers.at(gauge.slot).ok_or(NoWorker::Empty)?;
        let prefill_ms = choice.prospect.prefill_ms;
        Ok(Decision {
            worker: gauge.id,
            reason: self.reason(request, &sought, &survey, choice),
            matched_tokens: belief.matched_tokens(),
            expected_ms: worker.sent_ms(at) + gauge.ahead.of(prefill_ms) + prefill_ms,
            handover: self.handover(at, worker),
        })
    }

    /// Every worker that may get the request, in the order of its key's preference: whoever
    /// would be its home without the ones before. For people; a decision needs no list.
    #[must_use]
    pub fn candidates(&self, at: At, request: &Request<'_>) -> Vec<WorkerId> {
        let sought = Sought::of(request, &self.settings);
        let mut survey = Survey::new(self, at, &sought);
        if self.survey(request, &sought, &mut survey).is_err() {
            return Vec::new();
        }
        let mut prospects: Vec<_> = survey.prospects().collect();
        if let Some(key) = survey.key {
            let score = |p: &Prospect<'_>| rendezvous::score(key, p.gauge.id, p.gauge.weight);
            // The sort is stable, so equal scores stay in the order of ids.
            prospects.sort_by(|a, b| score(b).total_cmp(&score(a)));
        }
        prospects.iter().map(|p| p.gauge.id).collect()
    }

    /// Whose turn it is among that many.
    pub(crate) fn turn(&self, workers: usize) -> usize {
        let turn = self.dispatches.checked_rem(workers as u64).unwrap_or(0);
        usize::try_from(turn).unwrap_or(0)
    }

    /// Why the choice is what it is: the strongest cause first.
    fn reason(
        &self,
        request: &Request<'_>,
        sought: &Sought<'_>,
        survey: &Survey<'_>,
        choice: Choice<'_>,
    ) -> Reason {
        if !request.excluded.is_empty() {
            return Reason::Retry;
        }
        match (self.settings.policy, choice.spilled) {
            (Policy::RoundRobin, _) => return Reason::RoundRobin,
            (Policy::LeastRequests, _) => return Reason::LeastLoaded,
            (Policy::Cost | Policy::Ring, Spilled::Hot) => return Reason::SpillHot,
            (Policy::Cost | Policy::Ring, Spilled::Queue) => return Reason::SpillQueue,
            (Policy::Cost | Policy::Ring, Spilled::Cost) => return Reason::SpillCost,
            (Policy::Cost | Policy::Ring, Spilled::No) => {}
        }
        let is_home = || {
            let home = survey.home();
            home.is_some_and(|home| home.gauge.slot == choice.prospect.gauge.slot)
        };
        if survey.drawn == Some(choice.prospect.gauge.slot) {
            return Reason::Home;
        }
        match (choice.prospect.belief.ground, sought.by) {
            (Ground::Resident, _) => Reason::Resident,
            (Ground::Echo, _) => Reason::Echo,
            (Ground::Session, _) => Reason::Session,
            (Ground::Prior, _) => Reason::Home,
            (Ground::Nothing, By::Nothing) => Reason::LeastLoaded,
            (Ground::Nothing, _) if self.settings.policy == Policy::Ring || is_home() => {
                Reason::Home
            }
            (Ground::Nothing, _) => Reason::Cold,
        }
    }
}
