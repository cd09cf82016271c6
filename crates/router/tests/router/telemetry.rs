//! What is told of single requests: traces to a collector, and the metrics page as documented.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Act, Conn, Running, Worker, request, signature, soon, until};

#[tokio::test]
async fn a_trace_goes_through_the_router_to_the_worker_and_to_the_collector() {
    let (worker, collector) = (Worker::start().await, Worker::start().await);
    let settings = format!("traces: {{endpoint: '{}', sample: 0}}\n", collector.url());
    let mut router = Running::start(&[&worker], &settings);
    let above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let signed = signature(1, 1).to_string();
    let headers = [
        ("traceparent", above),
        ("prefix-signature", signed.as_str()),
    ];
    assert_eq!(router.ask(&headers, "the words").await.status, 200);
    // Nobody traces this one: it is passed on as it came.
    let unsampled = above.replace("-01", "-00");
    router.ask(&[("traceparent", &unsampled)], "{}").await;
    assert!(worker.last().0.contains(&unsampled));
    let (head, _) = worker.seen.lock().unwrap()[0].clone();
    let line = head.lines().find(|line| line.starts_with("traceparent: "));
    let sent = line.unwrap().trim_start_matches("traceparent: ").to_owned();
    assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
    assert_ne!(sent, above);

    // What waits is told before the end.
    router.stop();
    router.ended().await;
    let (head, body) = collector.last();
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    let told: Value = serde_json::from_slice(&body).unwrap();
    let scope = &told["resourceSpans"][0]["scopeSpans"][0];
    assert_eq!(scope["spans"].as_array().unwrap().len(), 1);
    let span = &scope["spans"][0];
    assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(span["spanId"], sent.split('-').nth(2).unwrap());
    let attribute = |key: &str| attribute(span, key);
    assert_eq!(attribute("http.response.status_code")["intValue"], "200");
    let name = worker.address.to_string();
    assert_eq!(attribute("headwater.worker")["stringValue"], name.as_str());
    assert_eq!(attribute("headwater.reason")["stringValue"], "home");
    let text = told.to_string();
    assert!(!text.contains("words") && !text.contains(&signed));
}

/// Every span that a collector got.
fn spans(collector: &Worker) -> Vec<Value> {
    let seen = collector.seen.lock().unwrap();
    let mut spans = Vec::new();
    for (_, body) in seen.iter() {
        let told: Value = serde_json::from_slice(body).unwrap();
        let batch = &told["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.extend(batch.as_array().unwrap().iter().cloned());
    }
    spans
}

fn attribute(span: &Value, key: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|a| a["key"] == key);
    found.map_or(Value::Null, |found| found["value"].clone())
}

