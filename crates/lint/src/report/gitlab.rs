//! The code quality report of GitLab.

use serde::Serialize;

use super::Report;
use crate::finding::Severity;

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
    end: usize,
}

/// One JSON array. A fingerprint is that of the finding and its path.
///
/// # Errors
/// None in practice: every part can be serialized.
pub fn gitlab(report: &Report) -> std::io::Result<String> {
    let mut issues = Vec::new();
    for outcome in &report.judged {
        let path = format!("{}{}", report.prefix, outcome.path);
        for (finding, name) in outcome.findings.iter().zip(outcome.fingerprints()) {
            let whole = blake3::hash(format!("{path}\0{name}").as_bytes());
            issues.push(Issue {
                description: format!("{}: {}. {}", finding.code, finding.message, finding.help),
                check_name: finding.rule.clone(),
                fingerprint: whole.to_hex().chars().take(32).collect(),
                severity: match finding.severity {
                    Severity::Error => "major",
                    Severity::Warning => "minor",
                    Severity::Info => "info",
                },
                location: Location {
                    path: path.clone(),
                    lines: Lines {
                        begin: finding.position.line,
                        end: finding.end.line,
                    },
                },
            });
        }
    }
    let mut text = serde_json::to_string_pretty(&issues)?;
    text.push('\n');
    Ok(text)
}
