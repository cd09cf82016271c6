//! Values that are less stable than the static text behind them.

use std::collections::{BTreeMap, BTreeSet};

use headwater_template::{Atom, AtomKind, Expression, Piece, PieceKind, Template, Volatility};

use crate::{
    finding::Finding,
    linter::MIN_PROSE_BYTES,
    reordered::Reorderings,
    rule::{Family, Matcher, Rule},
};

/// What was found, and which pieces it explains.
#[derive(Default)]
pub(crate) struct Volatiles {
    pub(crate) findings: Vec<Finding>,
    /// Indices of pieces that hold a reported value.
    pub(crate) pieces: BTreeSet<usize>,
    /// First names of reported values.
    roots: BTreeSet<String>,
}

/// Findings of rules about values and conditions.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Volatiles {
    let mut judge = Judge {
        rules,
        template,
        found: Volatiles::default(),
        reported: BTreeMap::new(),
    };
    for (index, piece) in template.pieces().iter().enumerate() {
        if let PieceKind::Value(value) | PieceKind::Loop(value) = &piece.kind {
            judge.value(index, piece, value);
        }
    }
    for piece in template.pieces() {
        if let PieceKind::Condition(condition) = &piece.kind {
            judge.condition(piece, condition);
        }
    }
    judge.found
}

/// Something is lost when this piece changes.
fn matters(piece: &Piece) -> bool {
    !piece.in_last_turn && piece.prose_bytes_after >= MIN_PROSE_BYTES
}

struct Judge<'a> {
    rules: &'a [Rule],
    template: &'a Template,
    found: Volatiles,
    /// By rule and first name: the finding that speaks for all uses, or none for a loop that costs
    /// nothing, and so neither do its items.
    reported: BTreeMap<(String, String), Option<usize>>,
}

impl Judge<'_> {
    fn value(&mut self, index: usize, piece: &Piece, value: &Expression) {
        let Some((rule, atom)) = classify(self.rules, self.template, value) else {
            return;
        };
        let key = (rule.id.clone(), atom.root().to_owned());
        match self.reported.get(&key) {
            Some(Some(first)) => {
                self.found.pieces.insert(index);
                let line = self.template.source().position(piece.span.start).line;
                if matters(piece) && !atom.derived {
                    also(&mut self.found.findings[*first], line);
                }
            }
            Some(None) => {}
            None if matters(piece) => {
                let span = if atom.derived { piece.span } else { atom.span };
                let finding = Finding::new(rule, self.template, span, piece.static_bytes_after)
                    .with("name", &name(atom));
                self.found.findings.push(finding);
                self.found.pieces.insert(index);
                self.found.roots.insert(key.1.clone());
                self.reported
                    .insert(key, Some(self.found.findings.len() - 1));
            }
            None if matches!(piece.kind, PieceKind::Loop(_)) => {
                self.reported.insert(key, None);
            }
            None => {}
        }
    }

    /// A condition forks the prefix if it is as volatile as a value that would be reported.
    fn condition(&mut self, piece: &Piece, condition: &Expression) {
        let Some(rule) = self
            .rules
            .iter()
            .find(|rule| matches!(rule.matcher, Matcher::Condition))
        else {
            return;
        };
        let forks = matters(piece) && piece.static_bytes_within >= MIN_PROSE_BYTES;
        let Some((class, atom)) = classify(self.rules, self.template, condition) else {
            return;
        };
        // Which messages there are decides about the structure of every chat prompt.
        let declared = self.template.volatility(atom).is_some();
        if !forks || !(declared || class.code.family() == Family::Values) {
            return;
        }
        if self.found.roots.insert(atom.root().to_owned()) {
            let cost = piece.static_bytes_after;
            let finding = Finding::new(rule, self.template, piece.span, cost);
            self.found.findings.push(finding.with("name", &name(atom)));
        }
    }
}

