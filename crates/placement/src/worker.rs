//! What is known of one worker: who it is, what it has to do, what its engine says.

use std::time::Duration;

use headwater_signature::RouteTag;

use crate::backlog::Backlog;
use crate::cost::PrefillModel;
use crate::crowd::Crowd;
use crate::event::{Report, WorkerState};
use crate::flight::Flight;
use crate::homecoming::Return;
use crate::id::{At, Generation, WorkerId};
use crate::late::Lateness;
use crate::memory::Memory;
use crate::rate::{Rate, Sample};
use crate::residency::{Slot, Stamp, UNIT, Wear};
use crate::settings::Settings;
use crate::turnover::Turnover;
use crate::watermark::Watermark;

/// One worker. What every decision reads comes first.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) slot: Slot,
    pub(crate) state: WorkerState,
    /// Positive and finite.
    pub(crate) weight: f64,
    /// Our own requests.
    pub(crate) own: Load,
    others: Others,
    /// What else lies ahead there, where reports do not say it.
    pub(crate) late: Lateness,
    pub(crate) crowd: Crowd,
    pub(crate) turnover: Turnover,
    pub(crate) memory: Memory,
    /// What prefill costs here, as far as it has been learned.
    pub(crate) prefill: PrefillModel,
    pub(crate) watermark: Watermark,
    /// Since when it has been working itself up to its full share.
    ramp_from: Option<At>,
    /// What a client echoes to come back here.
    pub(crate) tag: RouteTag,
    sent_tokens: u64,
    /// Tokens of our own requests that have been prefilled.
    prefilled_tokens: u64,
    foreign: Foreign,
    limit_units: u32,
    /// Counts the lives of whatever had this slot: what began in another one warms no cache here.
    pub(crate) life: u32,
    pub(crate) ready_since: Option<At>,
    /// When it came to a fleet that served already.
    pub(crate) returned: Option<Return>,
    cache_tokens: Option<u64>,
    /// Factor on the size of the cache, learned from what the engine says it had found.
    cache_factor: f64,
    /// Prefixes that should have been there in a row, and were not.
    pub(crate) surprises: u8,
    rate: Rate,
    pub(crate) generation: Generation,
    pub(crate) report: Option<(At, Report)>,
    pub(crate) name: String,
}

/// The requests that this fleet has sent to a worker and that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) in_flight: u32,
    /// Those without a first byte, with their uncached tokens and expected prefill.
    pub(crate) waiting: u32,
    pub(crate) uncached_tokens: u64,
    pub(crate) pending_us: u64,
    /// Requests that wait for it at the caller.
    pub(crate) held: Backlog,
}

/// What a worker had to do beyond our own requests when it last reported.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    at: At,
    until: At,
    in_flight: u32,
    waiting: u32,
    pending_ms: f64,
    /// Milliseconds of a token of that.
    token_ms: f64,
    /// Milliseconds of our own prefill that it has done since.
    own_done_ms: f64,
}

impl Others {
    /// Milliseconds of their prefill that are left, if it has worked all the time since.
    fn left_ms(&self, at: At) -> f64 {
        let passed_ms = at.since(self.at).as_secs_f64() * 1_000.0;
        let worked_ms = (passed_ms - self.own_done_ms).max(0.0);
        (self.pending_ms - worked_ms).max(0.0)
    }
}

/// What it has computed beyond our own requests, since it was first heard of.
#[derive(Clone, Copy, Debug, Default)]
struct Foreign {
    tokens: u64,
    /// Those of them that the table has been told of.
    told: u64,
    /// The engine's own count when it last reported, less our own and `tokens`.
    base: Option<i128>,
    last_computed: u64,
}

impl Foreign {
    /// Takes the engine's count. A count that falls begins anew.
    fn take(&mut self, computed: u64, own: u64) {
        let beyond = i128::from(computed) - i128::from(own);
        let base = self.base.filter(|_| computed >= self.last_computed);
        let base = base.unwrap_or(beyond - i128::from(self.tokens));
        // What we believe to be prefilled may be a step ahead of the engine's count.
        let tokens = u64::try_from(beyond - base).unwrap_or(0);
        *self = Self {
            tokens: tokens.max(self.tokens),
            base: Some(base),
            last_computed: computed,
            ..*self
        };
    }
}

/// What a request's prefill is lately, on an average over some 16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typical {
    pub(crate) ms: f64,
    tokens: f64,
}

impl Typical {
    pub(crate) fn new(tokens: u32, ms: f64) -> Self {
        let tokens = f64::from(tokens.max(1));
        Self { ms, tokens }
    }

    pub(crate) fn note(&mut self, tokens: u32, ms: f64) {
        self.ms += (ms - self.ms) / 16.0;
        self.tokens += (f64::from(tokens.max(1)) - self.tokens) / 16.0;
    }

