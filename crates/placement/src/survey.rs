//! The workers as one request sees them: what each holds, what it would cost there.

use std::cell::OnceCell;

use smallvec::SmallVec;

use crate::belief::{Belief, Beliefs, Ground};
use crate::event::WorkerState;
use crate::fleet::Fleet;
use crate::gauge::{Gauge, Live};
use crate::id::{At, WorkerId};
use crate::reason::NoWorker;
use crate::rendezvous;
use crate::request::Request;
use crate::residency::Slot;
use crate::settings::{Policy, Settings};
use crate::sought::Sought;

/// Every worker that may get the request, in the order of ids; without a key from the one whose
/// turn it is.
///
/// Made in place and handed around by reference: it is large.
#[derive(Debug)]
pub(crate) struct Survey<'w> {
    pub(crate) prospects: SmallVec<[Prospect<'w>; 256]>,
    /// By what ties and spills are ordered.
    pub(crate) key: Option<u64>,
    /// Requests for each unit of weight, the new one included, above which a worker has more
    /// than its share.
    pub(crate) share: f64,
    /// How many must not get it because they are hot.
    pub(crate) barred: usize,
    /// The first of the cheapest that may get it.
    pub(crate) cheapest: Option<usize>,
    /// The first of those that hold most of the prompt, if any holds any of it.
    pub(crate) fullest: Option<usize>,
    /// The home of a conversation that went elsewhere while it was away.
    pub(crate) drawn: Option<Slot>,
    /// Where the key's home is, once somebody has asked.
    home: OnceCell<Option<usize>>,
}

/// One worker that may get the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect<'w> {
    pub(crate) gauge: &'w Gauge,
    pub(crate) belief: Belief,
    /// Requests there now.
    pub(crate) in_flight: u32,
    heat: Heat,
    /// The weight that it can bear now.
    pub(crate) bears: f64,
    /// What the request would cost there; only comparable within one decision.
    pub(crate) cost_ms: f64,
    /// How long computing what is missing takes there.
    pub(crate) prefill_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heat {
    Normal,
    /// Hot, and the prompt would be new to it.
    Barred,
}

impl Prospect<'_> {
    /// Whether it must not get the request because it is hot and does not hold enough of it.
    pub(crate) fn is_barred(&self) -> bool {
        self.heat == Heat::Barred
    }

    /// Requests there for each unit of weight.
    pub(crate) fn queue(&self) -> f64 {
        f64::from(self.in_flight) / self.bears
    }
}

impl<'w> Survey<'w> {
    /// Nobody yet.
    pub(crate) fn new(sought: &Sought<'_>, policy: Policy) -> Self {
        Self {
            prospects: SmallVec::new(),
            key: sought.key.filter(|_| policy.knows_keys()),
            share: 0.0,
            barred: 0,
            cheapest: None,
            fullest: None,
            drawn: None,
            home: OnceCell::new(),
        }
    }

