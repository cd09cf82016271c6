//! The HTTP process around placement: it streams each request to the worker that holds its
//! prefix, and never looks into a body.
//!
//! ```text
//! client ─► serve ─► proxy ── key ──► roster (placement) ──► pool ─► worker
//!                      ▲                 ▲   ▲
//!                      └── relay ◄───────┘   └── watch (/metrics, /health)
//! ```
//!
//! Threads share nothing but [`placement`](headwater_placement)'s fleet and counters: each has
//! its own listener on the common port, its own runtime and its own connections to workers.
//!
//! ```no_run
//! use headwater_router::{Config, Router};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let yaml = "{listen: 127.0.0.1:8080, workers: [http://127.0.0.1:8001]}";
//! let router = Router::bind(Config::parse(yaml, "router.yaml")?)?;
//! println!("listening on {}", router.local_addr());
//! router.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Never here: reading a body for more than its first bytes' hash, rewriting one, tokens,
//! templates, or a header's value in a log line or metric.

mod router;

mod answer;
mod answer_body;
mod answer_head;
mod breaker;
mod channel;
mod chunks;
mod client;
mod come;
mod connect;
mod dial;
mod exchange;
mod fault;
mod head_scan;
mod headers;
mod held;
mod inflight;
mod key;
mod line;
mod pool;
mod proxy;
mod ranks;
mod relay;
mod request_head;
mod retry;
mod serve;
mod spoken;
mod tls;
mod trailers;
mod transport;
mod upload;
pub mod usage;
mod windows;

mod counters;
mod endpoint;
mod history;
mod hottest;
mod load_header;
mod member;
mod model_pool;
mod roster;
mod shared;
mod silence;
mod sources;

mod admin;
mod admin_access;
mod admin_answer;
mod admin_explain;
mod admin_metrics;
mod admin_state;
mod admin_workers;
mod status;
mod status_feed;

mod collector;
mod telemetry;
mod telemetry_out;
mod trace_context;

mod control;
mod discover;
mod dns;
mod endpoint_slices;
mod engines;
pub mod exposition;
mod kubernetes;
#[cfg(feature = "kv-events")]
pub mod kv_batch;
#[cfg(feature = "kv-events")]
mod kv_events;
mod probe;
mod resolv_conf;
mod watch;

mod config;
mod config_failure;
mod config_file;
mod config_limits;
mod config_place;
mod config_placement;
mod config_pool;
mod config_telemetry;
mod config_value;
mod config_whole;
mod error;
pub mod file_stamp;
mod listen;
mod worker_url;

pub use config::{BodyKey, Config, WorkerConfig};
pub use config_failure::{BreakerConfig, HealthConfig, On429, RetryConfig};
pub use config_limits::{LimitsConfig, TlsConfig, WorkerTlsConfig};
pub use config_placement::{HoldConfig, PlacementConfig};
pub use config_pool::{DiscoverConfig, PoolConfig, PoolRule};
pub use config_telemetry::{KvEventsConfig, MetricsConfig, RequestLogConfig, TracesConfig};
pub use error::{ConfigError, RouterError};
pub use router::{Handle, Router};
pub use worker_url::{Scheme, WorkerUrl};
