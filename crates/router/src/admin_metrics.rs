//! `/metrics`: what was counted, as Prometheus text. The README lists every name.

use std::fmt::{Display, Write};

use headwater_placement::{At, NoWorker, Reason, WorkerState};

use crate::counters::{
    Count, Counters, DECISION_BOUNDS_MICROS, FIRST_BYTE_BOUNDS_MICROS, HELD_BOUNDS_MICROS,
    Histogram, KEY_SOURCES,
};
use crate::engines::{Reading, Signal};
use crate::roster::Roster;
use crate::shared::Shared;

/// The whole page.
pub(crate) fn text(shared: &Shared) -> String {
    let mut page = Page(String::with_capacity(8 << 10));
    requests(&mut page, &shared.counters);
    failures(&mut page, &shared.counters);
    let counters = &shared.counters;
    page.histogram(
        "decision_seconds",
        &counters.decision_time,
        &DECISION_BOUNDS_MICROS,
    );
    page.counter("held_total", &counters.held_total);
    page.family("held", "gauge");
    page.labelled("held", &[], counters.held.get());
    page.histogram("held_seconds", &counters.held_time, &HELD_BOUNDS_MICROS);
    page.histogram(
        "first_byte_seconds",
        &counters.first_byte_time,
        &FIRST_BYTE_BOUNDS_MICROS,
    );
    let nothing = Count::default();
    let telemetry = shared.telemetry.as_ref();
    let dropped = telemetry.map_or(&nothing, |telemetry| &*telemetry.dropped);
    page.counter("telemetry_dropped_total", dropped);
    workers(&mut page, shared);
    page.0
}

fn requests(page: &mut Page, counters: &Counters) {
    page.counter("requests_total", &counters.requests);
    page.family("decisions_total", "counter");
    for (reason, count) in Reason::ALL.iter().zip(&counters.decisions) {
        page.labelled(
            "decisions_total",
            &[("reason", reason.as_str())],
            count.get(),
        );
    }
    page.family("no_worker_total", "counter");
    for (why, count) in NoWorker::ALL.iter().zip(&counters.no_worker) {
        page.labelled("no_worker_total", &[("reason", why.as_str())], count.get());
    }
    page.family("keys_total", "counter");
    for (source, count) in KEY_SOURCES.iter().zip(&counters.keys) {
        page.labelled("keys_total", &[("source", source.as_str())], count.get());
    }
    page.counter("signatures_total", &counters.signatures);
    page.family("signature_errors_total", "counter");
    for (kind, count) in counters.signature_errors.all() {
        page.labelled("signature_errors_total", &[("kind", kind)], count);
    }
    page.counter("prompt_tokens_total", &counters.prompt_tokens);
    page.counter("matched_tokens_total", &counters.matched_tokens);
    page.counter("cache_reports_total", &counters.cache_reports);
    page.counter(
        "cache_reported_tokens_total",
        &counters.cache_reported_tokens,
    );
    page.counter(
        "cache_expected_tokens_total",
        &counters.cache_expected_tokens,
    );
    page.family("responses_total", "counter");
    for (class, count) in counters.responses.iter().enumerate().skip(1) {
        let class = format!("{class}xx");
        page.labelled("responses_total", &[("class", &class)], count.get());
    }
    page.counter("connections_total", &counters.connections);
    page.family("connections_open", "gauge");
    page.labelled("connections_open", &[], counters.connections_open.get());
}

fn failures(page: &mut Page, counters: &Counters) {
    let by_cause = [
        ("retries_total", &counters.retries),
        ("upstream_errors_total", &counters.upstream_errors),
        ("refused_total", &counters.refused),
        ("breaker_total", &counters.breaker),
    ];
    for (name, counts) in by_cause {
        page.family(name, "counter");
        for (cause, count) in counts.all() {
            page.labelled(name, &[("cause", cause)], count);
        }
    }
    let of_caches = [
        ("kv_events_total", "kind", &counters.kv_events),
        ("kv_event_gaps_total", "outcome", &counters.kv_event_gaps),
    ];
    for (name, label, counts) in of_caches {
        page.family(name, "counter");
        for (value, count) in counts.all() {
            page.labelled(name, &[(label, value)], count);
        }
    }
    page.counter("retries_denied_total", &counters.retries_denied);
    page.family("cancelled_total", "counter");
    let cancelled = [
        ("held", &counters.cancelled_held),
        ("waiting", &counters.cancelled_waiting),
        ("streaming", &counters.cancelled_streaming),
    ];
    for (stage, count) in cancelled {
        page.labelled("cancelled_total", &[("stage", stage)], count.get());
    }
    page.counter("upstream_connects_total", &counters.upstream_connects);
    page.counter("reloads_total", &counters.reloads);
    page.counter("reload_errors_total", &counters.reload_errors);
    page.counter("discovery_errors_total", &counters.discovery_errors);
}

/// What one worker contributes to one family.
type Row = (String, &'static str, Option<&'static str>, f64);