    /// Milliseconds of each token of it, attention included.
    fn token_ms(self) -> f64 {
        self.ms / self.tokens
    }
}

impl Worker {
    pub(crate) fn new(id: WorkerId, slot: Slot, name: &str, settings: &Settings) -> Self {
        let generation = Generation::default();
        let mut worker = Self {
            id,
            slot,
            state: WorkerState::Starting,
            weight: 1.0,
            own: Load::default(),
            others: Others::default(),
            late: Lateness::default(),
            crowd: Crowd::default(),
            turnover: Turnover::default(),
            memory: Memory::default(),
            prefill: settings.prefill,
            watermark: Watermark::default(),
            ramp_from: None,
            tag: RouteTag::of(name, generation.started),
            sent_tokens: 0,
            prefilled_tokens: 0,
            foreign: Foreign::default(),
            limit_units: 0,
            life: 0,
            ready_since: None,
            returned: None,
            cache_tokens: None,
            cache_factor: 1.0,
            surprises: 0,
            rate: Rate::OWN,
            generation,
            report: None,
            name: name.to_owned(),
        };
        worker.set_limit(settings);
        worker
    }

    pub(crate) fn reweigh(&mut self, weight: f64, common: &Rate, settings: &Settings) {
        let weight = sound_weight(weight);
        if weight.to_bits() != self.weight.to_bits() {
            self.weight = weight;
            self.rate = Rate::OWN;
        }
        self.reprice(common, settings);
    }

    /// Begins another life: an empty cache, and nothing reported of it yet. Our own requests
    /// stay counted until the caller says how each of them ended.
    pub(crate) fn restart(&mut self, generation: Generation, settings: &Settings) {
        self.generation = generation;
        self.tag = RouteTag::of(&self.name, generation.started);
        self.watermark = Watermark::default();
        self.report = None;
        self.others = Others::default();
        self.late = Lateness::default();
        self.crowd = Crowd::default();
        self.turnover = Turnover::default();
        self.foreign.base = None;
        self.life = self.life.wrapping_add(1);
        self.cache_tokens = None;
        self.cache_factor = 1.0;
        self.surprises = 0;
        self.set_limit(settings);
    }

    /// Takes what the engine says; a value that cannot be is one that is missing. A waiting
    /// request of others counts as a typical one if the engine does not say how much it has.
    pub(crate) fn take(&mut self, at: At, report: Report, typical: Typical, settings: &Settings) {
        let kv_use = report.kv_use.filter(|kv| (0.0..=1.0).contains(kv));
        let cache_tokens = report.cache_tokens.filter(|tokens| *tokens > 0);
        self.report = Some((
            at,
            Report {
                kv_use,
                cache_tokens,
                ..report
            },
        ));
        if let Some(kv_use) = kv_use {
            self.watermark.sample(at, kv_use, settings);
        }
        if cache_tokens.is_some() && cache_tokens != self.cache_tokens {
            self.cache_tokens = cache_tokens;
            self.set_limit(settings);
        }
        if let (Some(kv_use), Some(size)) = (kv_use, self.cache_tokens) {
            self.memory.told(kv_use, size);
        }
        if let Some(computed) = report.computed_tokens {
            self.foreign.take(computed, self.prefilled_tokens);
        }
        if report.running.is_some() || report.waiting.is_some() || report.pending_tokens.is_some() {
            self.others = self.beyond_own(at, report, typical, settings);
        }
    }

    /// Our own come and go between reports and are counted exactly, so only what exceeds them
    /// is kept.
    fn beyond_own(&self, at: At, report: Report, typical: Typical, settings: &Settings) -> Others {
        let waiting = report.waiting.unwrap_or(0);
        let all = report.running.unwrap_or(0).saturating_add(waiting);
        let waiting = waiting.saturating_sub(self.own.waiting);
        let pending_ms = match report.pending_tokens {
            Some(tokens) => {
                let tokens = tokens.saturating_sub(self.own.uncached_tokens);
                tokens as f64 * typical.token_ms()
            }
            None => f64::from(waiting) * typical.ms,
        };
        Others {
            at,
            until: at.after(settings.stale_after),
            in_flight: all.saturating_sub(self.own.in_flight),
            waiting,
            pending_ms: pending_ms.min(HOUR_MS),
            token_ms: typical.token_ms(),
            own_done_ms: 0.0,
        }
    }

    /// Whether it has told lately what everybody has there.
    pub(crate) fn is_heard(&self, at: At) -> bool {
        at < self.others.until
    }

