//! The workers as one request sees them: what each holds, what it would cost there.

use std::cell::OnceCell;

use smallvec::SmallVec;

use crate::belief::{Belief, Beliefs, Ground};
use crate::board::{CLOSED, Totals};
use crate::event::WorkerState;
use crate::fleet::Fleet;
use crate::gauge::{Gauge, Live};
use crate::id::{At, WorkerId};
use crate::miss::{Miss, Of};
use crate::name::Name;
use crate::reason::NoWorker;
use crate::rendezvous;
use crate::request::Request;
use crate::residency::Slot;
use crate::settings::Policy;
use crate::sought::Sought;

/// Every worker that may get the request, in the order of ids; without a key from the one whose
/// turn it is.
///
/// What it costs is there for all of them; everything else about one is put together when it is
/// asked for. Made in place and handed around by reference: it is large.
#[derive(Debug)]
pub(crate) struct Survey<'w> {
    fleet: &'w Fleet,
    at: At,
    prompt_tokens: u32,
    /// By rank: what the request would cost there, [`CLOSED`] where it must not go. Only
    /// comparable within one decision.
    cost_ms: SmallVec<[f64; 256]>,
    beliefs: Beliefs,
    /// The rank that comes first.
    turn: usize,
    /// How many may get it.
    pub(crate) workers: usize,
    /// By what ties and spills are ordered.
    pub(crate) key: Option<u64>,
    /// Requests for each unit of weight, the new one included, above which a worker has more
    /// than its share.
    pub(crate) share: f64,
    /// Requests without a first byte for each worker.
    mean_waiting: f64,
    /// What counts for a millisecond of prefill.
    miss: Miss,
    /// How many must not get it because they are hot.
    pub(crate) barred: usize,
    /// The first of the cheapest that may get it.
    cheapest: Option<usize>,
    /// The first of those that hold most of the prompt, if any holds any of it.
    fullest: Option<usize>,
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
    /// The weight that it can bear now.
    pub(crate) bears: f64,
    /// What the request would cost there.
    pub(crate) cost_ms: f64,
    /// How long computing what is missing takes there.
    pub(crate) prefill_ms: f64,
    is_barred: bool,
}

impl Prospect<'_> {
    /// Whether it must not get the request because it is hot and does not hold enough of it.
    pub(crate) fn is_barred(&self) -> bool {
        self.is_barred
    }

    /// Requests there for each unit of weight.
    pub(crate) fn queue(&self) -> f64 {
        f64::from(self.in_flight) / self.bears
    }
}

impl<'w> Survey<'w> {
    /// Nobody yet.
    pub(crate) fn new(fleet: &'w Fleet, at: At, sought: &Sought<'_>) -> Self {
        Self {
            fleet,
            at,
            prompt_tokens: sought.prompt_tokens,
            cost_ms: SmallVec::new(),
            beliefs: Beliefs::nothing(fleet.workers.slots()),
            turn: 0,
            workers: 0,
            key: sought.key.filter(|_| fleet.settings.policy.knows_keys()),
            share: 0.0,
            mean_waiting: 0.0,
            miss: fleet.miss(sought),
            barred: 0,
            cheapest: None,
            fullest: None,
            drawn: None,
            home: OnceCell::new(),
        }
    }

