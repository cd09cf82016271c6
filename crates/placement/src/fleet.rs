//! The fleet and its decision: `place` chooses, `observe` (in `learn.rs`) learns.

use std::collections::BTreeMap;

use crate::belief::Ground;
use crate::event::WorkerState;
use crate::id::{At, RequestId, WorkerId};
use crate::learn::Flight;
use crate::prospect::Prospect;
use crate::reason::{Decision, Handover, NoWorker, Reason, Release};
use crate::request::Request;
use crate::residency::Residency;
use crate::settings::{Policy, Settings, SettingsError};
use crate::sought::{By, Sought};
use crate::spill::{self, Choice, Spilled};
use crate::worker::Worker;

/// Every worker, what is known of it, and what is believed to be in its cache.
///
/// A value like any other: clone it, swap it, replay events into it. The same events and the
/// same request give the same decision on every machine.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(crate) settings: Settings,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    pub(crate) flights: BTreeMap<RequestId, Flight>,
    pub(crate) residency: Residency,
    /// Requests dispatched so far: whose turn it is where nothing else decides.
    pub(crate) dispatches: u64,
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
        let workers_per_prefix = usize::try_from(settings.workers_per_prefix).unwrap_or(1);
        Ok(Self {
            settings,
            workers: BTreeMap::new(),
            flights: BTreeMap::new(),
            residency: Residency::new(workers_per_prefix),
            dispatches: 0,
            latest: At::default(),
        })
    }

    /// The settings that it was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Chooses a worker for a request; changes nothing. Whoever follows the decision says so
    /// with [`Event::Dispatched`](crate::Event::Dispatched).
    ///
    /// # Errors
    /// No worker may get the request; see [`NoWorker`].
    pub fn place(&self, at: At, request: &Request<'_>) -> Result<Decision, NoWorker> {
        let pool = self.eligible(at, request)?;
        let sought = Sought::of(request, &self.settings);
        let prospects = self.prospects(at, &sought, &pool);
        let choice = match self.settings.policy {
            Policy::Cost | Policy::Ring => spill::choose(&prospects, &self.settings),
            Policy::LeastRequests => spill::fewest_requests(&prospects),
            Policy::RoundRobin => prospects.first().map(Choice::unspilled),
        };
        let choice = choice.ok_or(NoWorker::Empty)?;
        let reason = self.reason(request, &sought, &prospects, choice);
        Ok(decision(choice.prospect, reason))
    }

    /// Every worker that may get the request, in the order of its key's preference: whoever
    /// would be its home without the ones before. For people; a decision needs no list.
    #[must_use]
    pub fn candidates(&self, at: At, request: &Request<'_>) -> Vec<WorkerId> {
        let Ok(pool) = self.eligible(at, request) else {
            return Vec::new();
        };
        let sought = Sought::of(request, &self.settings);
        let prospects = self.prospects(at, &sought, &pool);
        prospects.iter().map(|p| p.worker.id).collect()
    }

    /// The held request whose turn it is, if any; changes nothing.
    ///
    /// Whoever follows it tells [`Event::Dispatched`](crate::Event::Dispatched) and asks again,
    /// until there is none. To be asked after any event that can free a worker, and at
    /// [`Self::next_release_at`].
    #[must_use]
    pub fn release(&self, _at: At) -> Option<Release> {
        None
    }

    /// When a held request will have waited for as long as it may, with no event before.
    #[must_use]
    pub fn next_release_at(&self) -> Option<At> {
        None
    }

    /// The workers that may get the request, in the order of their ids: ready ones or, if there
    /// is none, starting ones; neither tried before nor at the hard cap.
    fn eligible(&self, at: At, request: &Request<'_>) -> Result<Vec<&Worker>, NoWorker> {
        let untried = |state: WorkerState| {
            let all = self.workers.values().filter(move |w| w.state == state);
            all.filter(|w| !request.excluded.contains(&w.id))
                .collect::<Vec<_>>()
        };
        let mut pool = untried(WorkerState::Ready);
        if pool.is_empty() {
            pool = untried(WorkerState::Starting);
        }
        if pool.is_empty() {
            return Err(self.nobody());
        }
        if let Some(cap) = self.settings.hard_cap {
            let full = |w: &Worker| {
                f64::from(w.in_flight(at, &self.settings)) + 1.0 > f64::from(cap) * w.weight
            };
            pool.retain(|w| !full(w));
        }
        if pool.is_empty() {
            Err(NoWorker::Full)
        } else {
            Ok(pool)
        }
    }

    /// Why nobody is left before any cap.
    fn nobody(&self) -> NoWorker {
        let live = |w: &Worker| matches!(w.state, WorkerState::Starting | WorkerState::Ready);
        if self.workers.is_empty() {
            NoWorker::Empty
        } else if self.workers.values().any(live) {
            NoWorker::AllTried
        } else {
            NoWorker::NoneReady
        }
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
        prospects: &[Prospect<'_>],
        choice: Choice<'_, '_>,
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
        let is_home = prospects
            .first()
            .is_some_and(|p| p.worker.id == choice.prospect.worker.id);
        match (choice.prospect.belief.ground, sought.by) {
            (Ground::Resident, _) => Reason::Resident,
            (Ground::Echo, _) => Reason::Echo,
            (Ground::Session, _) => Reason::Session,
            (Ground::Prior, _) => Reason::Home,
            (Ground::Nothing, By::Nothing) => Reason::LeastLoaded,
            (Ground::Nothing, _) if is_home => Reason::Home,
            (Ground::Nothing, _) => Reason::Cold,
        }
    }
}

fn decision(chosen: &Prospect<'_>, reason: Reason) -> Decision {
    Decision {
        worker: chosen.worker.id,
        reason,
        matched_tokens: chosen.belief.matched_tokens(),
        expected_ms: chosen.expected_ms,
        handover: Handover::Now,
    }
}
