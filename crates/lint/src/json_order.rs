//! Objects of JSON in static text that have the same keys in another order.

use std::collections::BTreeMap;

use headwater_template::Template;
use headwater_text::Span;

use crate::{finding::Finding, matcher::Matcher, rule::Rule};

/// An object's keys in order, and where it stands.
struct Object<'t> {
    span: Span,
    keys: Vec<&'t str>,
}

/// Deeper objects are not examples for a model.
const MAX_DEPTH: usize = 32;

/// At most one finding: the first object whose keys stood in another order before.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Option<Finding> {
    let is_mine = |rule: &&Rule| matches!(rule.matcher, Matcher::JsonOrder);
    let rule = rules.iter().find(is_mine)?;
    let mut first_order: BTreeMap<Vec<&str>, Object<'_>> = BTreeMap::new();
    for text in template.texts() {
        for object in objects(template.source().slice(*text), text.start) {
            let mut sorted = object.keys.clone();
            sorted.sort_unstable();
            match first_order.get(&sorted) {
                Some(before) if before.keys != object.keys => {
                    let line = template.source().position(before.span.start).line;
                    let cost = template.static_bytes_from(object.span.start);
                    let finding = Finding::new(rule, template, object.span, cost);
                    return Some(
                        finding
                            .related_to(template, before.span, "the same keys in another order")
                            .with("keys", &object.keys.join(", "))
                            .with("line", &line.to_string()),
                    );
                }
                Some(_) => {}
                None => {
                    first_order.insert(sorted, object);
                }
            }
        }
    }
    None
}

/// Every object of static text, the outermost ones only.
pub(crate) fn outermost(template: &Template) -> Vec<Span> {
    let texts = template.texts().iter();
    let all = texts.flat_map(|text| objects(template.source().slice(*text), text.start));
    let mut spans: Vec<Span> = all.map(|object| object.span).collect();
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut end = 0;
    spans.retain(|span| {
        let is_outside = span.start >= end;
        end = end.max(span.end);
        is_outside
    });
    spans
}

/// Every closed object with two keys at least. Braces of other languages have no keys in quotes.
fn objects(text: &str, base: usize) -> Vec<Object<'_>> {
    let mut found = Vec::new();
    let mut open: Vec<Object<'_>> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let ahead = bytes.get(at..).unwrap_or_default();
        let next = match open.is_empty() {
            true => memchr::memchr(b'{', ahead),
            false => memchr::memchr3(b'{', b'}', b'"', ahead),
        };
        let Some(next) = next else {
            return found;
        };
        at += next;
        match bytes[at] {
            b'{' if open.len() < MAX_DEPTH => open.push(Object {
                span: Span {
                    start: base + at,
                    end: base + at,
                },
                keys: Vec::new(),
            }),
            b'}' => {
                if let Some(mut object) = open.pop() {
                    object.span.end = base + at + 1;
                    if object.keys.len() > 1 {
                        found.push(object);
                    }
                }
            }
            b'"' => {
                let Some(end) = string_end(bytes, at) else {
                    // The string goes on behind a value of the template.
                    return found;
                };
                let is_key = text[end..].trim_start().starts_with(':');
                if let Some(object) = open.last_mut().filter(|_| is_key) {
                    object.keys.push(&text[at + 1..end - 1]);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// One behind the closing quote, on the same line.
fn string_end(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return Some(at + 1),
            b'\n' => return None,
            _ => {}
        }
        at += 1;
    }
    None
}
