//! The same line of static text twice.

use std::collections::HashMap;

use headwater_text::Span;

use crate::{code::Code, finding::Finding, matcher::Matcher, rule::Rule};

/// At most one finding: the first line that was there before.
pub(crate) fn find(rules: &[Rule], code: &Code<'_>) -> Option<Finding> {
    let (rule, min_bytes) = rules.iter().find_map(|rule| match rule.matcher {
        Matcher::Duplicate { min_bytes } => Some((rule, min_bytes)),
        _ => None,
    })?;
    let source = code.template.source();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut first = None;
    let mut bytes = 0;
    for text in code.template.texts() {
        let mut at = text.start;
        for line in source.slice(*text).split_inclusive('\n') {
            let words = line.trim();
            let start = at + (line.len() - line.trim_start().len());
            at += line.len();
            // Ways of a condition repeat each other, and only one of them is printed.
            if words.len() < min_bytes || code.is_optional(start) {
                continue;
            }
            if let Some(earlier) = seen.insert(words, start) {
                bytes += words.len();
                let end = start + words.len();
                first.get_or_insert((Span { start, end }, earlier));
            }
        }
    }
    let (span, earlier) = first?;
    let line = source.position(earlier).line;
    let finding = Finding::new(rule, code.template, span, bytes);
    let there = Span::new(earlier, earlier + (span.end - span.start));
    let finding = finding.related_to(code.template, there, "the same text stands here");
    Some(finding.with("line", &line.to_string()))
}
