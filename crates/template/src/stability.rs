//! Where the text of a template begins to depend on values that change: before which tags.
//!
//! Names carry the volatility of what they are made of, through `set`, loops, macros and the
//! conditions around them, until nothing changes any more. In doubt a name is less stable.

use std::collections::BTreeMap;

use headwater_text::Span;

use crate::{
    Atom, AtomKind, Expression, Volatility,
    tree::{Arm, Node},
};

/// What the analysis found.
#[derive(Debug, Default)]
pub(crate) struct Stability {
    /// For each byte at which a tag begins, how volatile what it prints is; only tags that are not
    /// static.
    pub(crate) borders: BTreeMap<usize, Volatility>,
    /// Names that the caller must hand in and nobody declared, where they are read first.
    pub(crate) undeclared: Vec<(String, Span)>,
}

/// Names that every template has.
const BUILTIN: [&str; 10] = [
    "loop",
    "caller",
    "varargs",
    "kwargs",
    "self",
    "super",
    "true",
    "false",
    "none",
    "namespace",
];
/// Passes over the tree; a chain of more than this many names is taken to be dynamic.
const MAX_PASSES: usize = 24;

/// Analyses a tree. `declared` knows the volatility of the caller's names.
pub(crate) fn analyse(tree: &[Node], declared: impl Fn(&Atom) -> Option<Volatility>) -> Stability {
    let mut walk = Walk {
        declared: &declared,
        slots: Vec::new(),
        next: 0,
        scopes: Vec::new(),
        macros: BTreeMap::new(),
        control: vec![Volatility::Static],
        captures: 0,
        is_settled: false,
        found: Stability::default(),
    };
    for _ in 0..MAX_PASSES {
        walk.pass(tree);
        if walk.is_settled {
            return walk.found;
        }
    }
    walk.slots.fill(Volatility::Dynamic);
    walk.pass(tree);
    walk.found
}

/// A name in one scope. Each pass meets the same names in the same order.
type Slot = usize;

struct Walk<'a, F> {
    declared: &'a F,
    slots: Vec<Volatility>,
    next: Slot,
    scopes: Vec<BTreeMap<&'a str, Slot>>,
    /// The parameters of a macro.
    macros: BTreeMap<Slot, Vec<Slot>>,
    /// How volatile it is whether this place is reached.
    control: Vec<Volatility>,
    /// How many bodies around this place are printed elsewhere.
    captures: usize,
    is_settled: bool,
    found: Stability,
}

impl<'a, F: Fn(&Atom) -> Option<Volatility>> Walk<'a, F> {
    fn pass(&mut self, tree: &'a [Node]) {
        self.next = 0;
        self.scopes = vec![BTreeMap::new()];
        self.is_settled = true;
        self.found = Stability::default();
        self.nodes(tree);
    }

    /// How volatile what is printed by the nodes is.
    fn nodes(&mut self, nodes: &'a [Node]) -> Volatility {
        let printed = nodes.iter().map(|node| self.node(node));
        printed.fold(Volatility::Static, Volatility::max)
    }

    fn node(&mut self, node: &'a Node) -> Volatility {
        match node {
            Node::Text(_) => Volatility::Static,
            Node::Include { reference, .. } => self.border(reference.span, Volatility::Dynamic),
            Node::Extends(_)
            | Node::Import { .. }
            | Node::Literal { .. }
            | Node::Role { .. }
            | Node::Marker(_) => Volatility::Static,
            Node::Block { body, .. } => {
                self.enter();
                let volatility = self.nodes(body);
                self.leave();
                volatility
            }
            Node::Output { span, value } | Node::History { span, value } => {
                let volatility = self.value(value);
                self.border(*span, volatility)
            }
            Node::Set { target, value } => {
                let volatility = self.value(value);
                self.set(target, volatility);
                Volatility::Static
            }
            Node::Capture { target, body } => {
                let volatility = self.captured(body);
                self.set(target, volatility);
                Volatility::Static
            }
            Node::Macro {
                name,
                parameters,
                defaults,
                body,
            } => {
                self.define(name, parameters, defaults, body);
                Volatility::Static
            }
            Node::Call { span, value, body } => {
                let within = self.captured(body);
                let volatility = self.value(value).max(within);
                self.border(*span, volatility)
            }
            Node::Group { names, body } => {
                self.enter();
                for (name, value) in names {
                    let volatility = self.value(value);
                    self.bind(name, volatility);
                }
                let volatility = self.nodes(body);
                self.leave();
                volatility
            }
            Node::Loop {
                targets,
                span,
                over,
                only,
                body,
            } => self.repeat(targets, *span, [over, only], body),
            Node::Branch(arms) => self.branch(arms),
        }
    }

    /// How volatile a body is that is printed later, under a name: the border lies there.
    fn captured(&mut self, body: &'a [Node]) -> Volatility {
        self.enter();
        self.captures += 1;
        let volatility = self.nodes(body);
        self.captures -= 1;
        self.leave();
        volatility
    }

