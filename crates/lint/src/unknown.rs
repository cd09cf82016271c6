//! Values and conditions about which nothing is known, each in one finding a template.

use std::collections::{BTreeSet, HashMap};

use headwater_template::{Atom, AtomKind, MIN_PROSE_BYTES, PieceKind, Template};
use headwater_text::Span;

use crate::{
    finding::Finding, matcher::Matcher, names::Namer, pattern::Patterns, reordered::Reorderings,
    volatile::Volatiles,
};

/// Values and loops ahead of static text whose volatility nobody told.
pub(crate) fn find(
    namer: &Namer<'_>,
    template: &Template,
    volatile: &Volatiles,
    reordered: &Reorderings,
) -> Option<Finding> {
    let (rule, static_names) = namer.rules.iter().find_map(|rule| match &rule.matcher {
        Matcher::Unknown { static_names } => Some((rule, static_names)),
        _ => None,
    })?;
    let mut open = Open::new(template, static_names);
    let mut first = None;
    let mut names = Vec::new();
    let mut harmless_loops = BTreeSet::new();
    for (index, piece) in template.pieces().iter().enumerate() {
        let (PieceKind::Value(value) | PieceKind::Loop(value)) = &piece.kind else {
            continue;
        };
        if volatile.pieces.contains(&index) || namer.classify(value).is_some() {
            continue;
        }
        for atom in &value.atoms {
            let root = atom.root();
            if !open.is_open(atom)
                || reordered.roots.contains(root)
                || volatile.roots.contains(root)
            {
                continue;
            }
            if !piece.precedes_prose() {
                if matches!(piece.kind, PieceKind::Loop(_)) {
                    harmless_loops.insert(root);
                }
            } else if !harmless_loops.contains(root) && !names.contains(&root) {
                names.push(root);
                let span = if atom.derived { piece.span } else { atom.span };
                first.get_or_insert((span, piece.static_bytes_after));
            }
        }
    }
    let (span, cost) = first?;
    Some(Finding::new(rule, template, span, cost).with("names", &quoted(&names)))
}

/// Conditions in the middle of static text that print some and whose volatility nobody told.
pub(crate) fn forks(
    namer: &Namer<'_>,
    template: &Template,
    volatile: &Volatiles,
) -> Option<Finding> {
    let (rule, static_names) = namer.rules.iter().find_map(|rule| match &rule.matcher {
        Matcher::Fork { static_names } => Some((rule, static_names)),
        _ => None,
    })?;
    let mut open = Open::new(template, static_names);
    let mut first: Option<(Span, usize)> = None;
    let mut names = Vec::new();
    for piece in template.pieces() {
        let PieceKind::Condition(condition) = &piece.kind else {
            continue;
        };
        let forks = piece.precedes_prose() && piece.static_bytes_within >= MIN_PROSE_BYTES;
        if !forks || namer.classify(condition).is_some() {
            continue;
        }
        let atom = condition
            .atoms
            .iter()
            .find(|atom| open.is_open(atom) && !volatile.roots.contains(atom.root()));
        if let Some(atom) = atom.filter(|atom| !names.contains(&atom.root())) {
            names.push(atom.root());
            first.get_or_insert((piece.span, piece.static_bytes_after));
        }
    }
    let (span, cost) = first?;
    let variants = match u32::try_from(names.len()) {
        Ok(count) if count <= 16 => 2_u64.pow(count).to_string(),
        _ => "more than 65536".to_owned(),
    };
    let finding = Finding::new(rule, template, span, cost);
    Some(
        finding
            .with("names", &quoted(&names))
            .with("variants", &variants),
    )
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Tells names about which nothing is known; asks the patterns once for each.
struct Open<'a> {
    template: &'a Template,
    static_names: &'a Patterns,
    known: HashMap<String, bool>,
}

impl<'a> Open<'a> {
    fn new(template: &'a Template, static_names: &'a Patterns) -> Self {
        Self {
            template,
            static_names,
            known: HashMap::new(),
        }
    }

    fn is_open(&mut self, atom: &Atom) -> bool {
        if atom.kind != AtomKind::Variable || self.template.volatility(atom).is_some() {
            return false;
        }
        let root = atom.root();
        if let Some(open) = self.known.get(root) {
            return *open;
        }
        let open = !self.static_names.matches(root);
        self.known.insert(root.to_owned(), open);
        open
    }
}
