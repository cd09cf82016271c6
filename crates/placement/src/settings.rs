//! Every number of the decision in one place, with where it comes from and its range.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::cost::PrefillModel;

/// How requests are placed. `Settings::default()` is what was measured to work.
///
/// "Simulated" below means a discrete-event simulation of seven traces (chat, agents, code,
/// retrieval) on 4 to 32 workers; the service model is the default [`PrefillModel`].
/// Not `non_exhaustive`, so that a caller can name what it changes and take the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How to choose. Default: [`Policy::Cost`].
    pub policy: Policy,

    /// Requests in flight at a worker of weight 1 above which it is over its queue limit,
    /// if it is over its fair share too. 1 or more. Default 16.
    pub max_ongoing: u32,
    /// How much more than its fair share a worker must have to be over its queue limit.
    /// 1 or more. Default 1.25, the bound of consistent hashing with bounded loads.
    pub fair_share_factor: f64,
    /// Requests in flight (for weight 1) that a spill must better its first choice by, so
    /// that two workers at the limit do not swap their conversations. Default 2.
    pub spill_gap: u32,
    /// Milliseconds of cost that relieving a worker over its queue limit may take: what costs more
    /// to compute anew elsewhere stays, as with everybody over the limit. In cost and not in
    /// time, so that the more wait, the less is computed twice. The ring does not ask. Default
    /// 500, some 2,600 tokens while nobody waits: 2,000 is up to 6 % slower in overload (simulated).
    pub spill_ms: f64,
    /// Requests in flight at a worker of weight 1 at which it gets nothing more at all.
    /// At least `max_ongoing`. Default none.
    pub hard_cap: Option<u32>,

    /// In which order a worker gets what it cannot take at once. Default [`Order::Shortest`]. With
    /// several `routers` nothing is held for a worker that tells what everybody has there.
    pub order: Order,
    /// Uncached tokens that a worker has without a first byte from which it gets nothing more
    /// until then: a small multiple of what its engine prefills in one step. 1 or more.
    /// Default 2,048.
    pub hold_tokens: u32,
    /// How many milliseconds of prefill a millisecond of waiting is worth in that order, so that
    /// nobody starves. 0 to 10. Default 0.1: 0.2 costs 2 % of the mean time to the first token,
    /// 0.05 loses 4 % of its 99th percentile (simulated, traces of chat, agents and code).
    pub ageing: f64,
    /// Requests held for a worker; what comes beyond goes to its engine at once. Default 256.
    pub max_held: u32,
    /// How long a request is held at most; then it goes to its engine. Default 30 s.
    pub max_hold: Duration,

    /// Milliseconds of cost that a held request must save to go to a worker that has become free
    /// instead of the one that it waits for. Default 10.
    pub rebound_ms: f64,

    /// How long a request may be without its first byte, beyond three times what was expected,
    /// before its prompt counts as prefilled. Default 2 s.
    pub patience: Duration,
    /// How far, as a factor up or down, a worker's prefill model may be learned away from
    /// `prefill`. 1 to 1,000; 1 learns nothing. Default 8.
    pub max_drift: f64,
    /// How long a worker that comes to a fleet which serves already takes to bear its full
    /// weight. Default 10 s.
    pub slow_start: Duration,
    /// Nodes on the ring for each unit of weight. 1 to 1,000. Default 100.
    pub ring_nodes: u32,
    /// In which time the demand for a static prefix, and with it the number of its workers on
    /// the ring, is half forgotten. Above 0. Default 60 s.
    pub half_life: Duration,

    /// Routers in front of these workers that share nothing with this one, itself included.
    /// 1 or more. Default 1.
    pub routers: u32,

    /// KV use, 0..=1, from which a worker is hot. Default 0.85.
    pub high_watermark: f64,
    /// KV use, 0..=1 and below `high_watermark`, down to which it stays hot. Default 0.65.
    pub low_watermark: f64,
    /// How long a worker stays hot or not hot at least. Default 1 s.
    pub dwell: Duration,
    /// Age from which a report is unknown: three scrape intervals. Default 1.5 s.
    pub stale_after: Duration,
    /// Share of a prompt, above 0 and up to 1, that a hot worker must hold to keep it. A
    /// system prompt in common is no reason to add a long one. Default 0.5.
    pub hot_keep_share: f64,

    /// Entries of the residency table for each worker. 1 or more. Default 2,048: simulated,
    /// more gains nothing.
    pub residency_per_worker: u32,
    /// Decides where names lie in the residency table and nothing else. Clients choose names: a
    /// router that serves strangers draws this number, so that nobody can aim at one spot.
    /// Default 0.
    pub table_seed: u64,
    /// Tokens that a worker's prefix cache holds while it has not said. 1 or more. Guess high:
    /// a belief held too long costs one miss, one dropped too soon costs every turn.
    /// Default 1,000,000.
    pub cache_tokens_default: u64,
    /// Share of the cache, above 0 and up to 2, that the prefixes taken to be there may fill.
    /// Default 1, as the table keeps them in the order in which an engine evicts: 0.9 loses 1 %
    /// of the mean time to the first token and half of the hits' distance to full knowledge
    /// (simulated).
    pub fresh_share: f64,

    /// What prefill costs on a worker of which nothing has been learned.
    pub prefill: PrefillModel,
    /// What a millisecond of prefill counts when nobody waits. 1 or more. Default 3: pricing
    /// a miss at its bare time is 4 to 8 times slower in overload (simulated).
    pub miss_factor: f64,
    /// How much more it counts for each request that waits per worker. Default 1.
    pub congestion_factor: f64,
    /// Milliseconds that each request in flight counts: about one decode step. Default 10.
    pub active_ms: f64,
    /// Milliseconds of cost within which the home of the key is taken instead of the
    /// cheapest, if it holds as much. Default 10, as one request in flight.
    pub near_tie_ms: f64,

    /// Milliseconds of cost that a worker which came to a serving fleet gains, with every second
    /// since, for the conversations that prefer it and went elsewhere before: short ones then
    /// come home within seconds, long ones late. 0 to 1,000,000; 0 leaves all where they are.
    /// Default 30.
    pub draw_ms: f64,
    /// For how long it gains; what has not come home by then stays. Default 10 minutes.
    pub draw_for: Duration,

    /// Share of the prompt, 0..=1, that the home of the key is taken to hold when there are other
    /// `routers` and the client does not say where its last turn was. Where clients usually do, it
    /// is less: most that do not are new.
    ///
    /// Routers that share nothing then agree on where a conversation lives, whatever each has seen
    /// of it. 0 where requests are sharded over the routers by affinity: what one has not seen is
    /// new there. Default 0.8.
    pub home_prior: f64,
    /// Share of the prompt, 0..=1, that the worker of a key's last request is taken to hold
    /// when the prompt has no names. Default 0.8.
    pub session_share: f64,
    /// Tokens of a prompt of which nothing is known. 1 or more. Default 2,048.
    pub assumed_prompt_tokens: u32,
    /// Tokens that a prompt can have: a client that claims more is taken to have this many,
    /// so that a lie neither ages a worker's cache away nor keeps others off it for long.
    /// 1 or more. Default 1,048,576.
    pub max_prompt_tokens: u32,
}