    /// Every worker that may get it.
    pub(crate) fn prospects(&self) -> impl Iterator<Item = Prospect<'w>> + Clone {
        self.ranks().filter_map(|rank| self.prospect(rank))
    }

    pub(crate) fn cheapest(&self) -> Option<Prospect<'w>> {
        self.prospect(self.cheapest?)
    }

    pub(crate) fn fullest(&self) -> Option<Prospect<'w>> {
        self.prospect(self.fullest?)
    }

    /// Who has a slot, if it may get it.
    pub(crate) fn with_slot(&self, slot: Slot) -> Option<Prospect<'w>> {
        self.prospect(self.fleet.workers.rank(slot)?)
    }

    /// Whom the key prefers of all.
    pub(crate) fn home(&self) -> Option<Prospect<'w>> {
        self.prospect(self.home_rank()?)
    }

    /// Who of some workers the key prefers; without a key, the first of them.
    pub(crate) fn preferred(
        &self,
        mut among: impl Iterator<Item = Prospect<'w>>,
    ) -> Option<Prospect<'w>> {
        match self.key {
            Some(key) => rendezvous::first(key, among.map(|p| (p.gauge.id, p.gauge.weight, p))),
            None => among.next(),
        }
    }

    /// Those that cost so little, found without a look at the others.
    pub(crate) fn cheap(&self, most_ms: f64) -> impl Iterator<Item = Prospect<'w>> + Clone {
        let costs = self.cost_ms.iter().enumerate();
        let cheap = costs.filter(move |(_, cost_ms)| **cost_ms <= most_ms);
        cheap.filter_map(|(rank, _)| self.prospect(rank))
    }

    pub(crate) fn is_everybody_barred(&self) -> bool {
        self.barred == self.workers
    }

    /// The ranks of those that may get it, first to last.
    fn ranks(&self) -> impl Iterator<Item = usize> + Clone {
        let all = (self.turn..self.cost_ms.len()).chain(0..self.turn);
        all.filter(|rank| self.is_open(*rank))
    }

    fn is_open(&self, rank: usize) -> bool {
        self.cost_ms.get(rank).is_some_and(|ms| *ms < CLOSED)
    }

    fn home_rank(&self) -> Option<usize> {
        let find = || {
            let Some(key) = self.key else {
                return self.ranks().next();
            };
            let gauges = self.fleet.workers.board().gauges().iter().enumerate();
            let open = gauges.filter(|(rank, _)| self.is_open(*rank));
            rendezvous::first(key, open.map(|(rank, g)| (g.id, g.weight, rank)))
        };
        *self.home.get_or_init(find)
    }

    fn prospect(&self, rank: usize) -> Option<Prospect<'w>> {
        let fleet = self.fleet;
        let gauge = fleet.workers.board().gauges().get(rank)?;
        let cost_ms = *self.cost_ms.get(rank).filter(|ms| **ms < CLOSED)?;
        let live = fleet.live(self.at, gauge);
        let belief = self.beliefs.get(gauge.slot);
        Some(Prospect {
            gauge,
            belief,
            in_flight: live.in_flight,
            bears: live.bears,
            cost_ms,
            prefill_ms: self.prefill_ms(gauge, belief),
            is_barred: live.is_hot && !self.is_kept(belief),
        })
    }

    /// Whether a hot worker that holds so much may keep the prompt.
    fn is_kept(&self, belief: Belief) -> bool {
        let keeps = self.fleet.settings.hot_keep_share * f64::from(self.prompt_tokens);
        f64::from(belief.tokens) >= keeps
    }

    fn prefill_ms(&self, gauge: &Gauge, belief: Belief) -> f64 {
        let held = belief.tokens;
        gauge.prefill.ms(self.prompt_tokens - held, held)
    }

    /// `(sent + active + what waits and comes before it) / ramp + factor
    /// · prefill of what is missing + what waiting for memory costs`.
    fn price(&self, gauge: &Gauge, live: &Live) -> f64 {
        let prefill_ms = self.prefill_ms(gauge, self.beliefs.get(gauge.slot));
        let ahead_ms = gauge.ahead.of(prefill_ms) * gauge.weight / live.bears;
        let tokens = f64::from(self.prompt_tokens.max(1));
        let memory_ms = gauge.room.price_ms(self.fleet.stay.price_ms(), tokens);
        // In the order of operations of all those who hold nothing, to the last bit.
        let waiting = f64::from(gauge.live_then().waiting);
        let factor = self.miss.factor(self.mean_waiting, waiting);
        live.queue_ms + (ahead_ms + (factor + gauge.evicts) * prefill_ms) + memory_ms
    }
}