#[tokio::test]
async fn a_trace_says_how_its_answer_ended() {
    let (worker, collector) = (Worker::start().await, Worker::start().await);
    let settings = format!("traces: {{endpoint: '{}', sample: 1}}\n", collector.url());
    let mut router = Running::start(&[&worker], &settings);
    router.ask(&[], "{}").await;
    worker.does(Act::Cut);
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    while soon("a cut", conn.fill()).await.is_some() {}
    for act in [Act::Stream, Act::Hang] {
        worker.does(act);
        let (before, left) = (worker.requests(), worker.left.load(SeqCst));
        let mut conn = Conn::to(router.address).await;
        conn.send(&request(&[], "{}")).await.unwrap();
        until("a request", || worker.requests() > before).await;
        if act == Act::Stream {
            worker.events.add_permits(1);
            soon("a head", conn.response_head()).await.unwrap();
            soon("an event", conn.chunk()).await.unwrap();
        }
        drop(conn);
        until("its end at the worker", || worker.left.load(SeqCst) > left).await;
    }
    router.stop();
    router.ended().await;
    let mut found = Vec::new();
    for span in spans(&collector) {
        let status = attribute(&span, "http.response.status_code")["intValue"].clone();
        let ended = attribute(&span, "headwater.ended")["stringValue"].clone();
        found.push((status, ended, span["status"]["code"].clone()));
        // Whoever leaves without an answer wants to know whose it was.
        let asked = attribute(&span, "headwater.worker")["stringValue"].clone();
        assert_eq!(asked, worker.address.to_string());
    }
    let expected = [
        (Value::from("200"), Value::from("complete"), Value::from(0)),
        (
            Value::from("200"),
            Value::from("worker_cut"),
            Value::from(2),
        ),
        (
            Value::from("200"),
            Value::from("client_gone"),
            Value::from(0),
        ),
        (Value::Null, Value::from("client_gone"), Value::from(0)),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_trace_says_that_the_router_ended_first() {
    let (worker, collector) = (Worker::start().await, Worker::start().await);
    let endpoint = collector.url();
    let settings = format!("drain_seconds: 0\ntraces: {{endpoint: '{endpoint}', sample: 1}}\n");
    let mut router = Running::start(&[&worker], &settings);
    worker.does(Act::Stream);
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    soon("a head", conn.response_head()).await.unwrap();
    router.stop();
    router.ended().await;
    let told = spans(&collector);
    let ended = attribute(&told[0], "headwater.ended");
    assert_eq!(ended["stringValue"], "router_stopped");
}

#[tokio::test]
async fn what_an_engine_had_cached_is_read_from_the_end_of_its_answer() {
    const ANSWER: &str = r#"{"choices":[{"text":"\"usage\":{\"cached_tokens\":9}"}],"usage":{"prompt_tokens":1029,"prompt_tokens_details":{"cached_tokens":1008}}}"#;
    let (worker, collector) = (Worker::start().await, Worker::start().await);
    worker.does(Act::Json(ANSWER));
    let traces = format!("traces: {{endpoint: '{}', sample: 1}}\n", collector.url());
    let signed = signature(1, 1).to_string();
    let headers = [("prefix-signature", signed.as_str())];
    for (settings, reports) in [("", 0.0), ("metrics: {cached_tokens: true}\n", 2.0)] {
        let mut router = Running::start(&[&worker], &format!("{settings}{traces}"));
        for _ in 0..2 {
            let answer = router.ask(&headers, "{}").await;
            assert_eq!(answer.text(), ANSWER);
        }
        // The second time the first rung was believed to be there.
        for (name, value) in [
            ("cache_reports_total", reports),
            ("cache_reported_tokens_total", reports * 1_008.0),
            ("cache_expected_tokens_total", reports * 512.0),
        ] {
            let found = router.metric(&format!("headwater_{name}")).await;
            assert!((found - value).abs() < 0.1, "{name}: {found}");
        }
        router.stop();
        router.ended().await;
    }
    let told = spans(&collector);
    let cached = told.iter().map(|s| attribute(s, "headwater.cached_tokens"));
    let cached: Vec<Value> = cached.map(|value| value["intValue"].clone()).collect();
    let expected = [Value::Null, Value::Null, "1008".into(), "1008".into()];
    assert_eq!(cached, expected);
}

#[tokio::test]
async fn a_load_in_an_answer_is_learned_and_not_shown() {
    let worker = Worker::start().await;
    let settings = "metrics: {response_header: true, interval_ms: 600000}\n";
    let router = Running::start(&[&worker], settings);
    worker.does(Act::Load);
    let answer = router.ask(&[], "{}").await;
    assert!(
        worker
            .last()
            .0
            .contains("endpoint-load-metrics-format: TEXT")
    );
    assert!(!answer.headers.contains_key("endpoint-load-metrics"));
    assert_eq!(router.state().await["workers"][0]["hot"], true);

    let asks = [("endpoint-load-metrics-format", "JSON")];
    let answer = router.ask(&asks, "{}").await;
    assert!(
        worker
            .last()
            .0
            .contains("endpoint-load-metrics-format: JSON")
    );
    assert!(answer.headers.contains_key("endpoint-load-metrics"));
}

/// Names between backticks in the tables and lists of a text, with what they stand for.
fn documented() -> BTreeSet<String> {
    let readme = include_str!("../../README.md");
    let (_, table) = readme.split_once("| metric (`headwater_…`)").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let first = rows.map(|row| row.split('|').nth(1).unwrap());
    let names = first.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(|name| format!("headwater_{name}")).collect()
}

async fn exported() -> BTreeSet<String> {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    router.ask(&[], "{}").await;
    let page = router.admin("GET", "/metrics").await;
    let families = page.text().lines().filter_map(|line| {
        let name = line.strip_prefix("# TYPE ")?.split(' ').next()?;
        Some(name.to_owned())
    });
    families.collect()
}

#[tokio::test]
async fn the_readme_lists_every_metric_and_no_other() {
    assert_eq!(documented(), exported().await);
}

/// Every word that looks like a metric of ours.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words = text.split(word).filter(|w| w.starts_with("headwater_"));
    words.map(str::to_owned).collect()
}

#[tokio::test]
async fn dashboards_and_alerts_name_only_metrics_that_exist() {
    let exported = exported().await;
    let dashboard = include_str!("../../../../docs/grafana/headwater-router.json");
    let json: Value = serde_json::from_str(dashboard).unwrap();
    assert!(json["panels"].as_array().unwrap().len() > 8);
    let alerts = include_str!("../../../../docs/alerts.yaml");
    for text in [dashboard, alerts] {
        let named = metrics_in(text);
        assert!(named.len() > 8, "{named:?}");
        for name in named {
            let parts = ["_bucket", "_sum", "_count"];
            let family = parts.iter().find_map(|part| name.strip_suffix(part));
            let known = exported.contains(&name) || family.is_some_and(|f| exported.contains(f));
            assert!(known, "{name}");
        }
    }
}

#[tokio::test]
async fn a_name_that_leads_nowhere_leaves_the_workers_as_they_are() {
    let worker = Worker::start().await;
    // Nobody answers at this port, so every question fails.
    let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = silent.local_addr().unwrap();
    drop(silent);
    let settings = format!("discover: [{{dns: a.test, port: 80, server: '{server}'}}]\n");
    let router = Running::start(&[&worker], &settings);
    soon("a failed discovery", async {
        while router.metric("headwater_discovery_errors_total").await < 1.0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(router.ask(&[], "{}").await.status, 200);
}
