//! What is told of single requests: traces to a collector, and the metrics page as documented.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Running, Worker, signature, soon};

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
    let attribute = |key: &str| {
        let all = span["attributes"].as_array().unwrap();
        let found = all.iter().find(|a| a["key"] == key).unwrap();
        found["value"].clone()
    };
    assert_eq!(attribute("http.response.status_code")["intValue"], "200");
    let name = worker.address.to_string();
    assert_eq!(attribute("headwater.worker")["stringValue"], name.as_str());
    assert_eq!(attribute("headwater.reason")["stringValue"], "home");
    let text = told.to_string();
    assert!(!text.contains("words") && !text.contains(&signed));
}

#[tokio::test]
async fn a_load_in_an_answer_is_learned_and_not_shown() {
    let worker = Worker::start().await;
    let settings = "metrics: {response_header: true, interval_ms: 600000}\n";
    let router = Running::start(&[&worker], settings);
    worker.does(crate::support::Act::Load);
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
