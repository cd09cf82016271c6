//! What the router can be told: every setting with its default and its range.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use headwater_placement::{Order, Policy, Settings};
use serde::Deserialize;

use crate::config_file::{self, WorkerEntry};
use crate::config_pool::{DiscoverConfig, PoolConfig};
use crate::config_telemetry::{KvEventsConfig, RequestLogConfig, TracesConfig};
use crate::config_value as value;
use crate::error::ConfigError;
use crate::worker_url::WorkerUrl;

/// Everything the router is told. [`Config::new`] gives the defaults; change fields from there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// Where requests come in. Port 0 takes a free one.
    #[serde(deserialize_with = "value::address")]
    pub listen: SocketAddr,
    /// Where operators look. Default: loopback, the port of `listen` + 1000 (0 if that is 0).
    #[serde(default, deserialize_with = "value::some_address")]
    pub admin: Option<SocketAddr>,
    /// A file with the token of the admin port. Without one, a port that others can reach gives
    /// probes and metrics only.
    #[serde(default)]
    pub admin_token_file: Option<PathBuf>,
    /// The engines. At least one here, in `discover` or in a pool.
    #[serde(default, deserialize_with = "config_file::workers")]
    pub workers: Vec<WorkerConfig>,
    /// Where further engines are found.
    #[serde(default)]
    pub discover: Vec<DiscoverConfig>,
    /// Engines of other models, each with requests of its own. Default: none.
    #[serde(default)]
    pub pools: Vec<PoolConfig>,
    /// How requests are placed. Default: `cost`.
    #[serde(default = "value::default_policy", deserialize_with = "value::policy")]
    pub policy: Policy,
    /// Threads that serve requests. Default: one for each CPU that this process may use.
    #[serde(default)]
    pub threads: Option<NonZeroUsize>,
    /// Headers that name a session, in order of precedence.
    #[serde(
        default = "value::default_session_headers",
        deserialize_with = "value::session_headers"
    )]
    pub session_headers: Vec<String>,
    /// Whether the head of the body is the key of a request that has no other.
    #[serde(default, deserialize_with = "value::body_key")]
    pub body_key: BodyKey,
    /// Limits of the placement.
    #[serde(default)]
    pub placement: PlacementConfig,
    /// When a request is tried again.
    #[serde(default)]
    pub retry: RetryConfig,
    /// When a worker that fails requests gets no more of them.
    #[serde(default)]
    pub breaker: BreakerConfig,
    /// Requests that are told one by one, on stdout. Default: none.
    #[serde(default)]
    pub request_log: RequestLogConfig,
    /// Requests that are traced. Default: none.
    #[serde(default)]
    pub traces: Option<TracesConfig>,
    /// How a worker is found to be dead or alive.
    #[serde(default)]
    pub health: HealthConfig,
    /// Where a worker's load is read.
    #[serde(default)]
    pub metrics: MetricsConfig,
    /// Where engines publish what their caches hold. Default: nothing is followed.
    #[serde(default)]
    pub kv_events: Option<KvEventsConfig>,
    /// The certificate that clients see. Default: no TLS.
    #[serde(default)]
    pub tls: Option<TlsConfig>,
    /// How workers whose URL begins with `https` are known.
    #[serde(default)]
    pub worker_tls: WorkerTlsConfig,
    /// What a client may cost.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// How long streams may go on after a request to stop, in seconds. Default 30.
    #[serde(
        default = "value::default_drain_seconds",
        deserialize_with = "value::drain_seconds"
    )]
    pub drain_seconds: u64,
}

/// One engine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// Where it listens.
    pub url: WorkerUrl,
    /// Its share of the work; 1 is an ordinary worker.
    pub weight: f64,
    /// What every router calls it; its `host:port` unless set. Route tags are made of it, so
    /// routers that reach one worker at different addresses must give it one name.
    pub name: String,
}

/// Whether the first 2 KiB of a body make a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a switch has two positions")]
pub enum BodyKey {
    /// They do (`true`).
    #[default]
    Head,
    /// They do not (`false`): such a request goes where load is least.
    Off,
}

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
    /// `routers` share nothing. Default 0.8.
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

/// The certificate that clients see; read again when a file changes and on a reload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsConfig {
    /// A PEM file: the certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// A PEM file: its private key.
    pub key: PathBuf,
}

/// How workers behind TLS are known. Their names are always checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkerTlsConfig {
    /// A PEM file with the authorities to believe. Default: those of the system.
    pub ca: Option<PathBuf>,
}

