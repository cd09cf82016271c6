//! Expressions searched for in static text and in the code of tags.

use std::{borrow::Cow, ops::Range};

use headwater_template::{MIN_PROSE_BYTES, PieceKind, Volatility};
use headwater_text::Span;

use crate::{
    code::{Code, Tag, holds},
    finding::Finding,
    matcher::{CodePlace, CodeSearch, Matcher, Search, SearchPlace},
    pattern::Pattern,
    rule::{Family, Rule},
};

/// Longer excerpts say no more in a message.
const MAX_EXCERPT_CHARS: usize = 40;

/// At most one finding a rule and template, with the number of places.
pub(crate) fn find(rules: &[Rule], code: &Code<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules {
        let places = match &rule.matcher {
            _ if !rule.applies_to.holds(code.template) => continue,
            Matcher::Text(search) => in_text(search, rule.code.family(), code),
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

fn in_text(search: &Search, family: Family, code: &Code<'_>) -> Vec<Span> {
    let template = code.template;
    let mut places = Vec::new();
    for text in template.texts() {
        let source = template.source().slice(*text);
        for pattern in search.patterns.iter().filter_map(Pattern::regex) {
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
    if family == Family::Values {
        // The newest turn is new in every request anyway.
        let newest = code.newest_turn();
        places.retain(|place| !holds(newest, place.start));
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
    for (index, tag) in code.tags.iter().enumerate() {
        if !stands(search.place, code, tag) {
            continue;
        }
        let with_arm = match search.place {
            CodePlace::Arms => with_arm(code, index),
            _ => Cow::Borrowed(tag.code),
        };
        let declared = search
            .unless_declared
            .is_some_and(|volatility| is_declared(code, tag, volatility));
        let refused = declared || search.unless.iter().any(|unless| unless.is_match(tag.code));
        let found = all(&search.all, &with_arm).filter(|_| !refused);
        // The first expression is one of the tag itself.
        let found = found.filter(|found| found.end <= tag.code.len());
        if let Some(found) = found {
            let text = code.template.source().slice(tag.span);
            let at = text.find(tag.code).unwrap_or(0);
            places.push(moved(tag.span.start + at, found));
        }
    }
    places
}

/// The code of a condition with that of the values under it; of any other tag its own.
fn with_arm<'t>(code: &Code<'t>, index: usize) -> Cow<'t, str> {
    let tag = code.tags[index];
    if !matches!(tag.word(), "if" | "elif") {
        return Cow::Borrowed(tag.code);
    }
    let Some(arm) = code.arm(index) else {
        return Cow::Borrowed(tag.code);
    };
    // Conditions inside have arms of their own.
    let mut depth = 0_usize;
    let mut text = tag.code.to_owned();
    for inner in &code.tags[index + 1..arm.close] {
        match inner.word() {
            "if" => depth += 1,
            "endif" => depth = depth.saturating_sub(1),
            _ if inner.prints && depth == 0 => {
                text.push(' ');
                text.push_str(inner.code);
            }
            _ => {}
        }
    }
    Cow::Owned(text)
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
fn all(patterns: &[Pattern], code: &str) -> Option<Range<usize>> {
    let first = patterns.first()?.regex()?.find(code)?.range();
    patterns[1..]
        .iter()
        .all(|pattern| pattern.is_match(code))
        .then_some(first)
}

fn stands(place: CodePlace, code: &Code<'_>, tag: &Tag<'_>) -> bool {
    match place {
        CodePlace::Any | CodePlace::Arms => true,
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
