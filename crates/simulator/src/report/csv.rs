//! One line for each run, for spreadsheets.

use std::fmt::Write as _;

use crate::sweep::Cell;

/// A heading and a line a run; names are quoted where they must be (RFC 4180).
#[must_use]
pub fn csv(cells: &[Cell]) -> String {
    let mut text = String::from(
        "policy,trace,workers,routers,cache_tokens,load,requests,finished,failed,retried,hit_rate,hit_share_of_ideal,\
         ttft_mean_ms,ttft_p50_ms,ttft_p90_ms,ttft_p99_ms,total_mean_ms,imbalance,duration_s,throughput_rps\n",
    );
    for cell in cells {
        let outcome = &cell.outcome;
        let load = cell.load.map(|load| load.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "{},{},{},{},{},{load},{},{},{},{},{:.6},{:.6},{:.3},{:.3},{:.3},{:.3},{:.3},{:.4},{:.3},{:.4}",
            outcome.policy,
            quoted(&cell.trace),
            outcome.workers,
            outcome.routers,
            outcome.cache_tokens,
            outcome.requests,
            outcome.finished,
            outcome.failed,
            outcome.retried,
            outcome.hit_rate(),
            outcome.hit_share_of_ideal(),
            outcome.ttft_ms.mean,
            outcome.ttft_ms.percentile(50),
            outcome.ttft_ms.percentile(90),
            outcome.ttft_ms.percentile(99),
            outcome.total_ms.mean,
            outcome.imbalance,
            outcome.duration_s,
            outcome.throughput_rps,
        );
    }
    text
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
