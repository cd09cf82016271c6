//! Static text that is not in Unicode form NFC.

use headwater_template::Template;
use headwater_text::{Profile, Span, Step, clean};

use crate::{finding::Finding, matcher::Matcher, rule::Rule};

/// At most one finding a file: the cause is a tool that wrote all of it.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Option<Finding> {
    let rule = rules
        .iter()
        .find(|rule| matches!(rule.matcher, Matcher::Normalization))?;
    let spans: Vec<Span> = template
        .texts()
        .iter()
        .flat_map(|text| changed(template, *text))
        .collect();
    let first = *spans.first()?;
    let cost = template.static_bytes_from(first.start);
    let finding = Finding::new(rule, template, first, cost);
    Some(finding.with("count", &spans.len().to_string()))
}

/// Where cleaning would normalize. A text with forbidden characters is not cleaned; other rules
/// report those first.
fn changed(template: &Template, text: Span) -> Vec<Span> {
    let source = template.source().slice(text);
    if source.is_ascii() {
        return Vec::new();
    }
    let Ok(cleaned) = clean(source, Profile::Strict) else {
        return Vec::new();
    };
    let changes = cleaned
        .changes
        .iter()
        .filter(|change| change.step == Step::Nfc);
    changes
        .map(|change| Span {
            start: text.start + change.span.start,
            end: text.start + change.span.end,
        })
        .collect()
}
