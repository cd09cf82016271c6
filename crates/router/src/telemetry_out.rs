//! The thread that tells: log lines on stdout, traces to a collector.
//!
//! OTLP over HTTP in JSON is a few lines of our own: the SDK for it would bring more crates
//! than the rest of the router has, for the one kind of span that there is.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::shared::Shared;
use crate::telemetry::{Ending, Logged, Record, Span};

/// Spans that are sent together at most, and how long one may wait for others.
const BATCH: usize = 512;
const FLUSH: Duration = Duration::from_secs(2);

/// A slow collector must not keep the router from ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs until `stop` is dropped, then tells what is left.
pub(crate) fn run(
    shared: &Arc<Shared>,
    mut records: mpsc::Receiver<Record>,
    mut stop: oneshot::Receiver<()>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut out = Out::new(shared);
        let mut ticks = tokio::time::interval(FLUSH);
        loop {
            tokio::select! {
                Some(record) = records.recv() => out.tell(&record).await,
                _ = ticks.tick() => out.flush().await,
                _ = &mut stop => break,
            }
        }
        while let Ok(record) = records.try_recv() {
            out.tell(&record).await;
        }
        out.flush().await;
    });
    Ok(())
}

struct Out<'a> {
    shared: &'a Shared,
    service: String,
    spans: Vec<Value>,
}

impl<'a> Out<'a> {
    fn new(shared: &'a Shared) -> Self {
        let traces = shared.config.traces.as_ref();
        Self {
            shared,
            service: traces.map_or_else(String::new, |traces| traces.service.clone()),
            spans: Vec::new(),
        }
    }

    async fn tell(&mut self, record: &Record) {
        let worker = self.worker(record);
        if record.log == Logged::Yes {
            let mut line = line(record, worker.as_deref()).to_string();
            line.push('\n');
            // A closed pipe means that nobody wants to know.
            let _heard = std::io::stdout().write_all(line.as_bytes());
        }
        if let Some(span) = &record.trace {
            self.spans.push(told_span(record, span, worker.as_deref()));
            if self.spans.len() >= BATCH {
                self.flush().await;
            }
        }
    }

    /// The worker that the answer's tag names, if it is still there in the same life.
    fn worker(&self, record: &Record) -> Option<String> {
        let tag = record.route.as_ref()?.worker;
        self.shared.pools().iter().find_map(|pool| {
            let roster = pool.roster();
            roster
                .tagged(tag)
                .map(|member| member.endpoint.name.clone())
        })
    }

    async fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let telemetry = self.shared.telemetry.as_ref();
        let Some(collector) = telemetry.and_then(|telemetry| telemetry.collector.as_ref()) else {
            return;
        };
        let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        let body = request(&self.service, spans).to_string();
        let sent = timeout(PATIENCE, collector.take(body)).await;
        let problem = match sent {
            Ok(Ok(())) => return,
            Ok(Err(problem)) => problem,
            Err(_) => "it does not answer in time".to_owned(),
        };
        if let Some(telemetry) = telemetry {
            telemetry.dropped.add(count);
        }
        tracing::warn!(problem, spans = count, "traces were not taken");
    }
}

/// One log line.
fn line(record: &Record, worker: Option<&str>) -> Value {
    let route = record.route.as_ref();
    json!({
        "time": seconds(record.began),
        "method": record.method.as_str(),
        "path": record.path,
        "status": record.status.map(|status| status.as_u16()),
        "worker": worker,
        "reason": route.map(|route| route.reason.as_str()),
        "matched_tokens": route.map(|route| route.matched_tokens),
        "first_byte_ms": record.first_byte.map(millis),
        "total_ms": millis(record.total),
        "ended": record.ending.as_str(),
        "cached_tokens": record.cached_tokens,
        "trace_id": record.trace.map(|span| span.context.trace.to_string()),
    })
}

fn told_span(record: &Record, span: &Span, worker: Option<&str>) -> Value {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let number =
        |key: &str, value: u64| json!({"key": key, "value": {"intValue": value.to_string()}});
    let mut attributes = vec![
        text("http.request.method", record.method.as_str()),
        text("url.path", &record.path),
    ];
    let status = record.status.map(|status| u64::from(status.as_u16()));
    attributes.extend(status.map(|status| number("http.response.status_code", status)));
    attributes.extend(worker.map(|worker| text("headwater.worker", worker)));
    if let Some(route) = &record.route {
        attributes.push(text("headwater.reason", &route.reason));
        attributes.push(number(
            "headwater.matched_tokens",
            route.matched_tokens.into(),
        ));
    }
    if let Some(first_byte) = record.first_byte {
        let value = json!({"doubleValue": millis(first_byte)});
        attributes.push(json!({"key": "headwater.first_byte_ms", "value": value}));
    }
    attributes.push(text("headwater.ended", record.ending.as_str()));
    if let Some(tokens) = record.cached_tokens {
        attributes.push(number("headwater.cached_tokens", tokens.into()));
    }
    // A client that leaves is no fault of this side.
    let failed = record.ending == Ending::WorkerCut || status.is_some_and(|status| status >= 500);
    json!({
        "traceId": span.context.trace.to_string(),
        "spanId": span.context.span.to_string(),
        "parentSpanId": span.parent.map_or_else(String::new, |parent| parent.to_string()),
        "name": record.method.as_str(),
        // A server's span.
        "kind": 2,
        "startTimeUnixNano": nanos(record.began).to_string(),
        "endTimeUnixNano": nanos(record.began + record.total).to_string(),
        "attributes": attributes,
        "status": {"code": if failed { 2 } else { 0 }},
    })
}

fn request(service: &str, spans: Vec<Value>) -> Value {
    let name = json!({"key": "service.name", "value": {"stringValue": service}});
    let scope = json!({"name": "headwater-router", "version": env!("CARGO_PKG_VERSION")});
    let scoped = json!({"scope": scope, "spans": spans});
    json!({"resourceSpans": [{"resource": {"attributes": [name]}, "scopeSpans": [scoped]}]})
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn nanos(time: SystemTime) -> u128 {
    since_epoch(time).as_nanos()
}

/// To the millisecond.
fn seconds(time: SystemTime) -> f64 {
    (since_epoch(time).as_secs_f64() * 1e3).round() / 1e3
}

/// To the microsecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
