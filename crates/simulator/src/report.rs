//! Outcomes on paper: a table for people, JSON and CSV for programs, a page with plots.

use std::fmt::Write as _;

use crate::outcome::Outcome;
use crate::summary::{Summary, summarize};
use crate::sweep::Cell;

mod csv;
mod html;
mod json;

pub use csv::csv;
pub use html::html;
pub use json::{json, json_over_time};

/// A table, a row a run, with a summary below if several configurations were run.
#[must_use]
pub fn table(cells: &[Cell]) -> String {
    let mut text = String::new();
    let width = cells
        .iter()
        .map(|cell| cell.outcome.policy.as_str().len())
        .max()
        .unwrap_or(0)
        .max(6);
    let mut before: Option<&Cell> = None;
    for cell in cells {
        if before.is_none_or(|before| heading(before) != heading(cell)) {
            let gap = if before.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{}", heading(cell));
            let _ = writeln!(
                text,
                "{:<width$} {:>7} {:>7} {:>10} {:>10} {:>10} {:>9} {:>8} {:>7}",
                "policy", "hit", "ideal", "ttft mean", "p50", "p99", "imbalance", "req/s", "failed"
            );
        }
        let _ = writeln!(text, "{}", row(&cell.outcome, width));
        before = Some(cell);
    }
    if let Some(summary) = summarize(cells).filter(|summary| summary.configurations > 1) {
        let _ = write!(text, "\n{}", summary_table(&summary, width));
    }
    text
}

fn heading(cell: &Cell) -> String {
    let outcome = &cell.outcome;
    let load = cell
        .load
        .map_or_else(|| "as recorded".to_owned(), |load| format!("load {load}"));
    let routers = match outcome.routers {
        1 => String::new(),
        many => format!(", {many} routers"),
    };
    format!(
        "{}: {} requests, {} workers{routers}, cache of {} tokens, {load}",
        cell.trace, outcome.requests, outcome.workers, outcome.cache_tokens
    )
}

fn row(outcome: &Outcome, width: usize) -> String {
    // Where nothing was answered there is no time, and 0 ms would be the best of all.
    let answered = outcome.requests > outcome.failed;
    let time = |time| if answered { ms(time) } else { "-".to_owned() };
    format!(
        "{:<width$} {:>6.1}% {:>6.1}% {:>10} {:>10} {:>10} {:>9.2} {:>8.1} {:>7}",
        outcome.policy.as_str(),
        outcome.hit_rate() * 100.0,
        outcome.hit_share_of_ideal() * 100.0,
        time(outcome.ttft_ms.mean),
        time(outcome.ttft_ms.percentile(50)),
        time(outcome.ttft_ms.percentile(99)),
        outcome.imbalance,
        outcome.throughput_rps,
        outcome.failed
    )
}

fn ms(ms: f64) -> String {
    match ms {
        ms if ms >= 100_000.0 => format!("{:.0} s", ms / 1_000.0),
        ms if ms >= 10_000.0 => format!("{:.1} s", ms / 1_000.0),
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

fn summary_table(summary: &Summary, width: usize) -> String {
    let mut text = format!(
        "{} configurations; time to the first token over that of the best single peer ({}), and over\nthat of the best peer of each configuration; hit tokens over those with full knowledge\n",
        summary.configurations, summary.best_peer
    );
    let _ = writeln!(
        text,
        "{:<width$} {:>8} {:>8} {:>9} {:>7} {:>8} {:>7} {:>7} {:>7}",
        "policy", "mean", "p99", "mean/each", "worst", "p99/each", "worst", "hits", "worst"
    );
    let share =
        |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"));
    for line in &summary.lines {
        let _ = writeln!(
            text,
            "{:<width$} {:>8.3} {:>8.3} {:>9.3} {:>7.2} {:>8.3} {:>7.2} {:>7} {:>7}",
            line.policy.as_str(),
            line.mean,
            line.p99,
            line.mean_each,
            line.mean_worst,
            line.p99_each,
            line.p99_worst,
            share(line.hits),
            share(line.hits_worst)
        );
    }
    text
}