impl Fleet {
    /// Looks at every worker that may get the request: ready ones or, if there is none, starting
    /// ones; neither tried before nor at the hard cap.
    pub(crate) fn survey<'w>(
        &'w self,
        request: &Request<'_>,
        sought: &Sought<'_>,
        survey: &mut Survey<'w>,
    ) -> Result<(), NoWorker> {
        let totals = self.queues(request, survey)?;
        if totals.workers == 0 {
            return Err(NoWorker::Full);
        }
        survey.workers = totals.workers;
        let requests = totals.requests as f64 + 1.0;
        survey.share = self.settings.fair_share_factor * requests / totals.weights;
        survey.mean_waiting = totals.waiting as f64 / totals.workers as f64;
        if survey.key.is_none() {
            let turn = self.turn(totals.workers);
            let first = survey.ranks().nth(turn);
            survey.turn = first.unwrap_or(0);
        }
        self.believe(sought, survey);
        self.price(totals, survey);
        self.draw(sought, survey);
        self.choose_from(totals, survey);
        Ok(())
    }

    /// What a millisecond of prefill counts for, for this request.
    pub(crate) fn miss(&self, sought: &Sought<'_>) -> Miss {
        // Beside other routers it may be known elsewhere.
        let may_be_new = self.settings.routers == 1 && sought.echo.is_none();
        let is_new = sought.conversation.is_some_and(|key| {
            let holders = self.residency.holders(Name::session(key));
            may_be_new && holders.is_empty()
        });
        Miss {
            of: match is_new {
                true => Of::All,
                false => Of::One,
            },
            alone: self.settings.miss_factor,
            crowd: self.settings.congestion_factor,
        }
    }

    /// Fills in what everybody's queue costs and sums up who may get the request.
    fn queues(&self, request: &Request<'_>, survey: &mut Survey<'_>) -> Result<Totals, NoWorker> {
        let board = self.workers.board();
        let totals = board.totals();
        let is_plain = request.excluded.is_empty() && self.settings.hard_cap.is_none();
        if !is_plain || totals.workers == 0 {
            return self.queues_of_some(request, survey);
        }
        let columns = board.columns();
        survey.cost_ms.extend_from_slice(&columns.queue_ms);
        let mut totals = totals;
        for (rank, until) in columns.until.iter().enumerate() {
            if *until < survey.at
                && let (Some(gauge), Some(cost_ms)) =
                    (board.gauges().get(rank), survey.cost_ms.get_mut(rank))
            {
                let live = self.look(survey.at, gauge.slot);
                totals.replace(gauge.live_then(), &live);
                *cost_ms = live.queue_ms;
            }
        }
        Ok(totals)
    }

    /// The same where it depends on the request or on the queue who may get it.
    #[cold]
    fn queues_of_some(
        &self,
        request: &Request<'_>,
        survey: &mut Survey<'_>,
    ) -> Result<Totals, NoWorker> {
        let wanted = self.wanted(request)?;
        let mut totals = Totals::default();
        for gauge in self.workers.board().gauges() {
            let live = self.live(survey.at, gauge);
            let is_open = gauge.state == wanted
                && is_untried(gauge.id, request)
                && !self.is_full(gauge.weight, live.in_flight);
            if is_open {
                totals.add(gauge, &live);
            }
            survey
                .cost_ms
                .push(if is_open { live.queue_ms } else { CLOSED });
        }
        Ok(totals)
    }

    /// The state of the workers that a request can have: ready if there is one.
    fn wanted(&self, request: &Request<'_>) -> Result<WorkerState, NoWorker> {
        let gauges = self.workers.board().gauges();
        let any = |state: WorkerState| {
            let mut all = gauges.iter().filter(|w| w.state == state);
            all.any(|w| is_untried(w.id, request))
        };
        let wanted = [WorkerState::Ready, WorkerState::Starting];
        if let Some(state) = wanted.into_iter().find(|state| any(*state)) {
            return Ok(state);
        }
        let mut states = gauges.iter().map(|w| w.state);
        Err(if self.workers.is_empty() {
            NoWorker::Empty
        } else if states.any(|state| wanted.contains(&state)) {
            NoWorker::AllTried
        } else {
            NoWorker::NoneReady
        })
    }

    fn live(&self, at: At, gauge: &Gauge) -> Live {
        match gauge.live(at) {
            Some(live) => *live,
            None => self.look(at, gauge.slot),
        }
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

    fn believe(&self, sought: &Sought<'_>, survey: &mut Survey<'_>) {
        if self.settings.policy.knows_keys() {
            self.beliefs(sought, &mut survey.beliefs);
        }
        let prior = self.home_prior(sought);
        if prior > 0
            && let Some(home) = survey.home()
        {
            survey.beliefs.raise(home.gauge.slot, prior, Ground::Prior);
        }
    }

    /// Adds what the prompt costs to what the queue costs.
    fn price(&self, totals: Totals, survey: &mut Survey<'_>) {
        let columns = self.workers.board().columns();
        // For those who hold nothing and have nothing waiting: as `PrefillModel::ms`, in an order
        // of operations that gives the same to the last bit.
        let tokens = f64::from(survey.prompt_tokens.max(1));
        let (miss, mean_waiting) = (survey.miss, survey.mean_waiting);
        let fixed_and_token = columns.fixed_ms.iter().zip(&columns.token_ms);
        let evicts_and_waiting = columns.evicts.iter().zip(&columns.waiting);
        let prefill = fixed_and_token.zip(columns.pair_ms.iter().zip(evicts_and_waiting));
        for (cost_ms, ((fixed_ms, token_ms), (pair_ms, (evicts, waiting)))) in
            survey.cost_ms.iter_mut().zip(prefill)
        {
            let factor = miss.factor(mean_waiting, *waiting);
            let prefill_ms = fixed_ms + token_ms * tokens + pair_ms * tokens * (tokens / 2.0);
            *cost_ms += (factor + evicts) * prefill_ms;
        }
        let stay_ms = self.stay.price_ms();
        if stay_ms > 0.0 {
            for (cost_ms, room) in survey.cost_ms.iter_mut().zip(&columns.room) {
                *cost_ms += room.price_ms(stay_ms, tokens);
            }
        }
        if totals.holding > 0 {
            let gauges = self.workers.board().gauges().iter().enumerate();
            for (rank, gauge) in gauges.filter(|(_, gauge)| gauge.holds) {
                self.reprice(rank, gauge, survey);
            }
        }
        for at in 0..survey.beliefs.holders().len() {
            let slot = survey.beliefs.holders().get(at).copied();
            let rank = slot.and_then(|slot| self.workers.rank(slot));
            let gauge = rank.and_then(|rank| self.workers.board().gauges().get(rank));
            if let (Some(rank), Some(gauge)) = (rank, gauge) {
                self.reprice(rank, gauge, survey);
            }
        }
    }

    fn reprice(&self, rank: usize, gauge: &Gauge, survey: &mut Survey<'_>) {
        if survey.is_open(rank) {
            let price_ms = survey.price(gauge, &self.live(survey.at, gauge));
            if let Some(cost_ms) = survey.cost_ms.get_mut(rank) {
                *cost_ms = price_ms;
            }
        }
    }

    /// Makes the home of a displaced conversation cheaper.
    fn draw(&self, sought: &Sought<'_>, survey: &mut Survey<'_>) {
        if survey.key.is_none() || !self.may_draw(survey.at, sought) {
            return;
        }
        let Some((rank, home)) = survey.home_rank().zip(survey.home()) else {
            return;
        };
        let draw_ms = self.draw_ms(survey.at, sought, home.gauge.slot);
        if draw_ms > 0.0
            && let Some(cost_ms) = survey.cost_ms.get_mut(rank)
        {
            *cost_ms -= draw_ms;
            survey.drawn = Some(home.gauge.slot);
        }
    }

    /// Finds the cheapest and the fullest.
    fn choose_from(&self, totals: Totals, survey: &mut Survey<'_>) {
        if totals.hot > 0 {
            let is_barred = |p: &Prospect<'_>| p.is_barred();
            survey.barred = survey.prospects().filter(is_barred).count();
        }
        let is_open = |rank: usize| {
            survey.barred == 0 || survey.prospect(rank).is_some_and(|p| !p.is_barred())
        };
        let (mut least_ms, mut cheapest) = (CLOSED, None);
        let (before, after) = survey
            .cost_ms
            .split_at(survey.turn.min(survey.cost_ms.len()));
        for (offset, costs) in [(survey.turn, after), (0, before)] {
            for (at, cost_ms) in costs.iter().enumerate() {
                if *cost_ms < least_ms && is_open(offset + at) {
                    (least_ms, cheapest) = (*cost_ms, Some(offset + at));
                }
            }
        }
        let workers = survey.cost_ms.len();
        // How far behind the first one.
        let place = |rank: usize| (rank + workers - survey.turn) % workers;
        let holders = survey.beliefs.holders().iter();
        let holders = holders.filter_map(|slot| {
            let rank = self.workers.rank(*slot)?;
            Some((rank, survey.beliefs.get(*slot).tokens))
        });
        let open = holders.filter(|(rank, _)| survey.is_open(*rank));
        let fullest = open.min_by_key(|(rank, tokens)| (std::cmp::Reverse(*tokens), place(*rank)));
        (survey.cheapest, survey.fullest) = (cheapest, fullest.map(|(rank, _)| rank));
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
