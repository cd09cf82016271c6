//! One page with plots that needs nothing else: no network, no library, light or dark by the reader's wish.

use serde::Serialize;

use crate::outcome::Outcome;
use crate::sweep::Cell;

#[derive(Serialize)]
struct Run<'r> {
    policy: &'static str,
    group: String,
    hit: f64,
    ideal: f64,
    mean: f64,
    p50: f64,
    p99: f64,
    imbalance: f64,
    failed: usize,
    /// Quantiles of the time to the first token at 0, 1, …, 100 of a hundred.
    cdf: Vec<f64>,
    slice_s: f64,
    /// A row a worker.
    load: Vec<Vec<f64>>,
    reasons: &'r [(&'static str, u64)],
}

/// The most points of a line over time, and the most workers that get a line.
const MOST_SLICES: usize = 120;
const MOST_WORKERS: usize = 64;

const PAGE: &str = include_str!("page.html");
/// Where the page takes its data.
const PLACE: &str = "/*DATA*/[]";

/// The page.
#[must_use]
pub fn html(cells: &[Cell]) -> String {
    let runs: Vec<Run<'_>> = cells.iter().map(run).collect();
    // Numbers and strings only: there is nothing in it that could fail.
    let data = serde_json::to_string(&runs).unwrap_or_else(|_| "[]".to_owned());
    // A name may say anything; within a script only this could end it.
    PAGE.replacen(PLACE, &data.replace('<', "\\u003c"), 1)
}

fn run(cell: &Cell) -> Run<'_> {
    let outcome = &cell.outcome;
    let timeline = &outcome.timeline;
    let longest = timeline.load.iter().map(Vec::len).max().unwrap_or(0);
    let step = longest.div_ceil(MOST_SLICES).max(1);
    Run {
        policy: outcome.policy.as_str(),
        group: group(cell),
        hit: outcome.hit_rate(),
        ideal: outcome.hit_share_of_ideal(),
        mean: round(outcome.ttft_ms.mean),
        p50: round(outcome.ttft_ms.percentile(50)),
        p99: round(outcome.ttft_ms.percentile(99)),
        imbalance: outcome.imbalance,
        failed: outcome.failed,
        cdf: outcome.ttft_ms.steps().iter().copied().map(round).collect(),
        slice_s: timeline.slice_ms * step as f64 / 1_000.0,
        load: timeline
            .load
            .iter()
            .take(MOST_WORKERS)
            .map(|row| coarser(row, longest, step))
            .collect(),
        reasons: &outcome.reasons,
    }
}

fn group(cell: &Cell) -> String {
    let outcome: &Outcome = &cell.outcome;
    let load = cell
        .load
        .map_or_else(|| "as recorded".to_owned(), |load| format!("load {load}"));
    format!(
        "{} · {} requests · {} workers · {} router(s) · {} cache tokens · {load}",
        cell.trace, outcome.requests, outcome.workers, outcome.routers, outcome.cache_tokens
    )
}

/// Means of so many slices each.
fn coarser(row: &[f64], longest: usize, step: usize) -> Vec<f64> {
    let at = |slice: usize| row.get(slice).copied().unwrap_or(0.0);
    let means = (0..longest).step_by(step).map(|first| {
        let last = (first + step).min(longest);
        round((first..last).map(at).sum::<f64>() / (last - first) as f64)
    });
    means.collect()
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
