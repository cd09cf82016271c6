//! SARIF 2.1.0, as code scanning of GitHub reads it.

use headwater_text::{LineTable, Position, Span};
use serde_json::{Value, json};

use super::{Outcome, Report};
use crate::{
    finding::{Finding, Severity},
    fingerprint::Fingerprint,
    rule::Rule,
    rule_set::RuleSet,
};

/// GitHub keeps no more results of one run.
const MOST_RESULTS: usize = 25_000;
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One JSON document with a final newline. `rules` are those that the report was made with.
///
/// Columns count characters, which the run says; paths are relative to `%SRCROOT%`. Suppressed findings
/// are there with their reason.
///
/// # Errors
/// None in practice: every part can be serialized.
pub fn sarif(report: &Report, rules: &RuleSet) -> std::io::Result<String> {
    let mut results = Vec::new();
    for outcome in &report.judged {
        outcome_results(report, rules, outcome, &mut results);
    }
    let is_cut = results.len() > MOST_RESULTS;
    results.truncate(MOST_RESULTS);
    let mut notes: Vec<Value> = report
        .skipped
        .iter()
        .map(|each| notification(report, &each.path, &format!("skipped: {}", each.reason)))
        .collect();
    if is_cut {
        let text = format!("only the first {MOST_RESULTS} results are listed");
        notes.push(json!({"level": "warning", "message": {"text": text}}));
    }
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Headwater",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.rules().iter().map(descriptor).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": "headwater/"},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
            "results": results,
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notes,
            }],
        }],
    });
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

/// What the results of one file have in common.
struct File<'a> {
    rules: &'a RuleSet,
    lines: LineTable,
    artifact: Value,
}

fn outcome_results(report: &Report, rules: &RuleSet, outcome: &Outcome, results: &mut Vec<Value>) {
    let file = File {
        rules,
        lines: LineTable::new(&outcome.text),
        artifact: artifact(report, &outcome.path),
    };
    let named = outcome.findings.iter().zip(outcome.fingerprints());
    for (finding, name) in named {
        results.push(result(&file, finding, name));
    }
    let hidden = outcome.suppressed.iter().map(|each| &each.finding);
    let named = outcome.suppressed.iter().zip(outcome.names(hidden));
    for (each, name) in named {
        let mut result = result(&file, &each.finding, name);
        let mut suppression = json!({"kind": "inSource"});
        if !each.reason.is_empty() {
            suppression["justification"] = json!(each.reason);
        }
        result["suppressions"] = json!([suppression]);
        results.push(result);
    }
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.code.as_str(),
        "name": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": format!("{}\n\n{}", rule.why, rule.help), "markdown": rule_markdown(rule)},
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {"tags": ["prompt-cache", "performance"]},
    })
}

/// A rule as a page: why it costs, what to do, and an example.
pub fn rule_markdown(rule: &Rule) -> String {
    let mut out = format!(
        "{}\n\n{}\n\n**What to do:** {}\n",
        rule.summary, rule.why, rule.help
    );
    if let Some(example) = rule.examples.first() {
        for (title, text) in [("Bad", &example.bad), ("Good", &example.good)] {
            let shown: Vec<String> = text.lines().map(headwater_text::shown).collect();
            let shown = shown.join("\n");
            out.push_str(&format!("\n{title}:\n\n````jinja\n{shown}\n````\n"));
        }
    }
    out
}

fn result(file: &File<'_>, finding: &Finding, name: Fingerprint) -> Value {
    let File {
        rules,
        lines,
        artifact,
    } = file;
    let mut result = json!({
        "ruleId": finding.code.as_str(),
        "level": level(finding.severity),
        "message": {"text": format!("{}. {}", finding.message, finding.help)},
        "locations": [{"physicalLocation": {
            "artifactLocation": artifact,
            "region": region(lines, finding.span),
        }}],
        "partialFingerprints": {"headwaterFinding/v1": name.to_string()},
        "properties": {"costTokens": finding.cost_tokens},
    });
    let index = rules
        .rules()
        .iter()
        .position(|rule| rule.code == finding.code);
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if !finding.related.is_empty() {
        let places = finding.related.iter().map(|related| {
            json!({
                "physicalLocation": {
                    "artifactLocation": artifact,
                    "region": region(lines, related.span),
                },
                "message": {"text": related.message},
            })
        });
        result["relatedLocations"] = places.collect();
    }
    if let Some(fix) = &finding.fix {
        let replacements: Vec<Value> = fix
            .edits
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": region(lines, edit.span),
                    "insertedContent": {"text": edit.replacement},
                })
            })
            .collect();
        result["fixes"] = json!([{
            "description": {"text": format!("{} ({})", fix.title, fix.safety.as_str())},
            "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
        }]);
    }
    result
}

fn region(lines: &LineTable, span: Span) -> Value {
    let Position { line, column } = lines.position(span.start);
    let end = lines.position(span.end);
    json!({
        "startLine": line,
        "startColumn": column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn notification(report: &Report, path: &str, text: &str) -> Value {
    json!({
        "level": "note",
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": artifact(report, path)}}],
    })
}

fn artifact(report: &Report, path: &str) -> Value {
    match path.strip_prefix('/') {
        Some(absolute) => json!({"uri": format!("file:///{}", uri(absolute))}),
        None => {
            json!({"uri": uri(&format!("{}{path}", report.prefix)), "uriBaseId": "%SRCROOT%"})
        }
    }
}

/// A path as a relative reference. Bytes that a URI cannot hold are written as `%XX`.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}
