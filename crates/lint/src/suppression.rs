//! `headwater: ignore[HW201] reason` in a comment: takes a finding away, and is one if it takes none.

use headwater_template::{Dialect, Template};
use headwater_text::Span;

use crate::{finding::Finding, matcher::Matcher, rule::Rule};

/// A comment that suppresses.
struct Suppression {
    /// The comment.
    span: Span,
    /// The line on which the comment ends, from 1.
    line: usize,
    /// Ids and codes.
    names: Vec<String>,
    is_used: bool,
}

/// Takes suppressed findings out and adds one for each comment that suppresses nothing.
pub(crate) fn apply(rules: &[Rule], template: &Template, findings: Vec<Finding>) -> Vec<Finding> {
    let mut suppressions = read(template);
    let mut kept: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| !is_suppressed(&mut suppressions, finding))
        .collect();
    let unused = rules
        .iter()
        .find(|rule| matches!(rule.matcher, Matcher::Suppression));
    if let Some(rule) = unused {
        for suppression in suppressions.iter().filter(|each| !each.is_used) {
            let finding = Finding::new(rule, template, suppression.span, 0);
            kept.push(finding.with("name", &suppression.names.join(", ")));
        }
    }
    kept
}

/// A comment speaks for its own line and the next one.
fn is_suppressed(suppressions: &mut [Suppression], finding: &Finding) -> bool {
    let mut suppressed = false;
    for suppression in suppressions {
        let near = [suppression.line, suppression.line + 1].contains(&finding.position.line);
        let named = suppression
            .names
            .iter()
            .any(|name| *name == finding.rule || name.eq_ignore_ascii_case(finding.code.as_str()));
        if near && named {
            suppression.is_used = true;
            suppressed = true;
        }
    }
    suppressed
}

fn read(template: &Template) -> Vec<Suppression> {
    let comments: Vec<(Span, &str)> = match template.dialect() {
        Dialect::Jinja => {
            let own = template.comments().iter();
            own.map(|comment| (comment.span, comment.text.as_str()))
                .collect()
        }
        _ => html_comments(template),
    };
    comments
        .into_iter()
        .filter_map(|(span, text)| {
            let rest = text.trim().strip_prefix("headwater:")?.trim_start();
            let names = rest.strip_prefix("ignore[")?.split_once(']')?.0;
            Some(Suppression {
                span,
                line: template.source().position(span.end).line,
                names: names
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect(),
                is_used: false,
            })
        })
        .collect()
}

fn html_comments(template: &Template) -> Vec<(Span, &str)> {
    let text = template.source().text();
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("<!--").map(|open| at + open) {
        let Some(length) = text[open + 4..].find("-->") else {
            break;
        };
        let close = open + 4 + length;
        comments.push((
            Span {
                start: open,
                end: close + 3,
            },
            &text[open + 4..close],
        ));
        at = close + 3;
    }
    comments
}
