//! What the router can be told: every setting with its default and its range.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use headwater_placement::{Policy, Settings};
use serde::Deserialize;

use crate::config_failure::{BreakerConfig, HealthConfig, RetryConfig};
use crate::config_file::{self, WorkerEntry};
use crate::config_limits::{LimitsConfig, TlsConfig, WorkerTlsConfig};
use crate::config_placement::PlacementConfig;
use crate::config_pool::{DiscoverConfig, PoolConfig};
use crate::config_telemetry::{KvEventsConfig, MetricsConfig, RequestLogConfig, TracesConfig};
use crate::config_value as value;
use crate::error::ConfigError;
use crate::watch::SCRAPE_TIME;
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
            // What an engine said is known until its next answer is overdue, and it may be late.
            stale_after: Duration::from_millis(self.metrics.interval_ms.saturating_mul(2))
                .saturating_add(SCRAPE_TIME),
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

impl fmt::Display for Config {
    /// What it is about, in a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pools = self.pools.iter();
        let workers = pools.clone().map(|pool| pool.workers.len()).sum::<usize>();
        let found = pools.map(|pool| pool.discover.len()).sum::<usize>();
        let counts = [
            (self.workers.len() + workers, "worker", "workers"),
            (self.discover.len() + found, "discovery", "discoveries"),
            (self.pools.len(), "pool", "pools"),
        ];
        for (count, one, several) in counts {
            if count > 0 {
                let word = if count == 1 { one } else { several };
                write!(f, "{count} {word}, ")?;
            }
        }
        write!(f, "policy {}", self.policy.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_engine_said_outlives_its_slowest_answer() {
        for interval_ms in [100, 500, 60_000] {
            let yaml = format!(
                "listen: 127.0.0.1:1\nworkers: [http://a:1]\nmetrics: {{interval_ms: {interval_ms}}}\n"
            );
            let config = Config::parse(&yaml, "r.yaml").unwrap();
            let settings = config.settings(config.policy, &config.placement);
            // It is asked up to a tenth late, and an answer may take as long as it is waited for.
            let slowest = Duration::from_millis(interval_ms * 11 / 10) + SCRAPE_TIME;
            assert!(settings.stale_after > slowest, "{interval_ms}");
        }
    }
}