    fn repeat(
        &mut self,
        targets: &'a [String],
        span: Span,
        [over, only]: [&'a Expression; 2],
        body: &'a [Node],
    ) -> Volatility {
        let items = self.value(over);
        self.enter();
        for target in targets {
            self.bind(target, items);
        }
        let volatility = items.max(self.value(only));
        self.control.push(volatility);
        let within = self.nodes(body);
        self.control.pop();
        self.leave();
        self.border(span, volatility).max(within)
    }

    /// The way that is taken depends on all conditions before it.
    fn branch(&mut self, arms: &'a [Arm]) -> Volatility {
        let conditions = arms.iter().map(|arm| self.value(&arm.condition));
        let volatility = conditions.fold(Volatility::Static, Volatility::max);
        if let Some(first) = arms.first() {
            self.border(first.span, volatility);
        }
        self.control.push(volatility);
        let ways = arms.iter().map(|arm| self.nodes(&arm.body));
        let within = ways.fold(volatility, Volatility::max);
        self.control.pop();
        within
    }

    fn define(
        &mut self,
        name: &'a str,
        parameters: &'a [String],
        defaults: &'a [Expression],
        body: &'a [Node],
    ) {
        let defaults = defaults.iter().map(|default| self.value(default));
        let default = defaults.fold(Volatility::Static, Volatility::max);
        let slot = self.bind(name, Volatility::Static);
        self.enter();
        let parameters = parameters
            .iter()
            .map(|parameter| self.bind(parameter, default))
            .collect();
        self.macros.insert(slot, parameters);
        let volatility = self.captured(body);
        self.leave();
        self.raise(slot, volatility);
    }

    /// How volatile a value is. The parameters of a macro that it calls become as volatile.
    fn value(&mut self, value: &'a Expression) -> Volatility {
        let atoms = value.atoms.iter().map(|atom| self.atom(atom));
        let volatility = atoms.fold(Volatility::Static, Volatility::max);
        let called: Vec<Slot> = value
            .atoms
            .iter()
            .filter_map(|atom| self.macros.get(&self.slot(atom.root())?))
            .flatten()
            .copied()
            .collect();
        let reached = volatility.max(self.reached());
        for parameter in called {
            self.raise(parameter, reached);
        }
        volatility
    }

    fn atom(&mut self, atom: &'a Atom) -> Volatility {
        let bound = self.slot(atom.root()).map(|slot| self.slots[slot]);
        match atom.kind {
            AtomKind::Variable => bound.unwrap_or_else(|| self.outside(atom)),
            AtomKind::Function if atom.path == "strftime_now" => Volatility::Dynamic,
            AtomKind::Function => bound.unwrap_or(Volatility::Static),
            AtomKind::Method => bound.unwrap_or(Volatility::Static),
            AtomKind::Filter => Volatility::Static,
        }
    }

    /// The volatility of a name that the caller hands in.
    fn outside(&mut self, atom: &Atom) -> Volatility {
        let root = atom.root();
        if let Some(volatility) = (self.declared)(atom) {
            return volatility;
        }
        if BUILTIN.contains(&root.to_ascii_lowercase().as_str()) {
            return Volatility::Static;
        }
        if self.found.undeclared.iter().all(|(name, _)| name != root) {
            self.found.undeclared.push((root.to_owned(), atom.span));
        }
        Volatility::Dynamic
    }

    fn slot(&self, name: &str) -> Option<Slot> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .copied()
    }

    /// Binds a name in the innermost scope, where it may be bound already.
    fn bind(&mut self, name: &'a str, volatility: Volatility) -> Slot {
        let fresh = self.next;
        let known = self
            .scopes
            .last()
            .and_then(|scope| scope.get(name))
            .copied();
        let slot = known.unwrap_or(fresh);
        if known.is_none() {
            self.next += 1;
            if self.slots.len() <= fresh {
                self.slots.push(Volatility::Static);
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name, fresh);
            }
        }
        self.raise(slot, volatility.max(self.reached()));
        slot
    }

    /// A `set` also writes into a namespace of an outer scope.
    fn set(&mut self, name: &'a str, volatility: Volatility) {
        let volatility = volatility.max(self.reached());
        if let Some(outer) = self.slot(name) {
            self.raise(outer, volatility);
        }
        self.bind(name, volatility);
    }

    fn raise(&mut self, slot: Slot, volatility: Volatility) {
        if self.slots[slot] < volatility {
            self.slots[slot] = volatility;
            self.is_settled = false;
        }
    }

    fn reached(&self) -> Volatility {
        self.control
            .iter()
            .copied()
            .fold(Volatility::Static, Volatility::max)
    }

    fn border(&mut self, span: Span, volatility: Volatility) -> Volatility {
        if volatility > Volatility::Static && self.captures == 0 {
            self.found.borders.insert(span.start, volatility);
        }
        volatility
    }

    fn enter(&mut self) {
        self.scopes.push(BTreeMap::new());
    }

    fn leave(&mut self) {
        self.scopes.pop();
    }
}
