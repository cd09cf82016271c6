//! Expressions searched for in static text and in the code of tags.

use std::ops::Range;

use headwater_template::{MIN_PROSE_BYTES, PieceKind, Volatility};
use headwater_text::Span;
use regex::Regex;

use crate::{
    code::{Code, Tag},
    finding::Finding,
    matcher::{CodePlace, CodeSearch, Matcher, Search, SearchPlace},
    rule::Rule,
};

/// Longer excerpts say no more in a message.
const MAX_EXCERPT_CHARS: usize = 40;

/// At most one finding a rule and template, with the number of places.
pub(crate) fn find(rules: &[Rule], code: &Code<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules {
        let places = match &rule.matcher {
            _ if !rule.applies_to.holds(code.template) => continue,
            Matcher::Text(search) => in_text(search, code),
            Matcher::Code(search) => in_code(search, code),
            _ => continue,
        };
        if let Some(first) = places.first() {
            findings.push(finding(rule, code, *first, places.len()));
        }
    }
    findings
}

fn finding(rule: &Rule, code: &Code<'_>, span: Span, count: usize) -> Finding {
    let found = code.template.source().slice(span);
    let mut excerpt: String = found.chars().take(MAX_EXCERPT_CHARS).collect();
    if excerpt.len() < found.len() {
        excerpt.push('…');
    }
    let cost = code.template.static_bytes_from(span.start);
    Finding::new(rule, code.template, span, cost)
        .with("count", &count.to_string())
        .with("found", &excerpt)
}

fn in_text(search: &Search, code: &Code<'_>) -> Vec<Span> {
    let template = code.template;
    let mut places = Vec::new();
    for text in template.texts() {
        let source = template.source().slice(*text);
        for pattern in &search.patterns {
            for found in pattern.find_iter(source) {
                let refused = search
                    .unless
                    .iter()
                    .any(|unless| unless.is_match(found.as_str()));
                if !refused {
                    places.push(moved(text.start, found.range()));
                }
            }
        }
    }
    places.sort();
    if search.at == SearchPlace::Start {
        // The prompt begins with it: nothing else is printed before.
        let before = |place: &Span| {
            let head = template
                .source()
                .text()
                .get(template.body_start()..place.start);
            head.is_some_and(|head| head.trim().is_empty())
        };
        places.retain(before);
    }
    places
}

fn in_code(search: &CodeSearch, code: &Code<'_>) -> Vec<Span> {
    let mut places = Vec::new();
    for tag in &code.tags {
        if !stands(search.place, code, tag) {
            continue;
        }
        let declared = search
            .unless_declared
            .is_some_and(|volatility| is_declared(code, tag, volatility));
        let refused = declared || search.unless.iter().any(|unless| unless.is_match(tag.code));
        let found = all(&search.all, tag.code).filter(|_| !refused);
        if let Some(found) = found {
            let text = code.template.source().slice(tag.span);
            let at = text.find(tag.code).unwrap_or(0);
            places.push(moved(tag.span.start + at, found));
        }
    }
    places
}

/// Somebody said of a name in the tag how stable it is.
fn is_declared(code: &Code<'_>, tag: &Tag<'_>, volatility: Volatility) -> bool {
    code.pieces_in(tag.span)
        .any(|index| match &code.template.pieces()[index].kind {
            PieceKind::Loop(value) | PieceKind::Value(value) => {
                code.template.declared(value, volatility).is_some()
            }
            _ => false,
        })
}

/// The place of the first expression, if all of them are found.
fn all(patterns: &[Regex], code: &str) -> Option<Range<usize>> {
    let first = patterns.first()?.find(code)?.range();
    patterns[1..]
        .iter()
        .all(|pattern| pattern.is_match(code))
        .then_some(first)
}

fn stands(place: CodePlace, code: &Code<'_>, tag: &Tag<'_>) -> bool {
    match place {
        CodePlace::Any => true,
        CodePlace::Values => tag.prints,
        CodePlace::History => code.is_in_history(tag.span),
        CodePlace::AheadOfPrompt => {
            tag.prints && (precedes_prose(code, tag) || code.precedes_history(tag))
        }
    }
}

fn precedes_prose(code: &Code<'_>, tag: &Tag<'_>) -> bool {
    // The first one in order of the prompt.
    match code.pieces_in(tag.span).min() {
        Some(index) => code.template.pieces()[index].precedes_prose(),
        None => code.template.static_bytes_from(tag.span.end) >= 4 * MIN_PROSE_BYTES,
    }
}

fn moved(base: usize, range: Range<usize>) -> Span {
    Span {
        start: base + range.start,
        end: base + range.end,
    }
}
