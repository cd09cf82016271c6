//! Values that are less stable than the static text behind them.

use std::collections::{BTreeMap, BTreeSet};

use headwater_template::{Atom, AtomKind, Expression, MIN_PROSE_BYTES, Piece, PieceKind, Template};
use headwater_text::Span;

use crate::{
    code::Code,
    finding::{Finding, Related, estimate_tokens},
    history::is_of_message,
    matcher::Matcher,
    names::Namer,
    rule::{Family, Rule},
};

/// What was found, and which pieces it explains.
#[derive(Default)]
pub(crate) struct Volatiles {
    pub(crate) findings: Vec<Finding>,
    /// Indices of pieces that hold a reported value.
    pub(crate) pieces: BTreeSet<usize>,
    /// First names of reported values.
    pub(crate) roots: BTreeSet<String>,
}

/// Findings of rules about values and conditions.
pub(crate) fn find(namer: &Namer<'_>, code: &Code<'_>) -> Volatiles {
    let template = code.template;
    let history = code.history_loops().last();
    let mut judge = Judge {
        namer,
        template,
        history: history.map(|block| code.tags[block.open].span.start),
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
    judge.hidden_functions();
    judge.found
}

struct Judge<'a> {
    namer: &'a Namer<'a>,
    template: &'a Template,
    /// Where the last loop over the messages of a conversation begins.
    history: Option<usize>,
    found: Volatiles,
    /// By rule and first name: the finding that speaks for all uses, or none for a loop that costs
    /// nothing, and so neither do its items.
    reported: BTreeMap<(String, String), Option<usize>>,
}

impl Judge<'_> {
    fn value(&mut self, index: usize, piece: &Piece, value: &Expression) {
        let Some((rule, atom)) = self.namer.classify(value) else {
            return;
        };
        if atom.derived && rule.code.family() == Family::Order && is_of_message(atom) {
            return;
        }
        let key = (rule.id.clone(), atom.root().to_owned());
        match self.reported.get(&key) {
            Some(Some(first)) => {
                self.found.pieces.insert(index);
                let line = self.template.source().position(piece.span.start).line;
                if piece.precedes_prose() && !atom.derived {
                    let place = self.template.source().in_file(atom.span);
                    also(&mut self.found.findings[*first], line, place);
                }
            }
            Some(None) => {}
            None if piece.precedes_prose() || self.precedes_history(rule, piece) => {
                let span = if atom.derived { piece.span } else { atom.span };
                let finding = Finding::new(rule, self.template, span, piece.static_bytes_after)
                    .with("name", &name(atom))
                    .with(
                        "before",
                        &estimate_tokens(self.static_bytes_before(span)).to_string(),
                    );
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

    /// Functions of rules for chat templates that are printed together with the messages: a value that
    /// is volatile for two reasons is named after the first.
    fn hidden_functions(&mut self) {
        for piece in self.template.pieces() {
            let (PieceKind::Value(value) | PieceKind::Loop(value)) = &piece.kind else {
                continue;
            };
            for atom in &value.atoms {
                let rule = self.namer.function(atom);
                let Some(rule) = rule.filter(|rule| rule.code.family() == Family::ChatTemplates)
                else {
                    continue;
                };
                let key = (rule.id.clone(), atom.root().to_owned());
                if self.history.is_none() || self.reported.contains_key(&key) {
                    continue;
                }
                let before = estimate_tokens(self.static_bytes_before(piece.span)).to_string();
                let finding = Finding::new(rule, self.template, atom.span, 0)
                    .with("name", &name(atom))
                    .with("before", &before);
                self.found.findings.push(finding);
                self.reported.insert(key, None);
            }
        }
    }

    /// A whole conversation that only grows stands behind it, and is lost with it.
    fn precedes_history(&self, rule: &Rule, piece: &Piece) -> bool {
        let about_history = matches!(rule.code.family(), Family::ChatTemplates | Family::History);
        about_history && self.history.is_some_and(|start| piece.span.end <= start)
    }

    fn static_bytes_before(&self, span: Span) -> usize {
        let all = self.template.static_bytes_from(0);
        all - self.template.static_bytes_from(span.start).min(all)
    }

    /// A condition forks the prefix if it is as volatile as a value that would be reported.
    fn condition(&mut self, piece: &Piece, condition: &Expression) {
        let Some(rule) = self
            .namer
            .rules
            .iter()
            .find(|rule| matches!(rule.matcher, Matcher::Condition))
        else {
            return;
        };
        let forks = piece.precedes_prose() && piece.static_bytes_within >= MIN_PROSE_BYTES;
        let Some((class, atom)) = self.namer.classify(condition) else {
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
fn also(finding: &mut Finding, line: usize, place: Span) {
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
    if lines.len() < MOST {
        finding.related.push(Related {
            span: place,
            message: "it is used here too",
        });
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
