//! What is known of one worker: who it is, what it has to do, what its engine says.

use headwater_signature::RouteTag;

use crate::cost::PrefillModel;
use crate::event::{Report, WorkerState};
use crate::id::{At, Generation, WorkerId};
use crate::residency::Wear;
use crate::settings::Settings;
use crate::watermark::Watermark;

/// One worker.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) name: String,
    /// Positive and finite.
    pub(crate) weight: f64,
    pub(crate) state: WorkerState,
    pub(crate) generation: Generation,
    /// What a client echoes to come back here.
    pub(crate) tag: RouteTag,
    /// What prefill costs here. Constant until it is learned from first-byte times.
    pub(crate) prefill: PrefillModel,
    /// Our own requests.
    pub(crate) own: Load,
    pub(crate) watermark: Watermark,
    pub(crate) report: Option<(At, Report)>,
    cache_tokens: Option<u64>,
    sent_tokens: u64,
    others: Option<(At, Others)>,
}

/// The requests that this fleet has sent to a worker and that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) in_flight: u32,
    /// Those without a first byte, with their uncached tokens and expected prefill.
    pub(crate) waiting: u32,
    pub(crate) uncached_tokens: u64,
    pub(crate) pending_us: u64,
}

/// What a worker had to do beyond our own requests when it last reported.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    in_flight: u32,
    waiting: u32,
}

impl Worker {
    pub(crate) fn new(id: WorkerId, name: &str, weight: f64, settings: &Settings) -> Self {
        let generation = Generation::default();
        Self {
            id,
            name: name.to_owned(),
            weight: sound_weight(weight),
            state: WorkerState::Starting,
            generation,
            tag: RouteTag::of(name, generation.started),
            prefill: settings.prefill,
            own: Load::default(),
            watermark: Watermark::default(),
            report: None,
            cache_tokens: None,
            sent_tokens: 0,
            others: None,
        }
    }

    pub(crate) fn reweigh(&mut self, weight: f64) {
        self.weight = sound_weight(weight);
    }

    /// Begins another life: an empty cache, and nothing reported of it yet. Our own requests
    /// stay counted until the caller says how each of them ended.
    pub(crate) fn restart(&mut self, generation: Generation) {
        self.generation = generation;
        self.tag = RouteTag::of(&self.name, generation.started);
        self.watermark = Watermark::default();
        self.report = None;
        self.cache_tokens = None;
        self.sent_tokens = 0;
        self.others = None;
    }

    /// Takes what the engine says; a value that cannot be is one that is missing.
    pub(crate) fn take(&mut self, at: At, report: Report, settings: &Settings) {
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
        self.cache_tokens = cache_tokens.or(self.cache_tokens);
        if report.running.is_some() || report.waiting.is_some() {
            let waiting = report.waiting.unwrap_or(0);
            let all = report.running.unwrap_or(0).saturating_add(waiting);
            // Our own come and go between reports and are counted exactly, so only what
            // exceeds them is kept.
            let in_flight = all.saturating_sub(self.own.in_flight);
            let waiting = waiting.saturating_sub(self.own.waiting);
            self.others = Some((at, Others { in_flight, waiting }));
        }
    }

    /// Requests there: our own, and others' while the report that told of them is fresh.
    pub(crate) fn in_flight(&self, at: At, settings: &Settings) -> u32 {
        self.own
            .in_flight
            .saturating_add(self.others(at, settings).in_flight)
    }

    /// Requests there that wait for their first byte, likewise.
    pub(crate) fn waiting(&self, at: At, settings: &Settings) -> u32 {
        self.own
            .waiting
            .saturating_add(self.others(at, settings).waiting)
    }

    /// Milliseconds of prefill that come before a new request's, likewise.
    pub(crate) fn pending_ms(&self, at: At, settings: &Settings) -> f64 {
        let others = f64::from(self.others(at, settings).waiting);
        self.own.pending_us as f64 / 1_000.0
            + others * self.prefill.ms(settings.assumed_prompt_tokens, 0)
    }

    /// How far its cache has been overwritten.
    pub(crate) fn wear(&self, settings: &Settings) -> Wear {
        let cache = self.cache_tokens.unwrap_or(settings.cache_tokens_default);
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let limit_tokens = (cache as f64 * settings.fresh_share) as u64;
        Wear {
            sent_tokens: self.sent_tokens,
            limit_tokens,
        }
    }

    /// A request begins here.
    pub(crate) fn begin(&mut self, uncached_tokens: u32, pending_us: u64) {
        self.sent_tokens = self.sent_tokens.saturating_add(u64::from(uncached_tokens));
        self.own.in_flight += 1;
        self.own.waiting += 1;
        self.own.uncached_tokens += u64::from(uncached_tokens);
        self.own.pending_us += pending_us;
    }

    /// Its prompt has been prefilled, or never will be.
    pub(crate) fn prefilled(&mut self, uncached_tokens: u32, pending_us: u64) {
        self.own.waiting -= 1;
        self.own.uncached_tokens -= u64::from(uncached_tokens);
        self.own.pending_us -= pending_us;
    }

    /// It is over, after having been prefilled.
    pub(crate) fn end(&mut self) {
        self.own.in_flight -= 1;
    }

    fn others(&self, at: At, settings: &Settings) -> Others {
        match self.others {
            Some((told, others)) if at.since(told) <= settings.stale_after => others,
            _ => Others::default(),
        }
    }
}

/// A weight that nothing divides by zero with.
fn sound_weight(weight: f64) -> f64 {
    // Beyond these, a worker of weight 1 beside it would never or always be chosen.
    if weight.is_finite() && weight > 0.0 {
        weight.clamp(1e-3, 1e3)
    } else {
        1.0
    }
}
