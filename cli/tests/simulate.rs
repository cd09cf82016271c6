//! `headwater simulate`, run as a person would: every output, wrong input, the same bytes again.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::Path;
use std::process::{Command, Output};

/// Six conversations of six turns on two system prompts, made for this test.
const TALKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/six-talks.jsonl");
const TALKS_ZST: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/traces/six-talks.jsonl.zst"
);

fn simulate(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command
        .env_clear()
        .arg("simulate")
        .args(args)
        .output()
        .unwrap()
}

fn printed(args: &[&str]) -> String {
    let output = simulate(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(errors, "", "nothing but a terminal sees the progress");
    String::from_utf8(output.stdout).unwrap()
}

fn fails(args: &[&str], expected: &str) {
    let output = simulate(args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains(expected),
        "`{errors}` does not say `{expected}`"
    );
}

#[test]
fn all_policies_side_by_side_and_the_same_again() {
    let args = [
        TALKS,
        "--policy",
        "all",
        "--workers",
        "2,3",
        "--format",
        "json",
    ];
    let first = printed(&args);
    assert_eq!(first, printed(&[&args[..], &["--threads", "1"]].concat()));
    let value: serde_json::Value = serde_json::from_str(&first).unwrap();
    let results = value["results"].as_array().unwrap();
    assert!(results.len() >= 40 && results.iter().all(|r| r["finished"] == 36));
    let rate = |policy: &str| {
        results.iter().find(|r| r["policy"] == policy).unwrap()["hit_rate"]
            .as_f64()
            .unwrap()
    };
    assert!(rate("headwater") > rate("round-robin"));
    assert!(rate("oracle") >= rate("headwater"));
}

#[test]
fn compressed_is_the_same() {
    assert_eq!(printed(&[TALKS]), printed(&[TALKS_ZST]));
}

#[test]
fn every_form_of_output() {
    let table = printed(&[
        TALKS,
        "--compare",
        "headwater,llm-d",
        "--load",
        "0.3",
        "--cache-tokens",
        "20000",
    ]);
    assert!(table.starts_with(
        "six-talks: 864 requests, 8 workers, cache of 20000 tokens, load 0.3\npolicy"
    ));
    let csv = printed(&[TALKS, "--policy", "ring", "--format", "csv"]);
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .starts_with("ring,six-talks,8,1,1000000,,36,36,0,0,")
    );
    let folder = tempfile::TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let page_name = page.to_str().unwrap();
    assert_eq!(printed(&[TALKS, "--format", "html", "-o", page_name]), "");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("\"policy\":\"headwater\""));
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "the page needs nothing else"
    );
}

#[test]
fn circumstances_are_taken() {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let scenario = write(
        "s.yaml",
        "incidents:\n- { at_s: 5, do: worker_lost, number: 0 }\n- { at_s: 20, do: worker_back, number: 0 }\n",
    );
    let many = [
        "--routers",
        "3",
        "--split",
        "affinity",
        "--echo",
        "--reported-load",
        "--reported-hits",
        "--rungs",
        "8",
    ];
    let args = [
        &[TALKS, "--engine", "small", "--scenario", scenario.as_str()][..],
        &many,
    ]
    .concat();
    assert!(printed(&args).contains("8 workers, 3 routers"));
    let profile = include_str!("../../crates/simulator/profiles/large.yaml");
    let profile = write(
        "e.yaml",
        &profile.replace("cache_tokens: 1000000", "cache_tokens: 4096"),
    );
    assert!(printed(&[TALKS, "--engine", &profile]).contains("cache of 4096 tokens"));
    let nobody = write(
        "n.yaml",
        "incidents:\n- { at_s: 0, do: worker_lost, number: 0 }\n",
    );
    let args = [TALKS, "--workers", "1", "--scenario", &nobody];
    let text = printed(&[&args[..], &["--policy", "headwater"]].concat());
    let row = text
        .lines()
        .find(|line| line.starts_with("headwater"))
        .unwrap();
    let row: Vec<_> = row.split_whitespace().collect();
    assert_eq!(row[3..6], ["-", "-", "-"], "nothing was answered: {text}");
    let broken = write("b.yaml", "incidents:\n- { at_s: 5, do: worker_eaten }\n");
    fails(&[TALKS, "--scenario", &broken], "worker_eaten");
    fails(&[TALKS, "--engine", &broken], "incidents");
}

#[test]
fn a_run_has_no_more_requests_than_asked_for() {
    let requests = |more: &[&str]| {
        let args = [TALKS, "--policy", "random", "--format", "json"];
        let text = printed(&[args.as_slice(), more].concat());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["results"][0]["requests"].as_u64().unwrap()
    };
    let all = requests(&[]);
    assert!(all > 10, "{all}");
    assert_eq!(requests(&["--requests", "10"]), 10);
    assert_eq!(requests(&["--requests", "10", "--load", "0.5"]), 10);
    assert_eq!(requests(&["--requests", "100000"]), all);
    fails(&[TALKS, "--requests", "0"], "--requests");
    fails(&["--setup", "a", "--requests", "5"], "--requests");
    // What would do nothing is refused.
    fails(&[TALKS, "--over-time"], "--format json");
    fails(&[TALKS, "--users", "5"], "add `--setup a`");
    fails(&[TALKS, "--think-ms", "5"], "add `--setup a`");
    fails(&[TALKS, "--report-every-ms", "5"], "--reported-load");
}

#[test]
fn a_small_published_set_up() {
    let text = printed(&[
        "--setup",
        "a",
        "--users",
        "8",
        "--workers",
        "2",
        "--policy",
        "headwater",
        "--format",
        "json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["results"][0]["trace"], "set-up a");
    assert_eq!(value["results"][0]["turns"].as_array().unwrap().len(), 5);
}

#[test]
fn wrong_input_is_named() {
    fails(&[], "<TRACE>");
    fails(&["nowhere.jsonl"], "cannot read nowhere.jsonl");
    fails(&[TALKS, "--policy", "best"], "no policy is called `best`");
    fails(&[TALKS, "--workers", "0"], "`--workers`");
    fails(&[TALKS, "--load", "0"], "`--load` is 0");
    fails(
        &[TALKS, "--engine", "huge"],
        "neither a built-in profile (large, small) nor a file",
    );
    fails(&[TALKS, "--set", "ageing=99"], "`ageing` is `99`");
    fails(&[TALKS, "--set", "speed=9"], "no setting of this name");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    fails(&[own.to_str().unwrap()], "line 1: no known format");
}
