//! How the messages of a conversation are printed: a prompt may only grow at its end.

use std::{collections::BTreeSet, sync::LazyLock};

use headwater_template::{Atom, AtomKind, Expression, Piece, PieceKind};
use headwater_text::Span;
use regex::Regex;

use crate::{
    code::{Block, Code, HISTORY},
    finding::Finding,
    matcher::{HistoryFault, Matcher},
    names::Namer,
    pattern::{own, snake_case},
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

/// A conversation that is printed as one value. A `transcript` may be the one thing to read.
static WHOLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    own(r"^(?:(?:chat_|conversation_|message_)?history|(?:chat_|past_)?messages|_conversation)$")
});

/// Values of these rules are other ones in the next request of the same conversation.
const EACH_REQUEST: [&str; 5] = ["HW101", "HW201", "HW203", "HW206", "HW207"];

/// Findings of all rules about histories.
pub(crate) fn find(namer: &Namer<'_>, code: &Code<'_>, volatile: &Volatiles) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in namer.rules {
        let Matcher::History(fault) = &rule.matcher else {
            continue;
        };
        let places = match fault {
            HistoryFault::Window => unnamed(window(code)),
            HistoryFault::Newest => unnamed(newest_first(code)),
            HistoryFault::Clock => unnamed(clock(namer, code, volatile)),
            HistoryFault::ValueAhead => values_ahead(namer, code, volatile),
            HistoryFault::TextBehind => text_behind(code),
        };
        for (span, name) in places {
            let cost = code.template.static_bytes_from(span.start);
            let finding = Finding::new(rule, code.template, span, cost);
            findings.push(finding.with("name", &name));
        }
    }
    findings
}

/// Where a fault is, and the value that it is about.
type Places = Vec<(Span, String)>;

fn unnamed(place: Option<Span>) -> Places {
    place
        .map(|span| (span, String::new()))
        .into_iter()
        .collect()
}

/// Values ahead of a conversation that nothing static follows: that fault would be the dearer one.
fn values_ahead(namer: &Namer<'_>, code: &Code<'_>, volatile: &Volatiles) -> Places {
    let pieces = code.template.pieces();
    let last = pieces.iter().rposition(is_history).unwrap_or(0);
    let mut seen = BTreeSet::new();
    let mut places = Vec::new();
    for (index, piece) in pieces[..last].iter().enumerate() {
        let (PieceKind::Value(value) | PieceKind::Loop(value)) = &piece.kind else {
            continue;
        };
        if piece.in_last_turn || volatile.pieces.contains(&index) || reads_history(value) {
            continue;
        }
        let Some((rule, atom)) = namer.classify(value) else {
            continue;
        };
        let is_new = EACH_REQUEST.contains(&rule.code.as_str())
            && !volatile.roots.contains(atom.root())
            && seen.insert(atom.root());
        if is_new {
            let span = if atom.derived { piece.span } else { atom.span };
            places.push((span, atom.path.clone()));
        }
    }
    places
}

/// A part of the chat is the conversation so far, and more is said behind it than the newest turn.
fn text_behind(code: &Code<'_>) -> Places {
    let mut pieces = code.template.pieces().iter();
    let found = pieces.find_map(|piece| match &piece.kind {
        PieceKind::History(value) if piece.precedes_prose() => {
            Some((piece.span, value.atoms.first()?.path.clone()))
        }
        _ => None,
    });
    found.into_iter().collect()
}

/// It prints the messages of a conversation. Parts of a message have longer paths.
fn is_history(piece: &Piece) -> bool {
    match &piece.kind {
        PieceKind::History(_) => true,
        PieceKind::Loop(value) => value.atoms.iter().any(|atom| is_whole(atom, &atom.name)),
        PieceKind::Value(value) => match value.atoms.as_slice() {
            [atom] => !atom.derived && is_whole(atom, &atom.name),
            _ => false,
        },
        _ => false,
    }
}

fn reads_history(value: &Expression) -> bool {
    let mut atoms = value.atoms.iter();
    atoms.any(|atom| is_whole(atom, &atom.name) || is_whole(atom, atom.root()))
}

/// It is a part of a message: what the user said then is said for good.
pub(crate) fn is_of_message(atom: &Atom) -> bool {
    atom.path.contains('.') && is_whole(atom, atom.root())
}

/// A name of the atom is one of a whole conversation.
fn is_whole(atom: &Atom, name: &str) -> bool {
    let whole = WHOLE.as_ref();
    atom.kind == AtomKind::Variable && whole.is_some_and(|whole| whole.is_match(&snake_case(name)))
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
    let found = code
        .history_loops()
        .iter()
        .find(|block| is_reversed(block))?;
    Some(code.tags[found.open].span)
}

/// A value of the moment that is printed beside every message.
fn clock(namer: &Namer<'_>, code: &Code<'_>, volatile: &Volatiles) -> Option<Span> {
    let pieces = code.template.pieces();
    for block in code.history_loops() {
        let body = code.body(*block);
        let found = code.pieces_in(body).filter(|index| {
            let PieceKind::Value(value) = &pieces[*index].kind else {
                return false;
            };
            !volatile.pieces.contains(index) && is_of_the_moment(namer, value)
        });
        if let Some(index) = found.min() {
            return Some(pieces[index].span);
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
