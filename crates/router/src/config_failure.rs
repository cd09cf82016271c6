//! What becomes of requests and workers that fail, as a configuration has it.

use serde::Deserialize;

use crate::config_value as value;

/// When a request is tried again; only ever before the first byte of an answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RetryConfig {
    /// Other workers tried for one request. Default 2.
    #[serde(deserialize_with = "value::retries")]
    pub max: u32,
    /// Retries for each request over time, 0..=1. Default 0.2.
    #[serde(deserialize_with = "value::share")]
    pub ratio: f64,
    /// Bytes of a body that are kept for a retry. Default 65,536.
    #[serde(deserialize_with = "value::replay_bytes")]
    pub replay_bytes: usize,
    /// Whether a 429 is tried elsewhere (`elsewhere`) or passed on (`pass`, the default).
    pub on_429: On429,
    /// Milliseconds in which an answer must begin. Default: no limit, as a prefill can take
    /// long. Beyond: another worker, then 504.
    #[serde(deserialize_with = "value::some_ms")]
    pub first_byte_ms: Option<u64>,
}

/// What becomes of a worker's 429.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a switch has two positions")]
pub enum On429 {
    /// The client gets it.
    #[default]
    Pass,
    /// Another worker is tried.
    Elsewhere,
}

/// When a worker that fails requests gets no more of them for a while. Its own 4xx and 503
/// never count.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BreakerConfig {
    /// Requests failed in a row after which it opens. Default 5.
    #[serde(deserialize_with = "value::count")]
    pub failures: u32,
    /// Milliseconds until one request may try the worker again, doubled after each failed
    /// try. Default 2,000.
    #[serde(deserialize_with = "value::interval_ms")]
    pub open_ms: u64,
    /// What the doubling ends at, in milliseconds. Default 60,000.
    #[serde(deserialize_with = "value::interval_ms")]
    pub most_open_ms: u64,
    /// Share of the healthy workers, 0..=1, that breakers leave in service whatever they do.
    /// Default 0.5.
    #[serde(deserialize_with = "value::share")]
    pub floor: f64,
}

/// How a worker is found to be dead or alive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HealthConfig {
    /// What is asked for. Default `/health`.
    #[serde(deserialize_with = "value::path")]
    pub path: String,
    /// How often, in milliseconds. Default 1,000.
    #[serde(deserialize_with = "value::interval_ms")]
    pub interval_ms: u64,
    /// How long an answer may take, in milliseconds. Default 5,000: a busy engine answers late,
    /// and late is not dead.
    #[serde(deserialize_with = "value::interval_ms")]
    pub timeout_ms: u64,
    /// Failures in a row after which a worker is down. Default 3.
    #[serde(deserialize_with = "value::count")]
    pub failures: u32,
    /// For how long, in seconds, a worker that has requests of this router may be silent without
    /// being down: at a long prompt it may answer nobody. Others are preferred meanwhile.
    /// Default 60.
    #[serde(deserialize_with = "value::seconds")]
    pub busy_seconds: u64,
    /// For how long, in seconds, a worker may say nothing in the midst of an answer. Beyond, the
    /// answer is cut off. Default 600.
    #[serde(deserialize_with = "value::some_seconds")]
    pub silence_seconds: Option<u64>,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max: 2,
            ratio: 0.2,
            replay_bytes: 64 * 1024,
            on_429: On429::default(),
            first_byte_ms: None,
        }
    }
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            open_ms: 2_000,
            most_open_ms: 60_000,
            floor: 0.5,
        }
    }
}

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            path: "/health".to_owned(),
            interval_ms: 1_000,
            timeout_ms: 5_000,
            failures: 3,
            busy_seconds: 60,
            silence_seconds: Some(600),
        }
    }
}