/// What a client may cost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Bytes of a request's head, 8,192 or more. Default 65,536. Beyond: 431.
    #[serde(deserialize_with = "value::header_bytes")]
    pub header_bytes: usize,
    /// Seconds in which a head must arrive. Default 10. Beyond: 408.
    #[serde(deserialize_with = "value::seconds")]
    pub header_seconds: u64,
    /// Seconds that a connection may wait for its next request. Default 75.
    #[serde(deserialize_with = "value::seconds")]
    pub idle_seconds: u64,
    /// Connections at once. Default 16,384. Beyond: 503.
    #[serde(deserialize_with = "value::connections")]
    pub connections: usize,
    /// Bytes of a request's body. Default: no limit. Beyond: 413.
    #[serde(deserialize_with = "value::body_bytes")]
    pub body_bytes: Option<u64>,
    /// Seconds for which a client may send nothing of its body (beyond: 408) or take nothing
    /// of its answer (beyond: cut off). Default: no limit.
    #[serde(deserialize_with = "value::some_seconds")]
    pub stall_seconds: Option<u64>,
}

impl Config {
    /// The defaults for an address and some workers.
    #[must_use]
    pub fn new(listen: SocketAddr, workers: Vec<WorkerConfig>) -> Self {
        Self {
            listen,
            admin: None,
            admin_token_file: None,
            workers,
            discover: Vec::new(),
            pools: Vec::new(),
            policy: value::default_policy(),
            threads: None,
            session_headers: value::default_session_headers(),
            body_key: BodyKey::default(),
            placement: PlacementConfig::default(),
            retry: RetryConfig::default(),
            breaker: BreakerConfig::default(),
            request_log: RequestLogConfig::default(),
            traces: None,
            kv_events: None,
            health: HealthConfig::default(),
            metrics: MetricsConfig::default(),
            tls: None,
            worker_tls: WorkerTlsConfig::default(),
            limits: LimitsConfig::default(),
            drain_seconds: value::default_drain_seconds(),
        }
    }

    /// Reads a configuration file (YAML, of which JSON is a part).
    ///
    /// # Errors
    /// The first thing wrong, with `origin` (the file's name), line, column and path.
    pub fn parse(yaml: &str, origin: &str) -> Result<Self, ConfigError> {
        config_file::parse(yaml, origin)
    }

    /// The workers at these URLs: at least one, none twice.
    ///
    /// # Errors
    /// Which URL is wrong, and how.
    pub fn workers_of_urls<'a>(
        urls: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<WorkerConfig>, ConfigError> {
        config_file::workers_of_urls(urls)
            .map_err(|message| ConfigError::of_argument("--workers", message))
    }

    /// What placement is told of it.
    pub(crate) fn placement_settings(&self) -> Settings {
        self.settings(self.policy, &self.placement)
    }

    /// What the placement of a pool is told.
    pub(crate) fn settings_of(&self, pool: &PoolConfig) -> Settings {
        let policy = pool.policy.unwrap_or(self.policy);
        self.settings(policy, pool.placement.as_ref().unwrap_or(&self.placement))
    }

    /// The workers of the default pool, then those of the others.
    pub(crate) fn workers_of_pools(&self) -> impl Iterator<Item = &[WorkerConfig]> {
        let others = self.pools.iter().map(|pool| pool.workers.as_slice());
        std::iter::once(self.workers.as_slice()).chain(others)
    }

    fn settings(&self, policy: Policy, placement: &PlacementConfig) -> Settings {
        Settings {
            policy,
            order: placement.hold.order,
            hold_tokens: placement.hold.tokens,
            max_held: placement.hold.most,
            max_hold: placement.hold.time(),
            hard_cap: placement.hard_cap,
            max_ongoing: placement.max_ongoing,
            high_watermark: placement.high_watermark,
            low_watermark: placement.low_watermark,
            home_prior: placement.home_prior,
            routers: placement.routers,
            stale_after: Duration::from_millis(self.metrics.interval_ms.saturating_mul(3)),
            ..Settings::default()
        }
    }
}

impl WorkerConfig {
    /// Reads one worker as a configuration has it: a URL, or `{url, weight, name}`.
    ///
    /// # Errors
    /// What is wrong with it; `origin` says where the text is from.
    pub fn parse(yaml: &str, origin: &str) -> Result<Self, ConfigError> {
        config_file::parse_worker(yaml, origin)
    }

    /// A worker of weight 1 that is named by its address.
    ///
    /// # Errors
    /// The URL is none that a worker can have.
    pub fn new(url: &str) -> Result<Self, ConfigError> {
        let entry =
            WorkerEntry::from_url(url).map_err(|message| ConfigError::of_argument(url, message))?;
        Ok(entry.into_config())
    }
}

impl fmt::Display for BodyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "true",
            Self::Off => "false",
        })
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

impl HoldConfig {
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
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

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            header_bytes: 64 * 1024,
            header_seconds: 10,
            idle_seconds: 75,
            connections: 16_384,
            body_bytes: None,
            stall_seconds: None,
        }
    }
}
