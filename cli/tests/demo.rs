//! `headwater demo` in a small form: real HTTP throughout, and no claim about time.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;

// A multiple of the four workers could bring a conversation back to its worker by round robin.
const CONVERSATIONS: u64 = 5;
const TURNS: u64 = 5;

#[derive(Debug, Deserialize)]
struct Report {
    policies: BTreeMap<String, Figures>,
}

#[derive(Debug, Deserialize)]
struct Figures {
    hit_rate: f64,
    hit_rate_later_turns: f64,
    ttft_mean_ms: f64,
    ttft_p99_ms: f64,
    requests_per_worker: Vec<u64>,
}

#[test]
fn the_same_load_hits_more_under_headwater() {
    let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args([
            "demo",
            "--json",
            "--conversations",
            &CONVERSATIONS.to_string(),
        ])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.is_empty(),
        "no progress bar off a terminal: {errors}"
    );
    let policies = serde_json::from_slice::<Report>(&output.stdout)
        .unwrap()
        .policies;
    let names: Vec<&str> = policies.keys().map(String::as_str).collect();
    assert_eq!(names, ["headwater", "least_requests", "round_robin"]);
    policies
        .iter()
        .for_each(|(name, figures)| check(name, figures));
    let later_hits = |name: &str| policies[name].hit_rate_later_turns;
    assert!(
        later_hits("headwater") > later_hits("round_robin"),
        "{policies:#?}"
    );
}

fn check(name: &str, figures: &Figures) {
    assert!(
        (0.0..=1.0).contains(&figures.hit_rate),
        "{name} {figures:?}"
    );
    assert!(
        (0.0..=1.0).contains(&figures.hit_rate_later_turns),
        "{name} {figures:?}"
    );
    assert!(figures.ttft_mean_ms > 0.0, "{name} {figures:?}");
    assert!(
        figures.ttft_p99_ms >= figures.ttft_mean_ms,
        "{name} {figures:?}"
    );
    assert_eq!(figures.requests_per_worker.len(), 4, "{name}");
    let total: u64 = figures.requests_per_worker.iter().sum();
    assert_eq!(
        total,
        CONVERSATIONS * TURNS,
        "{name}: no request was lost or sent twice"
    );
}
