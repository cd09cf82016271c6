//! The router as its clients, its workers and its operators see it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop"
)]

mod admin;
mod answers;
mod binary;
mod breaker;
mod config;
mod deploy;
mod forwarding;
mod hold;
mod http2;
mod http2_streams;
#[cfg(feature = "kv-events")]
mod kv_events;
mod placement;
mod pools;
mod reports;
mod schema;
mod strict;
mod support;
mod telemetry;
mod tls;
mod wire;
