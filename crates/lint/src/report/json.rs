//! The report for machines, version 1. Its schema is `docs/schemas/lint-report-v1.json`.

use headwater_text::{LineTable, Position, Span};
use serde::Serialize;

use super::{Outcome, Report, TokenCount};
use crate::{
    finding::{Finding, Severity},
    fingerprint::Fingerprint,
    fix::Fix,
};

#[derive(Serialize)]
struct Version1<'a> {
    version: u32,
    findings: Vec<JsonFinding<'a>>,
    suppressed: Vec<JsonSuppressed<'a>>,
    notes: Vec<JsonNote<'a>>,
    skipped: Vec<JsonSkipped<'a>>,
    summary: JsonSummary,
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
    help: &'a str,
    cost_tokens: usize,
    fingerprint: String,
    fix: Option<JsonFix<'a>>,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    safety: &'a str,
    title: &'a str,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Serialize)]
struct JsonEdit<'a> {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    replacement: &'a str,
}

#[derive(Serialize)]
struct JsonSuppressed<'a> {
    #[serde(flatten)]
    finding: JsonFinding<'a>,
    reason: &'a str,
}

#[derive(Serialize)]
struct JsonNote<'a> {
    path: &'a str,
    line: usize,
    column: usize,
    message: &'a str,
}

#[derive(Serialize)]
struct JsonSkipped<'a> {
    path: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct JsonSummary {
    files: usize,
    errors: usize,
    warnings: usize,
    infos: usize,
    suppressed: usize,
    in_baseline: usize,
    skipped: usize,
    uncached_tokens: usize,
    tokens: &'static str,
}

/// One JSON document with a final newline. Lines and columns count from 1, columns in characters;
/// the end is one behind the last character.
///
/// # Errors
/// None in practice: every part can be serialized.
pub fn json(report: &Report) -> std::io::Result<String> {
    let mut document = Version1 {
        version: 1,
        findings: Vec::new(),
        suppressed: Vec::new(),
        notes: Vec::new(),
        skipped: report
            .skipped
            .iter()
            .map(|each| JsonSkipped {
                path: &each.path,
                reason: &each.reason,
            })
            .collect(),
        summary: summary(report),
    };
    for outcome in &report.judged {
        let lines = LineTable::new(&outcome.text);
        let named = outcome.findings.iter().zip(outcome.fingerprints());
        document
            .findings
            .extend(named.map(|(each, name)| finding(outcome, &lines, each, name)));
        let hidden = outcome.suppressed.iter().map(|each| &each.finding);
        let named = outcome.suppressed.iter().zip(outcome.names(hidden));
        document
            .suppressed
            .extend(named.map(|(each, name)| JsonSuppressed {
                finding: finding(outcome, &lines, &each.finding, name),
                reason: &each.reason,
            }));
        document.notes.extend(outcome.notes.iter().map(|note| {
            let Position { line, column } = lines.position(note.span.start);
            JsonNote {
                path: &outcome.path,
                line,
                column,
                message: &note.message,
            }
        }));
    }
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn finding<'a>(
    outcome: &'a Outcome,
    lines: &LineTable,
    finding: &'a Finding,
    name: Fingerprint,
) -> JsonFinding<'a> {
    JsonFinding {
        rule: &finding.rule,
        code: finding.code.as_str(),
        severity: finding.severity.as_str(),
        path: &outcome.path,
        line: finding.position.line,
        column: finding.position.column,
        end_line: finding.end.line,
        end_column: finding.end.column,
        message: &finding.message,
        help: &finding.help,
        cost_tokens: finding.cost_tokens,
        fingerprint: name.to_string(),
        fix: finding.fix.as_ref().map(|each| fix(lines, each)),
    }
}

fn fix<'a>(lines: &LineTable, fix: &'a Fix) -> JsonFix<'a> {
    let edits = fix.edits.iter().map(|edit| {
        let Span { start, end } = edit.span;
        let (start, end) = (lines.position(start), lines.position(end));
        JsonEdit {
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            replacement: &edit.replacement,
        }
    });
    JsonFix {
        safety: fix.safety.as_str(),
        title: &fix.title,
        edits: edits.collect(),
    }
}

fn summary(report: &Report) -> JsonSummary {
    JsonSummary {
        files: report.judged.len(),
        errors: report.count_of(Severity::Error),
        warnings: report.count_of(Severity::Warning),
        infos: report.count_of(Severity::Info),
        suppressed: report.judged.iter().map(|o| o.suppressed.len()).sum(),
        in_baseline: report.in_baseline,
        skipped: report.skipped.len(),
        uncached_tokens: report.lost_tokens(),
        tokens: match report.tokens {
            TokenCount::Estimated => "estimated",
            TokenCount::Counted => "counted",
        },
    }
}
