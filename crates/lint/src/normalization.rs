//! Static text that is not in Unicode form NFC.

use headwater_template::Template;
use headwater_text::{Profile, Span, Step, clean};

use unicode_normalization::UnicodeNormalization as _;

use crate::{finding::Finding, matcher::Matcher, rule::Rule};

/// At most one finding a file: the cause is a tool that wrote all of it.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Option<Finding> {
    let rule = rules
        .iter()
        .find(|rule| matches!(rule.matcher, Matcher::Normalization))?;
    let spans = spans(template);
    let first = *spans.first()?;
    let cost = template.static_bytes_from(first.start);
    let finding = Finding::new(rule, template, first, cost);
    Some(finding.with("count", &spans.len().to_string()))
}

/// Every place of the static text that is not composed.
pub(crate) fn spans(template: &Template) -> Vec<Span> {
    let texts = template.texts().iter();
    texts.flat_map(|text| changed(template, *text)).collect()
}

/// A text in form NFC.
pub(crate) fn composed(text: &str) -> String {
    text.nfc().collect()
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
