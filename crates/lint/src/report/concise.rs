//! One line a finding, as compilers and editors read it.

use headwater_text::{Position, shown};

use super::{Report, text::summary};

/// `path:line:column: severity[code] rule: message`, then one line that sums up.
pub fn concise(report: &Report) -> String {
    let mut out = String::new();
    for outcome in &report.judged {
        for finding in &outcome.findings {
            let Position { line, column } = finding.position;
            out.push_str(&format!(
                "{}:{line}:{column}: {}[{}] {}: {}{}\n",
                shown(&outcome.path),
                finding.severity.as_str(),
                finding.code,
                finding.rule,
                finding.message,
                if finding.fix.is_some() { " [*]" } else { "" }
            ));
        }
    }
    for skipped in &report.skipped {
        let path = shown(&skipped.path);
        out.push_str(&format!("{path}: skipped: {}\n", shown(&skipped.reason)));
    }
    out.push_str(&summary(report));
    out.push('\n');
    out
}
