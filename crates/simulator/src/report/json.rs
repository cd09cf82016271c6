//! One object with a result for each run.

use serde::Serialize;
use serde_json::Value;

use crate::outcome::{Outcome, Timelines};
use crate::summary::{Line, summarize};
use crate::sweep::Cell;

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    results: Vec<Result<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
}

#[derive(Serialize)]
struct Result<'r> {
    policy: &'static str,
    trace: &'r str,
    workers: usize,
    routers: usize,
    cache_tokens: u64,
    load: Option<f64>,
    requests: usize,
    finished: usize,
    failed: usize,
    retried: u64,
    prompt_tokens: u64,
    hit_tokens: u64,
    ideal_tokens: u64,
    hit_rate: f64,
    hit_share_of_ideal: f64,
    ttft_mean_ms: f64,
    ttft_p50_ms: f64,
    ttft_p90_ms: f64,
    ttft_p99_ms: f64,
    ttft_p999_ms: f64,
    ttft_max_ms: f64,
    total_mean_ms: f64,
    total_p99_ms: f64,
    imbalance: f64,
    duration_s: f64,
    throughput_rps: f64,
    reasons: serde_json::Map<String, Value>,
    turns: Vec<Turn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_time: Option<OverTime>,
}

/// A number a slice each.
#[derive(Serialize)]
struct OverTime {
    slice_s: f64,
    prompt_tokens: Vec<u64>,
    hit_tokens: Vec<u64>,
    /// By arrival.
    requests: Vec<u64>,
    ttft_sum_ms: Vec<f64>,
    /// Requests at each worker: a row a worker.
    load: Vec<Vec<f64>>,
}

#[derive(Serialize)]
struct Turn {
    turn: usize,
    requests: u64,
    hit_rate: f64,
    ttft_mean_ms: f64,
}

#[derive(Serialize)]
struct Summary {
    configurations: usize,
    best_peer: &'static str,
    policies: Vec<Against>,
}

#[derive(Serialize)]
struct Against {
    policy: &'static str,
    ttft_mean_over_best_peer: f64,
    ttft_p99_over_best_peer: f64,
    ttft_mean_over_best_of_each: f64,
    ttft_mean_over_best_of_each_worst: f64,
    ttft_p99_over_best_of_each: f64,
    ttft_p99_over_best_of_each_worst: f64,
    hits_over_full_knowledge: Option<f64>,
    hits_over_full_knowledge_worst: Option<f64>,
}

/// `{"version": 1, "results": [{"policy", "trace", "workers", "hit_rate", "ttft_mean_ms", …}],
/// "summary": …}`, the summary if several configurations were run.
#[must_use]
pub fn json(cells: &[Cell]) -> String {
    write(cells, |_| None)
}

/// The same with `over_time` in each result: hits, waiting and load in slices of time.
#[must_use]
pub fn json_over_time(cells: &[Cell]) -> String {
    write(cells, |outcome| Some(over_time(outcome)))
}

fn write(cells: &[Cell], over_time: impl Fn(&Outcome) -> Option<OverTime>) -> String {
    let summary = summarize(cells).filter(|summary| summary.configurations > 1);
    let report = Report {
        version: 1,
        results: cells
            .iter()
            .map(|cell| result(cell, over_time(&cell.outcome)))
            .collect(),
        summary: summary.map(|summary| Summary {
            configurations: summary.configurations,
            best_peer: summary.best_peer.as_str(),
            policies: summary.lines.iter().map(against).collect(),
        }),
    };
    // Numbers and strings only: there is nothing in it that could fail.
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}

fn over_time(outcome: &Outcome) -> OverTime {
    let Timelines {
        slice_ms,
        load,
        hits,
        waits,
    } = &outcome.timeline;
    let rows = load.iter();
    OverTime {
        slice_s: slice_ms / 1_000.0,
        prompt_tokens: hits.iter().map(|(all, _)| *all).collect(),
        hit_tokens: hits.iter().map(|(_, hit)| *hit).collect(),
        requests: waits.iter().map(|(requests, _)| *requests).collect(),
        ttft_sum_ms: waits.iter().map(|(_, sum)| round(*sum, 1e3)).collect(),
        load: rows
            .map(|row| row.iter().map(|load| round(*load, 1e3)).collect())
            .collect(),
    }
}

fn result(cell: &Cell, over_time: Option<OverTime>) -> Result<'_> {
    let outcome: &Outcome = &cell.outcome;
    let ttft = &outcome.ttft_ms;
    Result {
        policy: outcome.policy.as_str(),
        trace: &cell.trace,
        workers: outcome.workers,
        routers: outcome.routers,
        cache_tokens: outcome.cache_tokens,
        load: cell.load,
        requests: outcome.requests,
        finished: outcome.finished,
        failed: outcome.failed,
        retried: outcome.retried,
        prompt_tokens: outcome.prompt_tokens,
        hit_tokens: outcome.hit_tokens,
        ideal_tokens: outcome.ideal_tokens,
        hit_rate: round(outcome.hit_rate(), 1e6),
        hit_share_of_ideal: round(outcome.hit_share_of_ideal(), 1e6),
        ttft_mean_ms: round(ttft.mean, 1e3),
        ttft_p50_ms: round(ttft.percentile(50), 1e3),
        ttft_p90_ms: round(ttft.percentile(90), 1e3),
        ttft_p99_ms: round(ttft.percentile(99), 1e3),
        ttft_p999_ms: round(ttft.p999, 1e3),
        ttft_max_ms: round(ttft.percentile(100), 1e3),
        total_mean_ms: round(outcome.total_ms.mean, 1e3),
        total_p99_ms: round(outcome.total_ms.percentile(99), 1e3),
        imbalance: round(outcome.imbalance, 1e4),
        duration_s: round(outcome.duration_s, 1e3),
        throughput_rps: round(outcome.throughput_rps, 1e4),
        reasons: outcome
            .reasons
            .iter()
            .map(|(name, count)| ((*name).to_owned(), (*count).into()))
            .collect(),
        turns: (1..)
            .zip(&outcome.turns)
            .map(|(number, turn)| self::turn(number, turn))
            .collect(),
        over_time,
    }
}

fn turn(number: usize, turn: &crate::outcome::Turn) -> Turn {
    Turn {
        turn: number,
        requests: turn.requests,
        hit_rate: round(
            turn.hit_tokens as f64 / turn.prompt_tokens.max(1) as f64,
            1e6,
        ),
        ttft_mean_ms: round(turn.ttft_sum_ms / turn.requests.max(1) as f64, 1e3),
    }
}

fn against(line: &Line) -> Against {
    Against {
        policy: line.policy.as_str(),
        ttft_mean_over_best_peer: round(line.mean, 1e4),
        ttft_p99_over_best_peer: round(line.p99, 1e4),
        ttft_mean_over_best_of_each: round(line.mean_each, 1e4),
        ttft_mean_over_best_of_each_worst: round(line.mean_worst, 1e4),
        ttft_p99_over_best_of_each: round(line.p99_each, 1e4),
        ttft_p99_over_best_of_each_worst: round(line.p99_worst, 1e4),
        hits_over_full_knowledge: line.hits.map(|hits| round(hits, 1e4)),
        hits_over_full_knowledge_worst: line.hits_worst.map(|hits| round(hits, 1e4)),
    }
}

fn round(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}