fn workers(page: &mut Page, shared: &Shared) {
    let now = shared.now();
    let pools = shared.pools().iter();
    let rows: Vec<Row> = pools
        .flat_map(|pool| worker_rows(&pool.roster(), now))
        .collect();
    let families = [
        ("worker_state", "gauge"),
        ("worker_requests_total", "counter"),
        ("worker_in_flight", "gauge"),
        ("worker_held", "gauge"),
        ("worker_running", "gauge"),
        ("worker_waiting", "gauge"),
        ("worker_queried_tokens_total", "counter"),
        ("worker_hit_tokens_total", "counter"),
        ("worker_uncached_tokens", "gauge"),
        ("worker_hot", "gauge"),
        ("worker_breaker_open", "gauge"),
        ("worker_kv_use", "gauge"),
        ("worker_residency_entries", "gauge"),
        ("worker_scrape_age_seconds", "gauge"),
        ("worker_scrape_errors_total", "counter"),
        ("worker_signal_missing", "gauge"),
    ];
    for (family, kind) in families {
        page.family(family, kind);
        for (worker, _, detail, value) in rows.iter().filter(|row| row.1 == family) {
            let label = match family {
                "worker_state" => "state",
                _ => "signal",
            };
            match detail {
                Some(detail) => {
                    page.labelled(family, &[("worker", worker), (label, detail)], value);
                }
                None => page.labelled(family, &[("worker", worker)], value),
            }
        }
    }
    page.family("pool_usable_workers", "gauge");
    for pool in shared.pools_in_use() {
        let usable = pool.roster().usable_workers() as u64;
        page.labelled("pool_usable_workers", &[("pool", &pool.name)], usable);
    }
    page.family("residency_entries", "gauge");
    let pools = shared.pools().iter();
    let residency: usize = pools.map(|pool| pool.roster().residency_len()).sum();
    page.labelled("residency_entries", &[], residency);
}

/// Reads the roster once, so that the lock is not held while text is made.
#[expect(
    clippy::cast_precision_loss,
    reason = "Prometheus knows no other numbers"
)]
fn worker_rows(roster: &Roster, now: At) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (member, view) in roster.views() {
        let mut add = |family, detail, value: f64| {
            rows.push((view.name.clone(), family, detail, value));
        };
        let states = [
            WorkerState::Starting,
            WorkerState::Ready,
            WorkerState::Draining,
            WorkerState::Down,
        ];
        for state in states {
            let is = f64::from(u8::from(state == view.state));
            add("worker_state", Some(state.as_str()), is);
        }
        let endpoint = &member.endpoint;
        add(
            "worker_requests_total",
            None,
            endpoint.requests.get() as f64,
        );
        add("worker_in_flight", None, view.in_flight.into());
        add("worker_held", None, view.held.into());
        add("worker_uncached_tokens", None, view.uncached_tokens as f64);
        add("worker_hot", None, f64::from(u8::from(view.hot)));
        let open = !member.breaker.is_closed();
        add("worker_breaker_open", None, f64::from(u8::from(open)));
        add("worker_residency_entries", None, view.residency as f64);
        add(
            "worker_scrape_errors_total",
            None,
            endpoint.scrape_errors.get() as f64,
        );
        // Of a worker that never told anything, since it is known.
        let told_at = member.scrape.as_ref().map_or(member.joined_at, |s| s.at);
        let age = now.since(told_at).as_secs_f64();
        add("worker_scrape_age_seconds", None, age);
        let nothing = Reading::default();
        let reading = member.scrape.as_ref().map_or(&nothing, |s| &s.reading);
        for signal in reading.missing() {
            add("worker_signal_missing", Some(signal.as_str()), 1.0);
        }
        if let Some(scrape) = &member.scrape {
            if let Some(kv_use) = scrape.reading.kv_use() {
                add("worker_kv_use", None, kv_use);
            }
            let told = [
                ("worker_running", Signal::Running),
                ("worker_waiting", Signal::Waiting),
                ("worker_queried_tokens_total", Signal::PrefixQueries),
                ("worker_hit_tokens_total", Signal::PrefixHits),
            ];
            for (family, signal) in told {
                if let Some(value) = scrape.reading.value(signal) {
                    add(family, None, value);
                }
            }
        }
    }
    rows
}

/// The page so far. Writing to a string cannot fail.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str) {
        let _ = writeln!(self.0, "# TYPE headwater_{name} {kind}");
    }

    fn counter(&mut self, name: &str, count: &Count) {
        self.family(name, "counter");
        self.labelled(name, &[], count.get());
    }

    fn labelled(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.0, "headwater_{name}");
        for (index, (label, text)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(self.0, "{before}{label}=\"{text}\"");
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{after} {value}");
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "Prometheus knows no other numbers"
    )]
    fn histogram<const N: usize>(
        &mut self,
        name: &str,
        histogram: &Histogram<N>,
        bounds_micros: &[u64; N],
    ) {
        self.family(name, "histogram");
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        for (bound, count) in bounds_micros.iter().zip(&histogram.buckets) {
            below += count.get();
            let bound = (*bound as f64 / 1e6).to_string();
            self.labelled(&bucket, &[("le", &bound)], below);
        }
        let count = histogram.count.get();
        self.labelled(&bucket, &[("le", "+Inf")], count);
        self.labelled(
            &format!("{name}_sum"),
            &[],
            histogram.sum_nanos.get() as f64 / 1e9,
        );
        self.labelled(&format!("{name}_count"), &[], count);
    }
}