/// How to choose a worker.
///
/// Closed on purpose: a configuration names its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Least expected cost: queue, what is missing from the cache, congestion.
    Cost,
    /// A weighted consistent-hash ring over the key, among the workers of its static prefix;
    /// the next on the ring when one is full. For those who want what they can predict.
    Ring,
    /// Fewest requests in flight for the weight. A baseline to compare with.
    LeastRequests,
    /// One after the other. A baseline to compare with.
    RoundRobin,
}

impl Policy {
    /// Every policy, in the order of declaration.
    pub const ALL: [Self; 4] = [
        Self::Cost,
        Self::Ring,
        Self::LeastRequests,
        Self::RoundRobin,
    ];

    /// The name in configuration and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Ring => "ring",
            Self::LeastRequests => "least_requests",
            Self::RoundRobin => "round_robin",
        }
    }
}

/// What the caller keeps back from a worker that is busy, and in which order it gets it.
///
/// Closed on purpose: a configuration names its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Shortest expected prefill first, less what it has waited: hits overtake misses.
    Shortest,
    /// First come, first served.
    Fifo,
    /// Nothing is kept back; the engine's queue decides.
    Off,
}

impl Order {
    /// Every order, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Shortest, Self::Fifo, Self::Off];

    /// The name in configuration and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shortest => "shortest",
            Self::Fifo => "fifo",
            Self::Off => "off",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::Cost,
            max_ongoing: 16,
            fair_share_factor: 1.25,
            spill_gap: 2,
            spill_ms: 500.0,
            hard_cap: None,
            order: Order::Shortest,
            hold_tokens: 2_048,
            ageing: 0.1,
            max_held: 256,
            max_hold: Duration::from_secs(30),
            rebound_ms: 10.0,
            patience: Duration::from_secs(2),
            max_drift: 8.0,
            slow_start: Duration::from_secs(10),
            ring_nodes: 100,
            half_life: Duration::from_secs(60),
            routers: 1,
            high_watermark: 0.85,
            low_watermark: 0.65,
            dwell: Duration::from_secs(1),
            stale_after: Duration::from_millis(1_500),
            hot_keep_share: 0.5,
            residency_per_worker: 2_048,
            table_seed: 0,
            cache_tokens_default: 1_000_000,
            fresh_share: 1.0,
            prefill: PrefillModel::default(),
            miss_factor: 3.0,
            congestion_factor: 1.0,
            active_ms: 10.0,
            near_tie_ms: 10.0,
            draw_ms: 30.0,
            draw_for: Duration::from_secs(600),
            home_prior: 0.8,
            session_share: 0.8,
            assumed_prompt_tokens: 2_048,
            max_prompt_tokens: 1_048_576,
        }
    }
}

