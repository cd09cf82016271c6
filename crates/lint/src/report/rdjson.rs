//! Reviewdog's diagnostic format.

use headwater_text::Span;
use serde_json::{Value, json};

use super::{Outcome, Report};
use crate::finding::{Finding, Severity};

/// One JSON document with a final newline. Columns count bytes, as that format wants.
///
/// # Errors
/// None in practice: every part can be serialized.
pub fn rdjson(report: &Report) -> std::io::Result<String> {
    let mut diagnostics = Vec::new();
    for outcome in &report.judged {
        let starts = line_starts(&outcome.text);
        let all = outcome.findings.iter();
        diagnostics.extend(all.map(|finding| diagnostic(report, outcome, &starts, finding)));
    }
    let document = json!({"source": {"name": "headwater"}, "diagnostics": diagnostics});
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn diagnostic(report: &Report, outcome: &Outcome, starts: &[usize], finding: &Finding) -> Value {
    let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
    let suggestions: Vec<Value> = edits
        .map(|edit| json!({"range": range(starts, edit.span), "text": edit.replacement}))
        .collect();
    json!({
        "message": format!("{}. {}", finding.message, finding.help),
        "severity": match finding.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Info => "INFO",
        },
        "code": {"value": finding.code.as_str()},
        "location": {
            "path": format!("{}{}", report.prefix, outcome.path),
            "range": range(starts, finding.span),
        },
        "suggestions": suggestions,
    })
}

fn range(starts: &[usize], span: Span) -> Value {
    json!({"start": position(starts, span.start), "end": position(starts, span.end)})
}

fn position(starts: &[usize], offset: usize) -> Value {
    let line = starts.partition_point(|start| *start <= offset);
    json!({"line": line, "column": offset - starts[line.saturating_sub(1)] + 1})
}

fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}
