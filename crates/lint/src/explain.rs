//! What a rule is about, for people: always under the same headings.

use std::fmt::Write as _;

use headwater_text::shown;

use crate::{rule::Rule, rule_set::RuleSet};

/// The whole of a rule: what, why it costs, bad, good, fix.
pub fn explain(rule: &Rule) -> String {
    let mut out = format!("{} {} ({})\n", rule.code, rule.id, rule.severity.as_str());
    section(&mut out, "What", &rule.summary);
    section(&mut out, "Why it costs", &rule.why);
    for example in &rule.examples {
        section(&mut out, "Bad", &shown(&example.bad));
        section(&mut out, "Good", &shown(&example.good));
    }
    section(&mut out, "Fix", &rule.help);
    out
}

/// All rules, one a line.
pub fn list(rules: &RuleSet) -> String {
    let width = rules
        .rules()
        .iter()
        .map(|rule| rule.id.len())
        .max()
        .unwrap_or(0);
    rules.rules().iter().fold(String::new(), |mut out, rule| {
        let severity = rule.severity.as_str();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}  {severity:7}  {:width$}  {}",
            rule.code, rule.id, rule.summary
        );
        out
    })
}

fn section(out: &mut String, heading: &str, body: &str) {
    let _ = write!(out, "\n{heading}\n");
    for paragraph in body.trim_end().lines() {
        for line in wrapped(paragraph) {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        }
    }
}

/// Lines of at most 76 characters; a line that is short enough stays as it is.
fn wrapped(paragraph: &str) -> Vec<String> {
    if paragraph.chars().count() <= 76 {
        return vec![paragraph.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > 76 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