/// A setting outside its range.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsError {
    field: &'static str,
    found: String,
    expected: &'static str,
}

impl SettingsError {
    /// The name of the field in [`Settings`].
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            found,
            expected,
        } = self;
        write!(f, "`{field}` is `{found}`: set it to {expected}")
    }
}

impl Error for SettingsError {}

impl Settings {
    /// Refuses a number outside its range, in the order of the fields.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let most = f64::MAX;
        at_least_one("max_ongoing", u64::from(self.max_ongoing))?;
        within(
            "fair_share_factor",
            self.fair_share_factor,
            1.0..=most,
            "1 or more",
        )?;
        within("spill_ms", self.spill_ms, 0.0..=1e12, "0 to 1e12 ms")?;
        if let Some(cap) = self.hard_cap.filter(|cap| *cap < self.max_ongoing) {
            return Err(refuse("hard_cap", cap, "`max_ongoing` or more"));
        }
        within(
            "high_watermark",
            self.high_watermark,
            0.0..=1.0,
            "a share from 0 to 1",
        )?;
        within(
            "low_watermark",
            self.low_watermark,
            0.0..=1.0,
            "a share from 0 to 1",
        )?;
        if self.low_watermark >= self.high_watermark {
            return Err(refuse(
                "low_watermark",
                self.low_watermark,
                "less than `high_watermark`",
            ));
        }
        if self.stale_after.is_zero() {
            return Err(refuse(
                "stale_after",
                "0",
                "more than nothing, such as three scrapes",
            ));
        }
        at_least_one("hold_tokens", u64::from(self.hold_tokens))?;
        within("ageing", self.ageing, 0.0..=10.0, "0 to 10")?;
        within("rebound_ms", self.rebound_ms, 0.0..=1e9, "0 to 1e9 ms")?;
        within("max_drift", self.max_drift, 1.0..=1e3, "1 to 1000")?;
        if !(1..=1_000).contains(&self.ring_nodes) {
            return Err(refuse("ring_nodes", self.ring_nodes, "1 to 1000"));
        }
        if self.half_life.is_zero() {
            return Err(refuse(
                "half_life",
                "0",
                "more than nothing, such as a minute",
            ));
        }
        at_least_one("routers", u64::from(self.routers))?;
        let (tiny, share) = (f64::MIN_POSITIVE, "a share above 0 and up to 1");
        within("hot_keep_share", self.hot_keep_share, tiny..=1.0, share)?;
        at_least_one("residency_per_worker", u64::from(self.residency_per_worker))?;
        at_least_one("cache_tokens_default", self.cache_tokens_default)?;
        within(
            "fresh_share",
            self.fresh_share,
            tiny..=2.0,
            "a share above 0 and up to 2",
        )?;
        within(
            "prefill.fixed_ms",
            self.prefill.fixed_ms,
            0.0..=1e6,
            "0 to 1e6 ms",
        )?;
        within(
            "prefill.token_ms",
            self.prefill.token_ms,
            0.0..=1e3,
            "0 to 1e3 ms",
        )?;
        within(
            "prefill.pair_ms",
            self.prefill.pair_ms,
            0.0..=1.0,
            "0 to 1 ms",
        )?;
        within("miss_factor", self.miss_factor, 1.0..=1e6, "1 to 1e6")?;
        within(
            "congestion_factor",
            self.congestion_factor,
            0.0..=1e6,
            "0 to 1e6",
        )?;
        within("active_ms", self.active_ms, 0.0..=1e6, "0 to 1e6 ms")?;
        within("near_tie_ms", self.near_tie_ms, 0.0..=1e6, "0 to 1e6 ms")?;
        within("draw_ms", self.draw_ms, 0.0..=1e6, "0 to 1e6 ms")?;
        within(
            "home_prior",
            self.home_prior,
            0.0..=1.0,
            "a share from 0 to 1",
        )?;
        within(
            "session_share",
            self.session_share,
            0.0..=1.0,
            "a share from 0 to 1",
        )?;
        at_least_one(
            "assumed_prompt_tokens",
            u64::from(self.assumed_prompt_tokens),
        )?;
        at_least_one("max_prompt_tokens", u64::from(self.max_prompt_tokens))
    }
}

