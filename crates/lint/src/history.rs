//! How the messages of a conversation are printed: a prompt may only grow at its end.

use std::sync::LazyLock;

use headwater_template::{Expression, PieceKind};
use headwater_text::Span;
use regex::Regex;

use crate::{
    code::{Block, Code, HISTORY},
    finding::Finding,
    matcher::{HistoryFault, Matcher},
    names::Namer,
    pattern::own,
    rule::Family,
    volatile::Volatiles,
};

/// `messages[-20:]`, `history | last_n(8)`, `messages[messages | length - 6:]`
static WINDOW: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = format!(
        r"\b(?:{HISTORY})\s*\[\s*-\s*[\w.]+\s*:\s*\]|\b(?:{HISTORY})\s*\[[^\]:]*(?:length|count|len\()[^\]:]*-[^\]:]*:\s*\]|\b(?:{HISTORY})\s*\|\s*(?:last_n|tail|takelast|take_last|window|trim_messages|last_messages)\b|\b(?:trim_messages|last_n|tail)\s*\(\s*(?:{HISTORY})\b"
    );
    own(&pattern)
});

/// `messages | reverse`, `history[::-1]`
static NEWEST_FIRST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = format!(
        r"\b(?:{HISTORY})\s*(?:\|\s*reversed?\b|\[\s*:\s*:\s*-\s*1\s*\])|\breversed\s*\(\s*(?:{HISTORY})\b"
    );
    own(&pattern)
});

/// Findings of all rules about histories.
pub(crate) fn find(namer: &Namer<'_>, code: &Code<'_>, volatile: &Volatiles) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in namer.rules {
        let Matcher::History(fault) = &rule.matcher else {
            continue;
        };
        let place = match fault {
            HistoryFault::Window => window(code),
            HistoryFault::Newest => newest_first(code),
            HistoryFault::Clock => clock(namer, code, volatile),
        };
        if let Some(span) = place {
            let cost = code.template.static_bytes_from(span.start);
            findings.push(Finding::new(rule, code.template, span, cost));
        }
    }
    findings
}

fn window(code: &Code<'_>) -> Option<Span> {
    let pattern = WINDOW.as_ref()?;
    let found = code.tags.iter().find(|tag| pattern.is_match(tag.code))?;
    Some(found.span)
}

/// Only a loop that prints its items; others look for the last message of the user.
fn newest_first(code: &Code<'_>) -> Option<Span> {
    let pattern = NEWEST_FIRST.as_ref()?;
    let is_reversed = |block: &Block| {
        pattern.is_match(code.tags[block.open].code) && code.prints_value(code.body(*block))
    };
    let found = code.history_loops().find(is_reversed)?;
    Some(code.tags[found.open].span)
}

/// A value of the moment that is printed beside every message.
fn clock(namer: &Namer<'_>, code: &Code<'_>, volatile: &Volatiles) -> Option<Span> {
    let pieces = code.template.pieces();
    for block in code.history_loops() {
        let body = code.body(block);
        let inside = |span: Span| body.start <= span.start && span.end <= body.end;
        let found = pieces.iter().enumerate().find(|(index, piece)| {
            let PieceKind::Value(value) = &piece.kind else {
                return false;
            };
            inside(piece.span) && !volatile.pieces.contains(index) && is_of_the_moment(namer, value)
        });
        if let Some((_, piece)) = found {
            return Some(piece.span);
        }
    }
    None
}

/// What belongs to a message is kept with it, as its own time is.
fn is_of_the_moment(namer: &Namer<'_>, value: &Expression) -> bool {
    namer.classify(value).is_some_and(|(rule, atom)| {
        let own = !atom.derived && !atom.path.contains('.');
        own && rule.code.family() == Family::Values
            && ["HW201", "HW202", "HW203", "HW207"].contains(&rule.code.as_str())
    })
}
