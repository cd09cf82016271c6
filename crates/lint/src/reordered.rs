//! Stable content that is written out in an unstable order.

use std::collections::BTreeSet;

use headwater_template::{Atom, AtomKind, Dialect, Expression, Piece, PieceKind, Template};

use crate::{
    finding::Finding,
    matcher::{Matcher, Place, Reordered},
    rule::Rule,
};

/// What was found, and about which names.
#[derive(Default)]
pub(crate) struct Reorderings {
    pub(crate) findings: Vec<Finding>,
    pub(crate) roots: BTreeSet<String>,
}

/// Findings in pieces that are not `explained` by a volatile value already.
pub(crate) fn find(
    rules: &[Rule],
    template: &Template,
    explained: &BTreeSet<usize>,
) -> Reorderings {
    let mut found = Reorderings::default();
    let mut seen = BTreeSet::new();
    let last_printed = last_printed(template);
    for (index, piece) in template.pieces().iter().enumerate() {
        let (place, value) = match &piece.kind {
            PieceKind::Loop(value) => (Place::Loop, value),
            PieceKind::Value(value) => (Place::Value, value),
            _ => continue,
        };
        let is_last =
            place == Place::Value && !(piece.prose_bytes_after > 0 || Some(index) < last_printed);
        if explained.contains(&index) || piece.in_last_turn || is_last {
            continue;
        }
        for rule in rules {
            let Matcher::Reordered(reordered) = &rule.matcher else {
                continue;
            };
            let is_about_names = reordered.filters.is_empty()
                && reordered.functions.is_empty()
                && reordered.methods.is_empty();
            // What is handed to `str.format` is text as a rule.
            if template.dialect() == Dialect::StrFormat && is_about_names {
                continue;
            }
            if ![Place::Any, place].contains(&reordered.place) {
                continue;
            }
            // The place in the source tells one cause from another, however often it is printed.
            if let Some(atom) = unordered(reordered, value)
                && seen.insert((rule.id.clone(), atom.span))
            {
                let name = subject(value, atom);
                found
                    .roots
                    .insert(name.split('.').next().unwrap_or(name).to_owned());
                let cost = cost(piece);
                found
                    .findings
                    .push(Finding::new(rule, template, atom.span, cost).with("name", name));
            }
        }
    }
    found
}

/// The last piece that prints a value.
fn last_printed(template: &Template) -> Option<usize> {
    let prints = |piece: &Piece| matches!(piece.kind, PieceKind::Value(_) | PieceKind::Loop(_));
    template.pieces().iter().rposition(prints)
}

fn cost(piece: &Piece) -> usize {
    piece.static_bytes_within + piece.static_bytes_after
}

/// The call or filter that loses the order, unless something behind it restores one.
fn unordered<'e>(reordered: &Reordered, value: &'e Expression) -> Option<&'e Atom> {
    let has = |list: &[String], name: &str| list.iter().any(|each| each == name);
    if let [atom] = value.atoms.as_slice()
        && atom.kind == AtomKind::Variable
        && reordered.variables.matches(&atom.name)
    {
        return Some(atom);
    }
    let at = value.atoms.iter().position(|atom| match atom.kind {
        AtomKind::Filter => has(&reordered.filters, &atom.name),
        AtomKind::Function => has(&reordered.functions, &atom.path),
        AtomKind::Method => {
            has(&reordered.methods, &atom.name)
                || has(&reordered.functions, &atom.path.replace('.', "_"))
        }
        AtomKind::Variable => false,
    })?;
    let atom = &value.atoms[at];
    let restored = value.atoms[at + 1..].iter().any(|behind| {
        behind.kind == AtomKind::Filter && has(&reordered.unless_filters, &behind.name)
    });
    let told = atom
        .keywords
        .iter()
        .any(|keyword| has(&reordered.unless_keywords, keyword));
    let follows = reordered.after_filters.is_empty()
        || value.atoms[..at]
            .iter()
            .any(|before| has(&reordered.after_filters, &before.name));
    (follows && !restored && !told).then_some(atom)
}

/// What is written out: the first variable, else the call itself.
fn subject<'e>(value: &'e Expression, atom: &'e Atom) -> &'e str {
    let variable = value
        .atoms
        .iter()
        .find(|atom| atom.kind == AtomKind::Variable);
    variable.map_or(&atom.path, |variable| &variable.path)
}
