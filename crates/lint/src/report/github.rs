//! Annotations for a job of GitHub Actions.

use super::{Report, text::summary};
use crate::finding::{Finding, Severity};

/// GitHub shows no more annotations of one kind for a step.
const MOST_OF_A_KIND: usize = 10;

/// One workflow command a finding, the dearest first, as many as GitHub shows; then what is left out and
/// the line that sums up.
pub fn github(report: &Report) -> String {
    let mut all: Vec<(&str, &Finding)> = Vec::new();
    for outcome in &report.judged {
        let findings = outcome.findings.iter();
        all.extend(findings.map(|finding| (outcome.path.as_str(), finding)));
    }
    all.sort_by(|a, b| Finding::by_cost(a.1, b.1).then(a.0.cmp(b.0)));
    let mut out = String::new();
    let mut left_out = 0;
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let of_kind = all.iter().filter(|(_, each)| each.severity == severity);
        for (index, (path, finding)) in of_kind.enumerate() {
            if index < MOST_OF_A_KIND {
                out.push_str(&command(&format!("{}{path}", report.prefix), finding));
            } else {
                left_out += 1;
            }
        }
    }
    for skipped in &report.skipped {
        out.push_str(&format!(
            "skipped {}: {}\n",
            data(&skipped.path),
            data(&skipped.reason)
        ));
    }
    if left_out > 0 {
        out.push_str(&format!(
            "{left_out} more are not shown as annotations; see the report as text or SARIF\n"
        ));
    }
    out.push_str(&summary(report));
    out.push('\n');
    out
}

fn command(path: &str, finding: &Finding) -> String {
    let kind = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let (start, end) = (finding.position, finding.end);
    // GitHub takes columns only inside of one line.
    let columns = if start.line == end.line {
        format!(
            ",col={},endColumn={}",
            start.column,
            end.column.max(start.column)
        )
    } else {
        String::new()
    };
    format!(
        "::{kind} file={},line={},endLine={}{columns},title={}::{}\n",
        property(path),
        start.line,
        end.line,
        property(&format!("{} {}", finding.code, finding.rule)),
        data(&format!("{}. {}", finding.message, finding.help)),
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
