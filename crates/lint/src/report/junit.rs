//! JUnit XML: a suite a file, a failure a finding.

use super::Report;

/// An XML document with a final newline.
pub fn junit(report: &Report) -> String {
    let failures = report.count();
    let skipped = report.skipped.len();
    let clean = |findings: usize| usize::from(findings == 0);
    let tests: usize = report
        .judged
        .iter()
        .map(|o| o.findings.len() + clean(o.findings.len()))
        .sum();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"headwater\" tests=\"{}\" failures=\"{failures}\" errors=\"0\">\n",
        tests + skipped
    );
    for outcome in &report.judged {
        let path = escaped(&outcome.path);
        let found = outcome.findings.len();
        out.push_str(&format!(
            "  <testsuite name=\"{path}\" tests=\"{}\" failures=\"{found}\" errors=\"0\" skipped=\"0\">\n",
            found + clean(found)
        ));
        if found == 0 {
            out.push_str(&format!(
                "    <testcase name=\"lint\" classname=\"{path}\"/>\n"
            ));
        }
        for finding in &outcome.findings {
            let name = format!("{} {} at {}", finding.code, finding.rule, finding.position);
            out.push_str(&format!(
                "    <testcase name=\"{}\" classname=\"{path}\">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                escaped(&name),
                finding.severity.as_str(),
                escaped(&finding.message),
                escaped(&finding.help),
            ));
        }
        out.push_str("  </testsuite>\n");
    }
    for each in &report.skipped {
        let path = escaped(&each.path);
        out.push_str(&format!(
            "  <testsuite name=\"{path}\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n    <testcase name=\"lint\" classname=\"{path}\"><skipped message=\"{}\"/></testcase>\n  </testsuite>\n",
            escaped(&each.reason)
        ));
    }
    out.push_str("</testsuites>\n");
    out
}

/// XML 1.0 has no way at all to write most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c if c.is_control() => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