/// Adds a line to the lines that a finding speaks for; a few of them are enough to find the rest.
fn also(finding: &mut Finding, line: usize) {
    const MOST: usize = 5;
    let (said, listed) = match finding.message.split_once(" (also in line ") {
        Some((said, listed)) => (said, listed.trim_end_matches(')')),
        None => (finding.message.as_str(), ""),
    };
    let mut lines: Vec<&str> = listed.split(", ").filter(|line| !line.is_empty()).collect();
    let new = line.to_string();
    if line == finding.position.line || lines.last() == Some(&new.as_str()) || lines.len() > MOST {
        return;
    }
    lines.push(if lines.len() == MOST { "…" } else { &new });
    finding.message = format!("{said} (also in line {})", lines.join(", "));
}

fn name(atom: &Atom) -> String {
    match atom.kind {
        AtomKind::Function | AtomKind::Method => format!("{}()", atom.path),
        AtomKind::Variable | AtomKind::Filter => atom.path.clone(),
    }
}

/// The rule that names the volatility of a value, and the part of it that is volatile.
///
/// What is declared counts more than a name, and a name says more about a dynamic value than the
/// declaration does.
fn classify<'r, 'e>(
    rules: &'r [Rule],
    template: &Template,
    value: &'e Expression,
) -> Option<(&'r Rule, &'e Atom)> {
    for rule in rules {
        let Matcher::Value {
            names, functions, ..
        } = &rule.matcher
        else {
            continue;
        };
        let named = |atom: &&Atom| match atom.kind {
            AtomKind::Variable => {
                let declared = template.volatility(atom);
                declared.is_none_or(|v| v == Volatility::Dynamic) && names.matches(&atom.path)
            }
            AtomKind::Function | AtomKind::Method => functions.matches(&atom.path),
            AtomKind::Filter => false,
        };
        if let Some(atom) = value.atoms.iter().find(named) {
            return Some((rule, atom));
        }
    }
    let of = |volatility| declared(rules, template, value, volatility);
    of(Volatility::Dynamic).or_else(|| of(Volatility::SemiStatic))
}

fn declared<'r, 'e>(
    rules: &'r [Rule],
    template: &Template,
    value: &'e Expression,
    volatility: Volatility,
) -> Option<(&'r Rule, &'e Atom)> {
    let is_for = |rule: &&Rule| matches!(&rule.matcher, Matcher::Value { declared, .. } if *declared == Some(volatility));
    let rule = rules.iter().find(is_for)?;
    let atom = value
        .atoms
        .iter()
        .find(|atom| template.volatility(atom) == Some(volatility))?;
    Some((rule, atom))
}

/// Names about which nothing is known, in one finding a template.
pub(crate) fn find_unknown(
    rules: &[Rule],
    template: &Template,
    volatile: &Volatiles,
    reordered: &Reorderings,
) -> Vec<Finding> {
    let unknown = rules.iter().find_map(|rule| match &rule.matcher {
        Matcher::Unknown { static_names } => Some((rule, static_names)),
        _ => None,
    });
    let Some((rule, static_names)) = unknown else {
        return Vec::new();
    };
    let mut first = None;
    let mut names: Vec<&str> = Vec::new();
    let mut harmless_loops = BTreeSet::new();
    for (index, piece) in template.pieces().iter().enumerate() {
        let (PieceKind::Value(value) | PieceKind::Loop(value)) = &piece.kind else {
            continue;
        };
        if volatile.pieces.contains(&index) || classify(rules, template, value).is_some() {
            continue;
        }
        let open = value.atoms.iter().filter(|atom| {
            atom.kind == AtomKind::Variable
                && template.volatility(atom).is_none()
                && !static_names.matches(atom.root())
                && !reordered.roots.contains(atom.root())
                && !volatile.roots.contains(atom.root())
        });
        for atom in open {
            if !matters(piece) {
                if matches!(piece.kind, PieceKind::Loop(_)) {
                    harmless_loops.insert(atom.root());
                }
            } else if !harmless_loops.contains(atom.root()) && !names.contains(&atom.root()) {
                names.push(atom.root());
                let span = if atom.derived { piece.span } else { atom.span };
                first.get_or_insert((span, piece.static_bytes_after));
            }
        }
    }
    let Some((span, cost)) = first else {
        return Vec::new();
    };
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    vec![Finding::new(rule, template, span, cost).with("names", &quoted.join(", "))]
}