    /// Whom the key prefers of all.
    pub(crate) fn home(&self) -> Option<&Prospect<'w>> {
        let find = || match self.key {
            Some(key) => {
                let all = self.prospects.iter().enumerate();
                rendezvous::first(key, all.map(|(at, p)| (p.gauge.id, p.gauge.weight, at)))
            }
            None => Some(0),
        };
        self.prospects.get((*self.home.get_or_init(find))?)
    }

    /// Who of some workers the key prefers; without a key, the first of them.
    pub(crate) fn preferred<'p>(
        &self,
        mut among: impl Iterator<Item = &'p Prospect<'w>>,
    ) -> Option<&'p Prospect<'w>>
    where
        'w: 'p,
    {
        match self.key {
            Some(key) => rendezvous::first(key, among.map(|p| (p.gauge.id, p.gauge.weight, p))),
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
        survey: &mut Survey<'w>,
    ) -> Result<(), NoWorker> {
        let wanted = self.wanted(request)?;
        let (mut requests, mut weights, mut waiting) = (0_u64, 0.0, 0_u64);
        for gauge in self.workers.gauges() {
            if gauge.state != wanted || !is_untried(gauge.id, request) {
                continue;
            }
            let anew;
            let live = match gauge.live(at) {
                Some(live) => live,
                None => {
                    anew = self.look(at, gauge.slot);
                    &anew
                }
            };
            if self.is_full(gauge.weight, live.in_flight) {
                continue;
            }
            requests += u64::from(live.in_flight);
            weights += gauge.weight;
            waiting += u64::from(live.waiting);
            survey.prospects.push(Prospect {
                gauge,
                belief: Belief::NOTHING,
                in_flight: live.in_flight,
                // Until it turns out to hold enough.
                heat: if live.is_hot {
                    Heat::Barred
                } else {
                    Heat::Normal
                },
                bears: live.bears,
                cost_ms: live.queue_ms,
                prefill_ms: 0.0,
            });
        }
        if survey.prospects.is_empty() {
            return Err(NoWorker::Full);
        }
        survey.share = self.settings.fair_share_factor * (requests as f64 + 1.0) / weights;
        let mean_waiting = waiting as f64 / survey.prospects.len() as f64;
        if survey.key.is_none() {
            let turn = self.turn(survey.prospects.len());
            survey.prospects.rotate_left(turn);
        }
        self.price(at, sought, mean_waiting, survey);
        Ok(())
    }

    /// The state of the workers that a request can have: ready if there is one.
    fn wanted(&self, request: &Request<'_>) -> Result<WorkerState, NoWorker> {
        let any = |state: WorkerState| {
            let mut all = self.workers.gauges().iter().filter(|w| w.state == state);
            all.any(|w| is_untried(w.id, request))
        };
        let wanted = [WorkerState::Ready, WorkerState::Starting];
        if let Some(state) = wanted.into_iter().find(|state| any(*state)) {
            return Ok(state);
        }
        let mut states = self.workers.gauges().iter().map(|w| w.state);
        Err(if self.workers.is_empty() {
            NoWorker::Empty
        } else if states.any(|state| wanted.contains(&state)) {
            NoWorker::AllTried
        } else {
            NoWorker::NoneReady
        })
    }

    /// How a worker is now that time alone has changed.
    #[cold]
    fn look(&self, at: At, slot: Slot) -> Live {
        let settings = &self.settings;
        let worker = self.workers.at(slot);
        worker.map_or(Live::NOTHING, |worker| Live::of(worker, at, settings))
    }

    #[inline]
    fn is_full(&self, weight: f64, in_flight: u32) -> bool {
        let over = |cap: u32| f64::from(in_flight) + 1.0 > f64::from(cap) * weight;
        self.settings.hard_cap.is_some_and(over)
    }

    fn price(&self, at: At, sought: &Sought<'_>, mean_waiting: f64, survey: &mut Survey<'_>) {
        let mut beliefs = Beliefs::nothing(self.workers.slots());
        if self.settings.policy.knows_keys() {
            self.beliefs(sought, &mut beliefs);
        }
        let prior = self.home_prior(sought);
        if prior > 0
            && let Some(home) = survey.home()
        {
            beliefs.raise(home.gauge.slot, prior, Ground::Prior);
        }
        let factor = self.settings.miss_factor + self.settings.congestion_factor * mean_waiting;
        self.draw(at, sought, survey);
        let (mut least_ms, mut most) = (f64::INFINITY, 0);
        for (place, prospect) in survey.prospects.iter_mut().enumerate() {
            prospect.belief = beliefs.get(prospect.gauge.slot);
            prospect.price(sought, factor, &self.settings);
            if prospect.is_barred() {
                survey.barred += 1;
            } else if prospect.cost_ms < least_ms {
                (least_ms, survey.cheapest) = (prospect.cost_ms, Some(place));
            }
            if prospect.belief.tokens > most {
                (most, survey.fullest) = (prospect.belief.tokens, Some(place));
            }
        }
    }
}

impl Fleet {
    /// Makes the home of a displaced conversation cheaper.
    fn draw(&self, at: At, sought: &Sought<'_>, survey: &mut Survey<'_>) {
        if survey.key.is_none() || !self.is_drawing(at) {
            return;
        }
        let draw_ms = |home: &Prospect<'_>| self.draw_ms(at, sought, home.gauge.slot);
        let draw_ms = survey.home().map_or(0.0, draw_ms);
        let home = survey.home.get().copied().flatten();
        if draw_ms > 0.0
            && let Some(home) = home.and_then(|place| survey.prospects.get_mut(place))
        {
            home.cost_ms -= draw_ms;
            survey.drawn = Some(home.gauge.slot);
        }
    }
}

impl Prospect<'_> {
    /// `(sent + active + what waits and comes before it) / ramp + (miss + congestion · mean waiting)
    /// · prefill of what is missing`, of which the first two are there already.
    #[inline]
    fn price(&mut self, sought: &Sought<'_>, factor: f64, settings: &Settings) {
        let held = self.belief.tokens;
        self.prefill_ms = self.gauge.prefill.ms(sought.prompt_tokens - held, held);
        let ahead_ms = self.gauge.ahead.of(self.prefill_ms);
        self.cost_ms += ahead_ms * self.gauge.weight / self.bears + factor * self.prefill_ms;
        if self.heat == Heat::Barred {
            let keeps = settings.hot_keep_share * f64::from(sought.prompt_tokens);
            if f64::from(held) >= keeps {
                self.heat = Heat::Normal;
            }
        }
    }
}

#[inline]
fn is_untried(worker: WorkerId, request: &Request<'_>) -> bool {
    request.excluded.is_empty() || !request.excluded.contains(&worker)
}

impl Policy {
    /// Whether it looks at what requests have in common.
    pub(crate) const fn knows_keys(self) -> bool {
        matches!(self, Self::Cost | Self::Ring)
    }
}
