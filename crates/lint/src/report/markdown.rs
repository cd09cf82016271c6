//! A summary for the page of a job.

use super::{Report, text::summary};

/// The page stays readable, and GitHub takes one MiB.
const MOST_ROWS: usize = 100;

/// A heading, a table of findings with the dearest first, and what was skipped.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("### Headwater lint\n\n{}\n", cell(&summary(report)));
    let mut rows: Vec<_> = report
        .judged
        .iter()
        .flat_map(|outcome| outcome.findings.iter().map(move |f| (outcome, f)))
        .collect();
    rows.sort_by_key(|(outcome, f)| (std::cmp::Reverse(f.cost_tokens), &outcome.path, f.span));
    if !rows.is_empty() {
        out.push_str("\n| place | finding | tokens |\n|---|---|---:|\n");
    }
    for (outcome, finding) in rows.iter().take(MOST_ROWS) {
        out.push_str(&format!(
            "| {}:{} | **{}** {}: {} | {} |\n",
            cell(&outcome.path),
            finding.position,
            finding.severity.as_str(),
            finding.code,
            cell(&finding.message),
            finding.cost_tokens
        ));
    }
    if rows.len() > MOST_ROWS {
        out.push_str(&format!("\n{} more.\n", rows.len() - MOST_ROWS));
    }
    if !report.skipped.is_empty() {
        out.push_str("\nSkipped:\n\n");
    }
    for skipped in report.skipped.iter().take(MOST_ROWS) {
        let (path, reason) = (cell(&skipped.path), cell(&skipped.reason));
        out.push_str(&format!("- {path}: {reason}\n"));
    }
    out
}

/// Text that keeps its letters inside of a table. Messages mark names with back quotes, in which only
/// the bar means something.
fn cell(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for c in headwater_text::shown(text).chars() {
        match c {
            '`' => {
                in_code = !in_code;
                out.push(c);
            }
            '|' => out.push_str("\\|"),
            _ if in_code => out.push(c),
            '\\' | '*' | '_' | '[' | ']' | '#' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}
