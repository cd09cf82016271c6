//! How requests are placed and held back, as a configuration has it.

use std::time::Duration;

use headwater_placement::{Order, Settings};
use serde::Deserialize;

use crate::config_value as value;

/// Limits of the placement; see the settings of `headwater-placement`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PlacementConfig {
    /// Requests in flight at a worker of weight 1 above which it spills. Default 16.
    #[serde(deserialize_with = "value::count")]
    pub max_ongoing: u32,
    /// KV use, 0..=1, from which a worker is hot. Default 0.85.
    #[serde(deserialize_with = "value::share")]
    pub high_watermark: f64,
    /// KV use, 0..=1, down to which it stays hot. Default 0.65.
    #[serde(deserialize_with = "value::share")]
    pub low_watermark: f64,
    /// Share of a prompt, 0..=1, that the home of its key is taken to hold where several
    /// `routers` share nothing. 0 where the balancer before them shards by affinity: then a
    /// conversation that this one has not seen is a new one. Default 0.8.
    #[serde(deserialize_with = "value::share")]
    pub home_prior: f64,
    /// Routers in front of these workers, this one included. Default 1.
    #[serde(deserialize_with = "value::count")]
    pub routers: u32,
    /// Requests in flight at a worker of weight 1 at which it gets nothing more at all; with
    /// every worker there, clients get 503. Default: no limit.
    #[serde(deserialize_with = "value::some_count")]
    pub hard_cap: Option<u32>,
    /// What waits here while workers are busy, and in which order.
    pub hold: HoldConfig,
}

/// What waits in the router while workers are busy: without a connection to a worker, and gone
/// at once when its client is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HoldConfig {
    /// `shortest` (prefill first, default), `fifo`, or `off`: engines queue.
    #[serde(deserialize_with = "value::order")]
    pub order: Order,
    /// Uncached prompt tokens at a worker of weight 1 without a first byte from which it gets
    /// nothing more until then. Default 8,192: what an engine prefills in one step.
    #[serde(deserialize_with = "value::tokens")]
    pub tokens: u32,
    /// Requests held for one worker; what comes beyond goes to its engine at once. Default 256.
    #[serde(deserialize_with = "value::count")]
    pub most: u32,
    /// Seconds that a request is held at most; then it goes to its engine. Default 30.
    #[serde(deserialize_with = "value::seconds")]
    pub seconds: u64,
}

impl HoldConfig {
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

impl Default for PlacementConfig {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            max_ongoing: settings.max_ongoing,
            high_watermark: settings.high_watermark,
            low_watermark: settings.low_watermark,
            home_prior: settings.home_prior,
            routers: settings.routers,
            hard_cap: settings.hard_cap,
            hold: HoldConfig::default(),
        }
    }
}

impl Default for HoldConfig {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            order: settings.order,
            tokens: 8_192,
            most: settings.max_held,
            seconds: settings.max_hold.as_secs(),
        }
    }
}