fn within(
    field: &'static str,
    found: f64,
    range: std::ops::RangeInclusive<f64>,
    expected: &'static str,
) -> Result<(), SettingsError> {
    // Not a number is in no range.
    if range.contains(&found) {
        Ok(())
    } else {
        Err(refuse(field, found, expected))
    }
}

fn at_least_one(field: &'static str, found: u64) -> Result<(), SettingsError> {
    if found >= 1 {
        Ok(())
    } else {
        Err(refuse(field, found, "1 or more"))
    }
}

fn refuse(field: &'static str, found: impl fmt::Display, expected: &'static str) -> SettingsError {
    SettingsError {
        field,
        found: found.to_string(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl Fn(&mut Settings), expected: Option<&str>) {
        let mut settings = Settings::default();
        change(&mut settings);
        let found = settings.check().err();
        assert_eq!(
            found.as_ref().map(SettingsError::field),
            expected,
            "{found:?}"
        );
    }

    #[test]
    fn a_number_outside_its_range_is_named() {
        check(|_| (), None);
        check(|s| s.max_ongoing = 0, Some("max_ongoing"));
        check(|s| s.fair_share_factor = 0.9, Some("fair_share_factor"));
        check(
            |s| s.fair_share_factor = f64::NAN,
            Some("fair_share_factor"),
        );
        check(|s| s.hard_cap = Some(15), Some("hard_cap"));
        check(|s| s.hard_cap = Some(16), None);
        check(|s| s.high_watermark = 1.01, Some("high_watermark"));
        check(|s| s.low_watermark = -0.1, Some("low_watermark"));
        check(|s| s.low_watermark = 0.85, Some("low_watermark"));
        check(|s| s.dwell = Duration::ZERO, None);
        check(|s| s.stale_after = Duration::ZERO, Some("stale_after"));
        check(|s| s.hot_keep_share = 0.0, Some("hot_keep_share"));
        check(|s| s.residency_per_worker = 0, Some("residency_per_worker"));
        check(|s| s.hold_tokens = 0, Some("hold_tokens"));
        check(|s| s.ageing = -0.1, Some("ageing"));
        check(|s| s.max_drift = 0.5, Some("max_drift"));
        check(|s| s.ring_nodes = 0, Some("ring_nodes"));
        check(|s| s.half_life = Duration::ZERO, Some("half_life"));
        check(|s| s.routers = 0, Some("routers"));
        check(|s| s.cache_tokens_default = 0, Some("cache_tokens_default"));
        check(|s| s.fresh_share = 2.1, Some("fresh_share"));
        check(
            |s| s.prefill.token_ms = f64::INFINITY,
            Some("prefill.token_ms"),
        );
        check(|s| s.prefill.pair_ms = -1.0, Some("prefill.pair_ms"));
        check(|s| s.miss_factor = 0.5, Some("miss_factor"));
        check(|s| s.draw_ms = -1.0, Some("draw_ms"));
        check(|s| s.home_prior = 1.5, Some("home_prior"));
        check(|s| s.session_share = f64::NAN, Some("session_share"));
        check(
            |s| s.assumed_prompt_tokens = 0,
            Some("assumed_prompt_tokens"),
        );
        check(|s| s.max_prompt_tokens = 0, Some("max_prompt_tokens"));
    }

    #[test]
    fn the_message_says_what_to_do() {
        let settings = Settings {
            home_prior: 2.0,
            ..Settings::default()
        };
        let message = settings.check().unwrap_err().to_string();
        assert_eq!(
            message,
            "`home_prior` is `2`: set it to a share from 0 to 1"
        );
    }
}
