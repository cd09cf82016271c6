//! Names bound inside a template, and what stands behind them.

use std::collections::BTreeMap;

use crate::{
    expression::{Atom, AtomKind, Expression},
    tree::Node,
};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Binding<'t> {
    /// Everything that its value was made of.
    Value(Vec<Atom>),
    /// Output that was captured by `{% set x %}…{% endset %}`.
    Captured(Body<'t>),
    /// A macro.
    Macro(MacroParts<'t>),
}

/// Nodes, and the file that they are of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'t> {
    pub(crate) nodes: &'t [Node],
    pub(crate) unit: usize,
}

/// A macro, borrowed from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MacroParts<'t> {
    pub(crate) parameters: &'t [String],
    pub(crate) defaults: &'t [Expression],
    pub(crate) body: Body<'t>,
}

/// The path of all that the caller hands over: `.` in Go, `this` in Handlebars.
pub(crate) const WHOLE: &str = "this";
/// More origins than this say nothing more about a value.
const MAX_ATOMS: usize = 128;

/// The names that hold at a place, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes<'t> {
    stack: Vec<BTreeMap<String, Binding<'t>>>,
}

impl<'t> Scopes<'t> {
    pub(crate) fn enter(&mut self) {
        self.stack.push(BTreeMap::new());
    }

    pub(crate) fn leave(&mut self) {
        self.stack.pop();
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Binding<'t>> {
        self.stack.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Binds a name in the innermost scope.
    pub(crate) fn bind(&mut self, name: &str, binding: Binding<'t>) {
        if let Some(scope) = self.stack.last_mut() {
            scope.insert(name.to_owned(), binding);
        }
    }

    /// Adds to what a name may stand for, where it was bound or here: one way of several may be taken.
    pub(crate) fn widen(&mut self, name: &str, mut atoms: Vec<Atom>) {
        let known = self
            .stack
            .iter_mut()
            .rev()
            .find_map(|scope| scope.get_mut(name));
        match known {
            Some(Binding::Value(before)) => {
                before.append(&mut atoms);
                distinct(before);
            }
            _ => self.bind(name, Binding::Value(atoms)),
        }
    }

    /// An expression with bound names replaced by their origins.
    pub(crate) fn resolve(&self, expression: &Expression) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for atom in &expression.atoms {
            match self.get(atom.root()) {
                Some(Binding::Value(origins)) if atom.kind == AtomKind::Variable => {
                    atoms.extend(origins.iter().map(|origin| behind(origin, atom)));
                }
                _ => atoms.push(atom.clone()),
            }
        }
        distinct(&mut atoms);
        atoms
    }
}

/// `atom` reads `tail` of a name that stands for `origin`.
fn behind(origin: &Atom, atom: &Atom) -> Atom {
    let mut origin = origin.clone();
    origin.derived = true;
    if origin.kind == AtomKind::Variable
        && let Some((_, tail)) = atom.path.split_once('.')
    {
        if origin.path == WHOLE {
            origin.path = tail.to_owned();
            origin.name = atom.name.clone();
            return origin;
        }
        // A chain of loops over itself must not grow without end.
        if origin.path.len() < 256 {
            origin.path = format!("{}.{tail}", origin.path);
            origin.name = atom.name.clone();
        }
    }
    origin
}

fn distinct(atoms: &mut Vec<Atom>) {
    let mut seen = std::collections::BTreeSet::new();
    atoms.retain(|atom| seen.insert((atom.kind, atom.path.clone())));
    atoms.truncate(MAX_ATOMS);
}
