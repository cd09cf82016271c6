//! The status page for people: one file without outside assets, and what its events tell.

use std::collections::BTreeMap;

use headwater_placement::{Reason, WorkerView};
use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use serde::Serialize;

use crate::admin_answer::{self, Answer, HTML};
use crate::counters::{Count, KEY_SOURCES};
use crate::engines::{Reading, Signal};
use crate::history::Point;
use crate::hottest::{self, HotPrefix};
use crate::member::Member;
use crate::model_pool::{self, ModelPool};
use crate::shared::Shared;

const PAGE: &str = concat!(
    include_str!("status/head.html"),
    "<style>\n",
    include_str!("status/page.css"),
    "</style>\n</head>\n",
    include_str!("status/body.html"),
    "<script>\n",
    include_str!("status/draw.js"),
    include_str!("status/page.js"),
    "</script>\n</body>\n</html>\n",
);

/// Nothing from elsewhere, whatever a worker's name might hold.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// `GET /`.
pub(crate) fn page() -> Answer {
    let mut answer = admin_answer::text(StatusCode::OK, HTML, PAGE);
    let policy = HeaderValue::from_static(POLICY);
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    answer
}

/// `GET /prefixes`: the hottest ones, as JSON.
pub(crate) fn prefixes(shared: &Shared) -> Answer {
    admin_answer::json(StatusCode::OK, &hottest(shared))
}

#[derive(Serialize)]
pub(crate) struct Snapshot {
    version: &'static str,
    draining: bool,
    policy: &'static str,
    high_watermark: f64,
    low_watermark: f64,
    max_ongoing: u32,
    residency_entries: usize,
    connections_open: u64,
    point: Point,
    /// Totals by name, as in `/metrics`.
    reasons: BTreeMap<&'static str, u64>,
    keys: BTreeMap<&'static str, u64>,
    responses: [u64; 6],
    retries: u64,
    cancelled: u64,
    refused: u64,
    upstream_errors: u64,
    first_byte_count: u64,
    first_byte_seconds: f64,
    workers: Vec<WorkerNow>,
    prefixes: Vec<PrefixNow>,
}

#[derive(Serialize)]
struct WorkerNow {
    name: String,
    pool: Option<String>,
    state: &'static str,
    weight: f64,
    hot: bool,
    in_flight: u32,
    waiting: u32,
    held: u32,
    uncached_tokens: u64,
    pending_ms: f64,
    residency: usize,
    requests: u64,
    scrape_age: Option<f64>,
    running: Option<f64>,
    queued: Option<f64>,
    kv_use: Option<f64>,
    queried_tokens: Option<f64>,
    hit_tokens: Option<f64>,
}

#[derive(Serialize)]
struct PrefixNow {
    hash: String,
    tokens: u64,
    requests: u32,
}

/// How everything is now. Hashes name prefixes; nothing here comes from a prompt.
pub(crate) fn snapshot(shared: &Shared) -> Snapshot {
    let config = &shared.config;
    let counters = &shared.counters;
    let point = Point::now(shared);
    let now = shared.now();
    let mut workers = Vec::new();
    let mut residency_entries = 0;
    for pool in shared.pools() {
        let roster = pool.roster();
        residency_entries += roster.residency_len();
        for (member, view) in roster.views() {
            let scrape = member.scrape.as_ref();
            let age = scrape.map(|s| now.since(s.at).as_secs_f64());
            workers.push(worker(pool, member, view, age));
        }
    }
    let reasons = Reason::ALL.iter().zip(&counters.decisions);
    let keys = KEY_SOURCES.iter().zip(&counters.keys);
    Snapshot {
        version: env!("CARGO_PKG_VERSION"),
        draining: shared.is_draining(),
        policy: config.policy.as_str(),
        high_watermark: config.placement.high_watermark,
        low_watermark: config.placement.low_watermark,
        max_ongoing: config.placement.max_ongoing,
        residency_entries,
        connections_open: counters.connections_open.get(),
        point,
        reasons: reasons
            .map(|(r, count)| (r.as_str(), count.get()))
            .collect(),
        keys: keys.map(|(k, count)| (k.as_str(), count.get())).collect(),
        responses: std::array::from_fn(|class| counters.responses.get(class).map_or(0, Count::get)),
        retries: counters.retries.all().values().sum(),
        cancelled: counters.cancelled_held.get()
            + counters.cancelled_waiting.get()
            + counters.cancelled_streaming.get(),
        refused: counters.refused.all().values().sum(),
        upstream_errors: counters.upstream_errors.all().values().sum(),
        first_byte_count: counters.first_byte_time.count.get(),
        first_byte_seconds: seconds(counters.first_byte_time.sum_nanos.get()),
        workers,
        prefixes: hottest(shared),
    }
}

fn worker(
    pool: &ModelPool,
    member: &Member,
    view: WorkerView,
    scrape_age: Option<f64>,
) -> WorkerNow {
    let reading = member.scrape.as_ref().map(|scrape| &scrape.reading);
    let value = |signal| reading.and_then(|reading| reading.value(signal));
    WorkerNow {
        // The page names pools only where there are several.
        pool: Some(pool.name.clone()).filter(|name| name != model_pool::DEFAULT),
        state: view.state.as_str(),
        weight: member.weight,
        hot: view.hot,
        in_flight: view.in_flight,
        waiting: view.waiting,
        held: view.held,
        uncached_tokens: view.uncached_tokens,
        pending_ms: view.pending_ms,
        residency: view.residency,
        requests: member.endpoint.requests.get(),
        scrape_age,
        running: value(Signal::Running),
        queued: value(Signal::Waiting),
        kv_use: reading.and_then(Reading::kv_use),
        queried_tokens: value(Signal::PrefixQueries),
        hit_tokens: value(Signal::PrefixHits),
        name: view.name,
    }
}

/// The hottest of every pool together.
fn hottest(shared: &Shared) -> Vec<PrefixNow> {
    let pools = shared.pools().iter();
    let mut all: Vec<HotPrefix> = pools.flat_map(|pool| pool.roster().hottest()).collect();
    all.sort_by(|a, b| b.requests.cmp(&a.requests).then(a.hash.cmp(&b.hash)));
    all.truncate(hottest::TOLD);
    all.into_iter().map(prefix).collect()
}

fn prefix(hot: HotPrefix) -> PrefixNow {
    PrefixNow {
        hash: format!("{:016x}", u64::from_be_bytes(hot.hash)),
        tokens: hot.tokens,
        requests: hot.requests,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean needs no nanoseconds")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
