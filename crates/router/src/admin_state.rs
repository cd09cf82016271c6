//! `/state`: every worker and every setting as JSON, for people and scripts.

use std::collections::BTreeMap;

use headwater_placement::{At, WorkerView};
use serde::Serialize;

use crate::engines::Signal;
use crate::member::Member;
use crate::shared::Shared;

#[derive(Serialize)]
struct State<'a> {
    version: &'static str,
    uptime_seconds: f64,
    draining: bool,
    policy: &'static str,
    residency_entries: usize,
    settings: Settings<'a>,
    workers: Vec<Worker>,
}

#[derive(Serialize)]
struct Settings<'a> {
    session_headers: &'a [String],
    body_key: String,
    max_ongoing: u32,
    high_watermark: f64,
    low_watermark: f64,
    home_prior: f64,
    retry_max: u32,
    replay_bytes: usize,
    drain_seconds: u64,
}

#[derive(Serialize)]
struct Worker {
    name: String,
    pool: String,
    url: String,
    state: &'static str,
    weight: f64,
    hot: bool,
    breaker: &'static str,
    /// When its process began, in seconds since 1970, if it says so.
    started: Option<u64>,
    /// Restarts noticed of a process that does not say.
    restarts_noticed: u64,
    /// As `Prefix-Route` has it, in hexadecimal.
    tag: String,
    in_flight: u32,
    waiting_first_byte: u32,
    uncached_tokens: u64,
    pending_ms: f64,
    residency_entries: usize,
    requests: u64,
    scrape_age_seconds: Option<f64>,
    /// The engine's own words; what is missing here is unknown, not zero.
    reported: BTreeMap<&'static str, f64>,
}

/// The whole state.
pub(crate) fn json(shared: &Shared) -> String {
    let now = shared.now();
    let config = &shared.config;
    let state = State {
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: seconds(now.micros()),
        draining: shared.is_draining(),
        policy: config.policy.as_str(),
        residency_entries: shared
            .pools()
            .iter()
            .map(|pool| pool.roster().residency_len())
            .sum(),
        settings: Settings {
            session_headers: &config.session_headers,
            body_key: config.body_key.to_string(),
            max_ongoing: config.placement.max_ongoing,
            high_watermark: config.placement.high_watermark,
            low_watermark: config.placement.low_watermark,
            home_prior: config.placement.home_prior,
            retry_max: config.retry.max,
            replay_bytes: config.retry.replay_bytes,
            drain_seconds: config.drain_seconds,
        },
        workers: workers(shared, now),
    };
    serde_json::to_string_pretty(&state).unwrap_or_else(|_| "{}".to_owned())
}

fn workers(shared: &Shared, now: At) -> Vec<Worker> {
    let mut workers = Vec::new();
    for pool in shared.pools() {
        for (member, view) in pool.roster().views() {
            let age = member.scrape.as_ref().map(|scrape| now.since(scrape.at));
            let age = age.map(|age| age.as_secs_f64());
            workers.push(worker(&pool.name, member, view, age));
        }
    }
    workers
}

fn worker(
    pool: &str,
    member: &Member,
    view: WorkerView,
    scrape_age_seconds: Option<f64>,
) -> Worker {
    let reading = member.scrape.as_ref().map(|scrape| &scrape.reading);
    let value = |signal: Signal| Some((signal.as_str(), reading?.value(signal)?));
    Worker {
        pool: pool.to_owned(),
        url: member.endpoint.url.to_string(),
        state: view.state.as_str(),
        weight: member.weight,
        hot: view.hot,
        breaker: member.breaker.as_str(),
        started: (view.generation.started > 0).then_some(view.generation.started),
        restarts_noticed: view.generation.noticed,
        tag: member.tag.to_string(),
        in_flight: view.in_flight,
        waiting_first_byte: view.waiting,
        uncached_tokens: view.uncached_tokens,
        pending_ms: view.pending_ms,
        residency_entries: view.residency,
        requests: member.endpoint.requests.get(),
        scrape_age_seconds,
        reported: Signal::ALL
            .iter()
            .filter_map(|signal| value(*signal))
            .collect(),
        name: view.name,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an uptime to the microsecond fits"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