    /// Requests there: our own, held ones too, and others' while the report of them is fresh.
    pub(crate) fn in_flight(&self, at: At) -> u32 {
        let own = self.own.in_flight.saturating_add(self.own.held.requests());
        own.saturating_add(self.others(at).in_flight)
    }

    /// Requests there that wait for their first byte, likewise.
    pub(crate) fn waiting(&self, at: At) -> u32 {
        let own = self.own.waiting.saturating_add(self.own.held.requests());
        own.saturating_add(self.others(at).waiting)
    }

    /// Those of them that wait for prefill and not for room in its memory.
    pub(crate) fn prefilling(&self, at: At) -> u32 {
        let waiting = self.waiting(at);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a count"
        )]
        let blocked = (f64::from(self.own.waiting) * self.memory.blocked(self.cache_tokens)) as u32;
        waiting - blocked
    }

    /// Milliseconds of prefill there, likewise.
    pub(crate) fn pending_ms(&self, at: At) -> f64 {
        self.own.held.total_us() as f64 / 1_000.0 + self.sent_ms(at)
    }

    /// The same without what waits at the caller.
    pub(crate) fn sent_ms(&self, at: At) -> f64 {
        self.own.pending_us as f64 / 1_000.0 + self.others_ms(at)
    }

    /// Milliseconds of others' prefill, as it last reported or, where it reports none, as the times
    /// of our own answers tell.
    fn others_ms(&self, at: At) -> f64 {
        match self.is_heard(at) {
            true => self.others.left_ms(at),
            false => self.late.ms(at),
        }
    }

    /// Tokens that others have put into its cache and that the table has not been told of, once
    /// they are enough to matter.
    pub(crate) fn crowding(&mut self) -> Option<u32> {
        let new = self.foreign.tokens - self.foreign.told;
        if new == 0 || new < self.wear().room() / FEW {
            return None;
        }
        self.foreign.told = self.foreign.tokens;
        Some(u32::try_from(new).unwrap_or(u32::MAX))
    }

    /// Whether others have it compute a tenth as much as we do, or more.
    pub(crate) fn has_foreign_work(&self) -> bool {
        self.foreign.tokens > self.prefilled_tokens / 10
    }

    /// Tokens that are there to be prefilled: our own, and what others had when it last reported
    /// and it cannot have done since.
    pub(crate) fn pending_tokens(&self, at: At) -> f64 {
        let others_tokens = self.others(at).left_ms(at) / self.others.token_ms.max(1e-6);
        self.own.uncached_tokens as f64 + others_tokens
    }

    /// When [`Self::pending_tokens`] falls below so many with no event before; nothing if they
    /// do not for what others have there.
    pub(crate) fn below_at(&self, tokens: f64) -> Option<At> {
        let others = &self.others;
        let room_ms = (tokens - self.own.uncached_tokens as f64) * others.token_ms;
        let work_ms = others.pending_ms + others.own_done_ms - room_ms;
        let waits = room_ms > 0.0 && work_ms > 0.0;
        waits.then(|| {
            // A moment later, so that rounding does not make it one too early.
            let passed = Duration::from_secs_f64(work_ms.min(HOUR_MS) / 1_000.0) + MOMENT;
            others.at.after(passed).min(others.until.after(MOMENT))
        })
    }

    /// Tokens of its KV memory, if its engine has told.
    pub(crate) fn cache_tokens(&self) -> Option<u64> {
        self.cache_tokens
    }

    /// Tokens that its cache has room for.
    pub(crate) fn room(&self) -> f64 {
        (u64::from(self.limit_units) * UNIT) as f64
    }

    /// What each request that is there costs a new one beside its prefill, in milliseconds.
    pub(crate) fn active_ms(&self, settings: &Settings) -> f64 {
        settings.active_ms.max(self.crowd.each_ms())
    }

    /// How far its cache has been overwritten.
    pub(crate) fn wear(&self) -> Wear {
        #[expect(clippy::cast_possible_truncation, reason = "a stamp wraps")]
        let now = Stamp((self.sent_tokens.saturating_add(self.foreign.tokens) / UNIT) as u32);
        let limit = self.limit_units;
        Wear { now, limit }
    }

    /// The share of its weight that it can bear now: less than 1 for a while after a cold start.
    pub(crate) fn ramp(&self, at: At, settings: &Settings) -> f64 {
        let Some(from) = self.ramp_from else {
            return 1.0;
        };
        let whole = settings.slow_start.as_secs_f64();
        let passed = at.since(from).as_secs_f64();
        if passed >= whole {
            return 1.0;
        }
        FIRST_SHARE + (1.0 - FIRST_SHARE) * passed / whole
    }

    /// Until when nothing about it changes without an event, if it is as at `at`.
    pub(crate) fn unchanged_until(&self, at: At, settings: &Settings) -> At {
        if self.ramp(at, settings) < 1.0 {
            return At::default();
        }
        let mut until = At::from_micros(u64::MAX);
        if self.others_ms(at) > 0.0 || !self.is_heard(at) && self.late.is_any() {
            return At::default();
        }
        if at <= self.others.until {
            until = until.min(self.others.until);
        }
        self.watermark
            .hot_until(at, settings)
            .map_or(until, |hot| hot.min(until))
    }

    /// Begins to serve: at once, or slowly beside others that are warm.
    pub(crate) fn begin_serving(&mut self, at: At, beside: Beside) {
        self.ready_since = Some(at);
        self.ramp_from = match beside {
            Beside::Warm => Some(at),
            Beside::Nobody => None,
        };
    }

    /// A request begins here.
    pub(crate) fn begin(&mut self, prompt_tokens: u32, uncached_tokens: u32, pending_us: u64) {
        self.memory.sent(prompt_tokens);
        self.sent_tokens = self.sent_tokens.saturating_add(u64::from(uncached_tokens));
        self.own.in_flight += 1;
        self.own.waiting += 1;
        self.own.uncached_tokens += u64::from(uncached_tokens);
        self.own.pending_us += pending_us;
    }

    /// Its prompt has been prefilled, or never will be.
    pub(crate) fn prefilled(&mut self, flight: &Flight) {
        let (uncached_tokens, pending_us) = (flight.uncached_tokens, flight.pending_us);
        self.memory.began(flight.prompt_tokens());
        self.own.waiting -= 1;
        self.own.uncached_tokens -= u64::from(uncached_tokens);
        self.own.pending_us -= pending_us;
        self.others.own_done_ms += pending_us as f64 / 1_000.0;
        let prefilled = self
            .prefilled_tokens
            .saturating_add(u64::from(uncached_tokens));
        self.prefilled_tokens = prefilled;
    }

    /// It is over, after having been prefilled.
    pub(crate) fn end(&mut self, flight: &Flight) {
        self.memory.ended(flight.prompt_tokens());
        self.own.in_flight -= 1;
    }

    /// Learns how fast it prefills, beside what all do.
    pub(crate) fn timed(&mut self, sample: Sample, common: &mut Rate, settings: &Settings) {
        let ordinary = common.at_weight(self.weight).applied(&settings.prefill);
        self.rate.learn(&ordinary, sample, settings.max_drift);
        let of_weight_1 = Sample {
            measured_ms: sample.measured_ms * self.weight,
            ..sample
        };
        common.learn(&settings.prefill, of_weight_1, settings.max_drift);
    }

    /// Takes what prefill costs here from what is known by now.
    pub(crate) fn reprice(&mut self, common: &Rate, settings: &Settings) {
        let rate = common.with_own(&self.rate, settings.max_drift);
        self.prefill = rate.at_weight(self.weight).applied(&settings.prefill);
    }

    /// A prefix was found gone within the limit, or still there beyond it.
    pub(crate) fn cache_holds(&mut self, found: Found, settings: &Settings) {
        let toward = match found {
            Found::Gone => 0.9,
            Found::Kept => 1.1,
        };
        self.cache_factor = (self.cache_factor * toward).clamp(1.0 / 8.0, 4.0);
        self.set_limit(settings);
    }

    fn set_limit(&mut self, settings: &Settings) {
        let cache = self.cache_tokens.unwrap_or(settings.cache_tokens_default) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let units = (cache * settings.fresh_share * self.cache_factor) as u64 / UNIT;
        self.limit_units = u32::try_from(units).unwrap_or(u32::MAX / 2).max(1);
    }

    fn others(&self, at: At) -> Others {
        if at <= self.others.until {
            self.others
        } else {
            Others::default()
        }
    }
}

/// What serves already when a worker begins to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Others that have served for a while.
    Warm,
    /// Nobody, or others that are as new.
    Nobody,
}

/// What the engine's word says of the size of its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A prefix that was believed to be there was not.
    Gone,
    /// One that was believed to be gone was there.
    Kept,
}

/// Others' tokens are entered in parts of the cache of about one in so many, so that they take
/// few places of the table.
const FEW: u64 = 128;

/// What a worker bears at the beginning of its slow start.
const FIRST_SHARE: f64 = 0.1;

/// No queue is longer, so that sums stay finite.
const HOUR_MS: f64 = 3.6e6;

/// The step of the clock.
const MOMENT: Duration = Duration::from_micros(1);

/// A weight that nothing divides by zero with.
fn sound_weight(weight: f64) -> f64 {
    // Beyond these, a worker of weight 1 beside it would never or always be chosen.
    if weight.is_finite() && weight > 0.0 {
        weight.clamp(1e-3, 1e3)
    } else {
        1.0
    }
}
