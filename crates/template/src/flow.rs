//! The template as the model sees it: pieces in order, macros and captured text put in their places.

use std::{collections::BTreeMap, sync::Arc};

use headwater_text::Span;

mod files;

use crate::{
    document::Note,
    expression::{Atom, AtomKind, Expression},
    piece::{Piece, PieceKind, piece},
    role::{Role, RoleMark},
    scope::{Binding, Body, MacroParts, Scopes},
    tree::{Arm, Node},
    units::Unit,
    weight::{Weight, weigh},
};

/// Pieces and how they nest, for measuring.
pub(crate) enum Flow {
    Piece(usize),
    /// The last piece is a loop with this body.
    Loop(usize, Vec<Flow>),
    /// Ways of which one is taken, each behind its condition.
    Ways(Vec<(Option<usize>, Vec<Flow>)>),
}

/// A piece that is not measured yet, and the role marks in it.
pub(crate) struct Laid {
    pub(crate) piece: Piece,
    pub(crate) weight: Weight,
    pub(crate) marks: Vec<RoleMark>,
}

/// What comes before the name of a partial that a template defines itself.
pub(crate) const PARTIAL: &str = "partial ";
/// A macro in a macro in a macro is followed this deep.
const MAX_INLINE: usize = 8;
/// Macros that call macros can print without end.
const MAX_PIECES: usize = 50_000;
/// Text that is printed again and again counts each time.
const MAX_TEXT_BYTES: usize = 4 * crate::source::MAX_SOURCE_BYTES;

/// What was laid out.
pub(crate) struct LaidOut {
    pub(crate) laid: Vec<Laid>,
    pub(crate) flow: Vec<Flow>,
    /// What was not followed.
    pub(crate) notes: Vec<Note>,
}

/// Lays the first of `units` out in order, with what it takes from the others.
///
/// `marks` finds the marks of roles in a text.
pub(crate) fn lay_out(units: &[Unit<'_>], marks: fn(&str) -> Vec<RoleMark>) -> LaidOut {
    let mut layout = Layout {
        units,
        marks,
        unit: 0,
        tag: Span::new(0, 0),
        files: vec![0],
        scopes: Scopes::default(),
        blocks: BTreeMap::new(),
        block: None,
        laid: Vec::new(),
        notes: Vec::new(),
        inlined: 0,
        bodies: Vec::new(),
        optional: 0,
        text_bytes: 0,
    };
    layout.scopes.enter();
    let flow = layout.file(0);
    LaidOut {
        laid: layout.laid,
        flow,
        notes: layout.notes,
    }
}

struct Layout<'t> {
    units: &'t [Unit<'t>],
    marks: fn(&str) -> Vec<RoleMark>,
    /// The file whose nodes are laid out.
    unit: usize,
    /// The tag of the template that brought them.
    tag: Span,
    /// Files around this place.
    files: Vec<usize>,
    scopes: Scopes<'t>,
    /// Bodies of each block, that of the template itself first, then those of the ones it extends.
    blocks: BTreeMap<&'t str, Vec<Body<'t>>>,
    /// The block that is laid out, and which of its bodies.
    block: Option<(&'t str, usize)>,
    laid: Vec<Laid>,
    notes: Vec<Note>,
    /// How deep the macro or capture that is being put in place lies.
    inlined: usize,
    /// The bodies that are being put in place.
    bodies: Vec<Body<'t>>,
    /// How many conditions and loops lie around this place.
    optional: usize,
    /// Bytes of text so far.
    text_bytes: usize,
}

impl<'t> Layout<'t> {
    /// The place in the template of a place in the file at hand.
    fn here(&self, span: Span) -> Span {
        if self.unit == 0 { span } else { self.tag }
    }

    fn resolve(&self, expression: &Expression) -> Vec<Atom> {
        let mut atoms = self.scopes.resolve(expression);
        if self.unit != 0 {
            for atom in atoms.iter_mut().filter(|atom| !atom.derived) {
                atom.span = self.tag;
                atom.derived = true;
            }
        }
        atoms
    }

    fn nodes(&mut self, nodes: &'t [Node]) -> Vec<Flow> {
        let mut flow = Vec::new();
        for node in nodes {
            if self.laid.len() >= MAX_PIECES || self.text_bytes >= MAX_TEXT_BYTES {
                break;
            }
            self.node(node, &mut flow);
        }
        flow
    }

