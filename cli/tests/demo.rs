//! `headwater demo` in a small form: real HTTP throughout, and no claim about time.

use std::process::Command;

use serde_json::Value;

const CONVERSATIONS: u64 = 8;
const TURNS: u64 = 5;

#[test]
fn the_same_load_hits_more_under_headwater() {
    let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["demo", "--json", "--conversations", &CONVERSATIONS.to_string()])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.is_empty(), "no progress bar off a terminal: {errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let policies = report["policies"].as_object().unwrap();
    assert_eq!(policies.len(), 3);
    for name in ["round_robin", "least_requests", "headwater"] {
        check_figures(name, &policies[name]);
    }
    let later_hits = |name: &str| policies[name]["hit_rate_later_turns"].as_f64().unwrap();
    assert!(later_hits("headwater") > later_hits("round_robin"), "{report:#}");
}

fn check_figures(name: &str, figures: &Value) {
    for share in ["hit_rate", "hit_rate_later_turns"] {
        let value = figures[share].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value), "{name} {share} {value}");
    }
    for time in ["ttft_mean_ms", "ttft_p99_ms"] {
        assert!(figures[time].as_f64().unwrap() > 0.0, "{name} {time}");
    }
    let requests = figures["requests_per_worker"].as_array().unwrap();
    assert_eq!(requests.len(), 4, "{name}");
    let total: u64 = requests.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(total, CONVERSATIONS * TURNS, "{name}: no request was lost or sent twice");
}
