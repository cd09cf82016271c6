//! What is told of single requests, as a configuration has it.

use serde::Deserialize;

use crate::config_value as value;

/// One JSON line a request on stdout.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RequestLogConfig {
    /// Share of requests that are logged, 0..=1. Default 0.
    #[serde(deserialize_with = "value::share")]
    pub sample: f64,
}

/// Traces over OTLP (HTTP, JSON).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TracesConfig {
    /// The collector as `http://host:port`; without one nothing is traced.
    #[serde(deserialize_with = "value::some_collector")]
    pub endpoint: Option<String>,
    /// Share of requests that begin a trace, 0..=1. Default 0.01. A request that comes with a
    /// `traceparent` follows what that says instead.
    #[serde(deserialize_with = "value::share")]
    pub sample: f64,
    /// What this router is called in traces. Default `headwater-router`.
    pub service: String,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            sample: 0.01,
            service: "headwater-router".to_owned(),
        }
    }
}
