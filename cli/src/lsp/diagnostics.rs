//! Findings as an editor shows them.

use headwater_lint::{Checked, Finding, RuleSet, Severity};
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
    Position, Range, Uri,
};

use super::place::Place;

/// The findings, or the reason why there are none.
pub(super) fn of(
    checked: &Checked,
    place: &Place<'_>,
    rules: &RuleSet,
    uri: &Uri,
) -> Vec<Diagnostic> {
    match checked {
        Checked::Judged(outcome) => {
            let all = outcome.findings.iter();
            all.map(|finding| diagnostic(finding, place, rules, uri))
                .collect()
        }
        Checked::Unreadable(reason) => vec![unreadable(reason)],
        _ => Vec::new(),
    }
}

pub(super) fn diagnostic(
    finding: &Finding,
    place: &Place<'_>,
    rules: &RuleSet,
    uri: &Uri,
) -> Diagnostic {
    let related = finding
        .related
        .iter()
        .map(|also| DiagnosticRelatedInformation {
            location: Location::new(uri.clone(), place.range(also.span)),
            message: also.message.to_owned(),
        });
    let related: Vec<_> = related.collect();
    let cost = match finding.cost_tokens {
        0 => String::new(),
        n => format!("\nAbout {n} static tokens are at stake."),
    };
    let known = rules.find(&finding.rule).is_ok();
    Diagnostic {
        range: place.range(finding.span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Info => DiagnosticSeverity::INFORMATION,
        }),
        code: known.then(|| NumberOrString::String(finding.code.to_string())),
        source: Some("headwater".to_owned()),
        message: format!("{}\n{}{cost}", finding.message, finding.help),
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}

/// The reason begins with `line:column: `.
fn unreadable(reason: &str) -> Diagnostic {
    let mut parts = reason.splitn(3, ':');
    let mut number = || parts.next()?.parse::<u32>().ok()?.checked_sub(1);
    let position = number().zip(number());
    let (line, column) = position.unwrap_or_default();
    let words = match (position, parts.next()) {
        (Some(_), Some(words)) => words.trim_start(),
        _ => reason,
    };
    let at = Position::new(line, column);
    Diagnostic {
        range: Range::new(at, at),
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("headwater".to_owned()),
        message: words.to_owned(),
        ..Diagnostic::default()
    }
}
