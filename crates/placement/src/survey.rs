//! The workers as one request sees them: what each holds, what it would cost there.

use smallvec::SmallVec;

use crate::belief::{Belief, Beliefs, Ground};
use crate::event::WorkerState;
use crate::fleet::Fleet;
use crate::id::At;
use crate::reason::NoWorker;
use crate::rendezvous;
use crate::request::Request;
use crate::settings::{Policy, Settings};
use crate::sought::Sought;
use crate::worker::Worker;

/// Every worker that may get the request, in the order of ids; without a key from the one whose
/// turn it is.
#[derive(Clone, Debug)]
pub(crate) struct Survey<'w> {
    pub(crate) prospects: SmallVec<[Prospect<'w>; 256]>,
    /// By what ties and spills are ordered.
    pub(crate) key: Option<u64>,
    /// Requests for each unit of weight, the new one included, above which a worker has more
    /// than its share.
    pub(crate) share: f64,
}

/// One worker that may get the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect<'w> {
    pub(crate) worker: &'w Worker,
    pub(crate) belief: Belief,
    /// Requests there now.
    pub(crate) in_flight: u32,
    /// The weight that it can bear now.
    pub(crate) bears: f64,
    /// What the request would cost there; only comparable within one decision.
    pub(crate) cost_ms: f64,
    /// Time to the first byte there.
    pub(crate) expected_ms: f64,
    heat: Heat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heat {
    Normal,
    /// Hot, but it holds enough of the prompt.
    Keeps,
    /// Hot, and the prompt would be new to it.
    Barred,
}

impl Prospect<'_> {
    /// Whether it must not get the request because it is hot.
    pub(crate) fn is_barred(&self) -> bool {
        self.heat == Heat::Barred
    }

    /// Requests there for each unit of weight.
    pub(crate) fn queue(&self) -> f64 {
        f64::from(self.in_flight) / self.bears
    }
}

impl<'w> Survey<'w> {
    /// Who of some workers the key prefers; without a key, the first of them.
    pub(crate) fn preferred<'p>(
        &self,
        mut among: impl Iterator<Item = &'p Prospect<'w>>,
    ) -> Option<&'p Prospect<'w>>
    where
        'w: 'p,
    {
        match self.key {
            Some(key) => rendezvous::first(key, among.map(|p| (p.worker.id, p.worker.weight, p))),
            None => among.next(),
        }
    }
}

impl Fleet {
    /// Looks at every worker that may get the request: ready ones or, if there is none, starting
    /// ones; neither tried before nor at the hard cap.
    pub(crate) fn survey<'w>(
        &'w self,
        at: At,
        request: &Request<'_>,
        sought: &Sought<'_>,
    ) -> Result<Survey<'w>, NoWorker> {
        let wanted = self.wanted(request)?;
        let untried = |w: &&Worker| w.state == wanted && is_untried(w, request);
        let mut survey = Survey {
            prospects: SmallVec::new(),
            key: sought.key.filter(|_| self.settings.policy.knows_keys()),
            share: 0.0,
        };
        let (mut requests, mut weights, mut waiting) = (0.0, 0.0, 0.0);
        for worker in self.workers.iter().filter(untried) {
            let prospect = self.unpriced(at, worker);
            if self.is_full(&prospect) {
                continue;
            }
            requests += f64::from(prospect.in_flight);
            weights += worker.weight;
            waiting += f64::from(worker.waiting(at));
            survey.prospects.push(prospect);
        }
        if survey.prospects.is_empty() {
            return Err(NoWorker::Full);
        }
        survey.share = self.settings.fair_share_factor * (requests + 1.0) / weights;
        let mean_waiting = waiting / survey.prospects.len() as f64;
        self.price(at, sought, mean_waiting, &mut survey);
        if survey.key.is_none() {
            let turn = self.turn(survey.prospects.len());
            survey.prospects.rotate_left(turn);
        }
        Ok(survey)
    }

    /// The state of the workers that a request can have: ready if there is one.
    fn wanted(&self, request: &Request<'_>) -> Result<WorkerState, NoWorker> {
        let any = |state: WorkerState| {
            let mut all = self.workers.iter().filter(|w| w.state == state);
            all.any(|w| is_untried(w, request))
        };
        let wanted = [WorkerState::Ready, WorkerState::Starting];
        if let Some(state) = wanted.into_iter().find(|state| any(*state)) {
            return Ok(state);
        }
        let mut states = self.workers.iter().map(|w| w.state);
        Err(if self.workers.is_empty() {
            NoWorker::Empty
        } else if states.any(|state| wanted.contains(&state)) {
            NoWorker::AllTried
        } else {
            NoWorker::NoneReady
        })
    }

    fn is_full(&self, prospect: &Prospect<'_>) -> bool {
        let limit = |cap: u32| f64::from(cap) * prospect.worker.weight;
        let cap = self.settings.hard_cap;
        cap.is_some_and(|cap| f64::from(prospect.in_flight) + 1.0 > limit(cap))
    }

    fn unpriced<'w>(&self, at: At, worker: &'w Worker) -> Prospect<'w> {
        Prospect {
            worker,
            belief: Belief::NOTHING,
            in_flight: worker.in_flight(at),
            bears: worker.weight * worker.ramp(at, &self.settings),
            cost_ms: 0.0,
            expected_ms: 0.0,
            heat: Heat::Normal,
        }
    }

    fn price(&self, at: At, sought: &Sought<'_>, mean_waiting: f64, survey: &mut Survey<'_>) {
        let beliefs = if self.settings.policy.knows_keys() {
            self.beliefs(sought)
        } else {
            Beliefs::new()
        };
        let prior = self.home_prior(sought);
        let home = (prior > 0)
            .then(|| {
                survey
                    .preferred(survey.prospects.iter())
                    .map(|p| p.worker.slot)
            })
            .flatten();
        let factor = self.settings.miss_factor + self.settings.congestion_factor * mean_waiting;
        for prospect in &mut survey.prospects {
            let slot = prospect.worker.slot;
            let belief = beliefs
                .get(slot.index())
                .copied()
                .unwrap_or(Belief::NOTHING);
            prospect.belief = match home == Some(slot) {
                true => belief.or(prior, Ground::Prior),
                false => belief,
            };
            prospect.price(at, sought, factor, &self.settings);
        }
    }
}

impl Prospect<'_> {
    /// `(pending + active) / ramp + (miss + congestion · mean waiting) · prefill of what is
    /// missing`.
    fn price(&mut self, at: At, sought: &Sought<'_>, factor: f64, settings: &Settings) {
        let (worker, held) = (self.worker, self.belief.tokens);
        let pending_ms = worker.pending_ms(at);
        let prefill_ms = worker.prefill.ms(sought.prompt_tokens - held, held);
        let ramp = self.bears / worker.weight;
        let active_ms = settings.active_ms * self.queue();
        self.cost_ms = pending_ms / ramp + active_ms + factor * prefill_ms;
        self.expected_ms = pending_ms + prefill_ms;
        if worker.watermark.is_hot(at, settings) {
            let keeps = settings.hot_keep_share * f64::from(sought.prompt_tokens);
            self.heat = match f64::from(held) >= keeps {
                true => Heat::Keeps,
                false => Heat::Barred,
            };
        }
    }
}

fn is_untried(worker: &Worker, request: &Request<'_>) -> bool {
    request.excluded.is_empty() || !request.excluded.contains(&worker.id)
}

impl Policy {
    /// Whether it looks at what requests have in common.
    pub(crate) const fn knows_keys(self) -> bool {
        matches!(self, Self::Cost | Self::Ring)
    }
}
