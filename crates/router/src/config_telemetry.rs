//! What is told of single requests, and what engines tell of their load and caches, as a
//! configuration has it.

use std::num::NonZeroU16;
use std::path::PathBuf;

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
    /// The collector as `http://host:port` or `https://host:port`; without one nothing is
    /// traced.
    #[serde(deserialize_with = "value::some_collector")]
    pub endpoint: Option<String>,
    /// A PEM file with the authorities that an `https` collector is checked against. Default:
    /// those of the system.
    pub ca: Option<PathBuf>,
    /// Share of requests that begin a trace, 0..=1. Default 0.01. A request that comes with a
    /// `traceparent` follows what that says instead.
    #[serde(deserialize_with = "value::share")]
    pub sample: f64,
    /// What this router is called in traces. Default `headwater-router`.
    pub service: String,
}

/// Where a worker's load is read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MetricsConfig {
    /// What is asked for. Default `/metrics`.
    #[serde(deserialize_with = "value::path")]
    pub path: String,
    /// How often, in milliseconds, give or take a tenth. Default 500.
    #[serde(deserialize_with = "value::interval_ms")]
    pub interval_ms: u64,
    /// Whether workers are asked to tell their load with each answer as well (ORCA).
    pub response_header: bool,
    /// Whether `cached_tokens` is looked for in the last 4 KiB of each answer. Default: no.
    pub cached_tokens: bool,
}

/// Where engines publish KV events (ZeroMQ). Needs a build with the feature `kv-events`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct KvEventsConfig {
    /// The port of each worker's publisher, which must be one that listens (`tcp://*:5557`).
    pub port: NonZeroU16,
    /// The port where missed events can be asked for again. Without one they lead to
    /// forgetting what the worker held.
    #[serde(default)]
    pub replay_port: Option<NonZeroU16>,
    /// Data-parallel ranks of a worker; each has the next port. Default 1.
    #[serde(default = "value::one_rank", deserialize_with = "value::ranks")]
    pub ranks: u16,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            ca: None,
            sample: 0.01,
            service: "headwater-router".to_owned(),
        }
    }
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self {
            path: "/metrics".to_owned(),
            interval_ms: 500,
            response_header: false,
            cached_tokens: false,
        }
    }
}
