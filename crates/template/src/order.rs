//! The order static, semi-static, dynamic: what breaks it, judged and said in one place for the linter
//! and for whoever loads a template to use it.

use std::{collections::BTreeSet, fmt, sync::LazyLock};

use headwater_text::{Position, Span};
use saphyr::{LoadableYamlNode, Yaml};

use crate::{Atom, Expression, Piece, PieceKind, Template, Volatility};

/// Static text of fewer bytes than this is not worth a finding.
pub const MIN_PROSE_BYTES: usize = 8;

/// A declared value ahead of text that is more stable than it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderFault {
    /// The code of the rule that it breaks, `HW101` or `HW102`.
    pub code: &'static str,
    /// How volatile the value is.
    pub volatility: Volatility,
    /// Path of the value.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// Where that begins.
    pub position: Position,
    /// Static bytes that follow it and cannot be reused.
    pub static_bytes_after: usize,
}

impl OrderFault {
    /// What is wrong, in the words of the rule. Names in it are escaped: safe to print.
    pub fn message(&self) -> String {
        let rule = rule(self.volatility);
        rule.message
            .replace("{name}", &headwater_text::shown(&self.name))
    }

    /// The next step.
    pub fn help(&self) -> &'static str {
        &rule(self.volatility).help
    }
}

impl fmt::Display for OrderFault {
    /// ``2:4: HW101 `question` is new in every request, …``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.position, self.code, self.message())
    }
}

impl Piece {
    /// When it changes, static text behind it that is worth caching cannot be reused.
    pub fn precedes_prose(&self) -> bool {
        !self.in_last_turn && self.prose_bytes_after >= MIN_PROSE_BYTES
    }
}

impl Template {
    /// The first variable of a value that is declared to be just this volatile.
    pub fn declared<'e>(&self, value: &'e Expression, volatility: Volatility) -> Option<&'e Atom> {
        let atoms = value.atoms.iter();
        atoms
            .into_iter()
            .find(|atom| self.volatility(atom) == Some(volatility))
    }

    /// Declared values ahead of static text, each name once, in the order of the prompt.
    pub fn order_faults(&self) -> Vec<OrderFault> {
        let mut judged = BTreeSet::new();
        let mut faults = Vec::new();
        for piece in self.pieces() {
            let (PieceKind::Value(value) | PieceKind::Loop(value)) = &piece.kind else {
                continue;
            };
            let of = |volatility| Some((volatility, self.declared(value, volatility)?));
            let found = of(Volatility::Dynamic).or_else(|| of(Volatility::SemiStatic));
            let Some((volatility, atom)) = found else {
                continue;
            };
            // A loop that costs nothing speaks for its items, which have each other's labels behind
            // them.
            let speaks = piece.precedes_prose() || matches!(piece.kind, PieceKind::Loop(_));
            if !speaks || !judged.insert((volatility, atom.root())) || !piece.precedes_prose() {
                continue;
            }
            let span = if atom.derived { piece.span } else { atom.span };
            faults.push(OrderFault {
                code: &rule(volatility).code,
                volatility,
                name: atom.path.clone(),
                span,
                position: self.source().position(span.start),
                static_bytes_after: piece.static_bytes_after,
            });
        }
        faults
    }
}

/// What the linter's rule file says; it is the one home of the words.
#[derive(Debug, Default)]
struct OrderRule {
    code: String,
    message: String,
    help: String,
}

static DYNAMIC: LazyLock<OrderRule> = LazyLock::new(|| {
    OrderRule::read(include_str!(
        "../../../lint-rules/dynamic-before-static.yaml"
    ))
});
static SEMI_STATIC: LazyLock<OrderRule> = LazyLock::new(|| {
    OrderRule::read(include_str!(
        "../../../lint-rules/semi-static-before-static.yaml"
    ))
});

fn rule(volatility: Volatility) -> &'static OrderRule {
    match volatility {
        Volatility::Dynamic => &DYNAMIC,
        Volatility::SemiStatic | Volatility::Static => &SEMI_STATIC,
    }
}

impl OrderRule {
    fn read(yaml: &str) -> Self {
        let documents = Yaml::load_from_str(yaml).unwrap_or_default();
        let field = |name: &str| {
            let value = documents.first().and_then(|rule| rule.as_mapping_get(name));
            value.and_then(Yaml::as_str).unwrap_or_default().to_owned()
        };
        Self {
            code: field("code"),
            message: field("message"),
            help: field("help"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_files_have_words() {
        for (volatility, code) in [
            (Volatility::Dynamic, "HW101"),
            (Volatility::SemiStatic, "HW102"),
        ] {
            let rule = rule(volatility);
            assert_eq!(rule.code, code);
            assert!(rule.message.contains("`{name}`"), "{rule:?}");
            assert!(!rule.help.is_empty());
        }
    }
}