    fn node(&mut self, node: &'t Node, flow: &mut Vec<Flow>) {
        match node {
            Node::Text(span) => {
                let units = self.units;
                flow.push(self.text(*span, &units[self.unit].text[span.start..span.end]));
            }
            Node::Include {
                reference,
                value,
                fallback,
            } => self.include(reference, value, fallback, flow),
            // It is followed where the file begins.
            Node::Extends(_) => {}
            Node::Import {
                reference,
                alias,
                names,
            } => self.import(reference, alias.as_deref(), names),
            Node::Block { name, body } => self.block(name, body, flow),
            Node::Literal { span, text } => flow.push(self.text(*span, text)),
            Node::Role { span, role } => {
                let index = self.lay(*span, PieceKind::Role(*role));
                self.laid[index].marks = vec![RoleMark {
                    span: Span::new(0, 0),
                    begins: Some(*role),
                }];
                flow.push(Flow::Piece(index));
            }
            Node::Marker(marker) => {
                let at = self.laid.last().map_or(0, |laid| laid.piece.span.end);
                let index = self.lay(Span::new(at, at), PieceKind::Marker(*marker));
                flow.push(Flow::Piece(index));
            }
            Node::Output { span, value } => self.output(*span, value, flow),
            Node::History { span, value } => {
                let atoms = self.resolve(value);
                let kind = PieceKind::History(Expression { atoms });
                flow.push(Flow::Piece(self.lay(*span, kind)));
            }
            Node::Set { target, value } => {
                let atoms = self.resolve(value);
                self.set(target, atoms);
            }
            Node::Capture { target, body } => {
                self.scopes.bind(target, Binding::Captured(self.body(body)));
            }
            Node::Macro {
                name,
                parameters,
                defaults,
                body,
            } => {
                let parts = MacroParts {
                    parameters,
                    defaults,
                    body: self.body(body),
                };
                self.scopes.bind(name, Binding::Macro(parts));
            }
            Node::Call { span, value, body } => {
                self.output(*span, value, flow);
                flow.append(&mut self.nodes(body));
            }
            Node::Group { names, body } => {
                self.scopes.enter();
                for (name, value) in names {
                    let atoms = self.resolve(value);
                    self.scopes.bind(name, Binding::Value(atoms));
                }
                flow.append(&mut self.nodes(body));
                self.scopes.leave();
            }
            Node::Loop {
                targets,
                span,
                over,
                body,
                ..
            } => {
                flow.push(self.repeat(*span, over, |layout, atoms| {
                    for target in targets {
                        layout.scopes.bind(target, Binding::Value(atoms.to_vec()));
                    }
                    layout.nodes(body)
                }));
            }
            Node::Branch(arms) => {
                let ways = arms.iter().map(|arm| self.way(arm)).collect();
                flow.push(Flow::Ways(ways));
            }
        }
    }

    fn body(&self, nodes: &'t [Node]) -> Body<'t> {
        Body {
            nodes,
            unit: self.unit,
        }
    }

    fn text(&mut self, span: Span, text: &str) -> Flow {
        self.text_bytes += text.len();
        let marks = (self.marks)(text);
        let weight = weigh(text, &marks);
        let index = self.lay(span, PieceKind::Text);
        let laid = &mut self.laid[index];
        (laid.weight, laid.marks) = (weight, marks);
        Flow::Piece(index)
    }

    fn lay(&mut self, span: Span, kind: PieceKind) -> usize {
        let mut piece = piece(self.here(span), kind);
        piece.from = (self.unit != 0).then(|| Arc::clone(&self.units[self.unit].name));
        self.laid.push(Laid {
            piece,
            weight: Weight::default(),
            marks: Vec::new(),
        });
        self.laid.len() - 1
    }

    fn set(&mut self, target: &str, atoms: Vec<Atom>) {
        if self.optional > 0 {
            self.scopes.widen(target, atoms);
        } else {
            self.scopes.bind(target, Binding::Value(atoms));
        }
    }

    fn repeat(
        &mut self,
        span: Span,
        over: &Expression,
        body: impl FnOnce(&mut Self, &[Atom]) -> Vec<Flow>,
    ) -> Flow {
        let atoms = self.resolve(over);
        let place = place(over).unwrap_or(span);
        let index = self.lay(
            place,
            PieceKind::Loop(Expression {
                atoms: atoms.clone(),
            }),
        );
        self.scopes.enter();
        self.optional += 1;
        let body = body(self, &atoms);
        self.optional -= 1;
        self.scopes.leave();
        Flow::Loop(index, body)
    }

    fn way(&mut self, arm: &'t Arm) -> (Option<usize>, Vec<Flow>) {
        let condition = (!arm.condition.atoms.is_empty()).then(|| {
            let atoms = self.resolve(&arm.condition);
            self.lay(arm.span, PieceKind::Condition(Expression { atoms }))
        });
        self.optional += 1;
        let body = self.nodes(&arm.body);
        self.optional -= 1;
        (condition, body)
    }

    fn output(&mut self, span: Span, value: &Expression, flow: &mut Vec<Flow>) {
        // `{{ footer }}` and `{{ card(user) }}` print a body that stands elsewhere.
        let printed = value.atoms.iter().rev().find_map(|atom| {
            match (atom.kind, self.scopes.get(&atom.path)) {
                (AtomKind::Variable, Some(Binding::Captured(body))) => Some((*body, None)),
                (AtomKind::Function | AtomKind::Method, Some(Binding::Macro(parts))) => {
                    Some((parts.body, Some(*parts)))
                }
                _ => None,
            }
        });
        if let Some((body, parts)) = printed
            && self.may_inline(body)
        {
            return self.inline((body, parts), value, span, flow);
        }
        if let Some((name, index)) = self.block
            && value.atoms.iter().any(|atom| atom.path == "super")
        {
            return self.body_of_block(name, index + 1, flow);
        }
        let atoms = self.resolve(value);
        let place = place(value).unwrap_or(span);
        if !atoms.is_empty() {
            flow.push(Flow::Piece(
                self.lay(place, PieceKind::Value(Expression { atoms })),
            ));
        }
    }

    /// Every parameter may hold any argument: which one goes where does not change what is volatile.
    fn bind_parameters(&mut self, parts: MacroParts<'t>, call: &Expression) {
        let mut atoms = self.resolve(call);
        atoms.retain(|atom| {
            matches!(atom.kind, AtomKind::Variable | AtomKind::Filter)
                || self.scopes.get(&atom.path).is_none()
        });
        for default in parts.defaults {
            atoms.extend(self.resolve(default));
        }
        for parameter in parts.parameters {
            self.scopes.bind(parameter, Binding::Value(atoms.clone()));
        }
    }
}

/// From the first to the last atom: the expression without its delimiters.
fn place(expression: &Expression) -> Option<Span> {
    let start = expression.atoms.iter().map(|atom| atom.span.start).min()?;
    let end = expression.atoms.iter().map(|atom| atom.span.end).max()?;
    Some(Span { start, end })
}

impl Laid {
    /// The roles that begin in it.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Role> + '_ {
        self.marks.iter().filter_map(|mark| mark.begins)
    }
}
