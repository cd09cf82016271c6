//! The report for machines, version 1.

use serde::Serialize;

use super::Report;

#[derive(Serialize)]
struct Version1<'a> {
    version: u32,
    findings: Vec<JsonFinding<'a>>,
    skipped: Vec<JsonSkipped<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'a str,
    code: &'a str,
    severity: &'a str,
    path: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    message: &'a str,
    cost_tokens: usize,
}

#[derive(Serialize)]
struct JsonSkipped<'a> {
    path: &'a str,
    reason: &'a str,
}

/// One JSON document with a final newline. Lines and columns count from 1, columns in characters;
/// the end is one behind the last character.
///
/// # Errors
/// None in practice: every part can be serialized.
pub fn json(report: &Report) -> std::io::Result<String> {
    let findings = report.judged.iter().flat_map(|outcome| {
        outcome.findings.iter().map(|finding| JsonFinding {
            rule: &finding.rule,
            code: finding.code.as_str(),
            severity: finding.severity.as_str(),
            path: &outcome.path,
            line: finding.position.line,
            column: finding.position.column,
            end_line: finding.end.line,
            end_column: finding.end.column,
            message: &finding.message,
            cost_tokens: finding.cost_tokens,
        })
    });
    let skipped = report.skipped.iter().map(|each| JsonSkipped {
        path: &each.path,
        reason: &each.reason,
    });
    let document = Version1 {
        version: 1,
        findings: findings.collect(),
        skipped: skipped.collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}
