//! The template as the model sees it: pieces in order, macros and captured text put in their places.

use headwater_text::Span;

use crate::{
    expression::{Atom, AtomKind, Expression},
    role::{Role, RoleMark, marks},
    scope::{Binding, MacroParts, Scopes},
    tree::{Arm, Node},
    weight::{Weight, weigh},
};

/// A part of the prompt, in the order in which the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it stands in the source, in bytes. A macro's pieces stand in the macro.
    pub span: Span,
    /// What it is.
    pub kind: PieceKind,
    /// Static bytes that may follow it in the prompt: without marks of roles, and with the longest
    /// way through every condition.
    pub static_bytes_after: usize,
    /// Those of them that are more than markup and labels (`</context>`, `Question:`).
    pub prose_bytes_after: usize,
    /// Static bytes inside it: the body of a loop or condition.
    pub static_bytes_within: usize,
    /// It belongs to the last message of the user, which is new in every request anyway.
    pub in_last_turn: bool,
    /// Who speaks at this place; none where nothing says it.
    pub role: Option<Role>,
    /// The other file that it stands in, as the template names it; [`span`](Self::span) is then the tag
    /// that brings it.
    pub from: Option<std::sync::Arc<str>>,
}

/// Kinds of [`Piece`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceKind {
    /// Static text.
    Text,
    /// A printed value, with everything that it is made of.
    Value(Expression),
    /// A loop over a value; its body follows.
    Loop(Expression),
    /// A condition; its ways follow.
    Condition(Expression),
    /// Text from another file.
    Include,
}

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

/// A macro in a macro in a macro is followed this deep.
const MAX_INLINE: usize = 8;
/// Macros that call macros can print without end.
const MAX_PIECES: usize = 50_000;

/// Lays the tree out in order.
pub(crate) fn lay_out(text: &str, tree: &[Node]) -> (Vec<Laid>, Vec<Flow>) {
    let mut layout = Layout {
        text,
        scopes: Scopes::default(),
        laid: Vec::new(),
        inlined: 0,
        optional: 0,
    };
    layout.scopes.enter();
    let flow = layout.nodes(tree);
    (layout.laid, flow)
}

struct Layout<'t> {
    text: &'t str,
    scopes: Scopes<'t>,
    laid: Vec<Laid>,
    /// How deep the macro or capture that is being put in place lies.
    inlined: usize,
    /// How many conditions and loops lie around this place.
    optional: usize,
}

impl<'t> Layout<'t> {
    fn nodes(&mut self, nodes: &'t [Node]) -> Vec<Flow> {
        let mut flow = Vec::new();
        for node in nodes {
            if self.laid.len() >= MAX_PIECES {
                break;
            }
            self.node(node, &mut flow);
        }
        flow
    }

    fn node(&mut self, node: &'t Node, flow: &mut Vec<Flow>) {
        match node {
            Node::Text(span) => flow.push(self.text(*span)),
            Node::Include(span) => flow.push(Flow::Piece(self.lay(*span, PieceKind::Include))),
            Node::Output { span, value } => self.output(*span, value, flow),
            Node::Set { target, value } => {
                let atoms = self.scopes.resolve(value);
                self.set(target, atoms);
            }
            Node::Capture { target, body } => {
                self.scopes.bind(target, Binding::Captured(body));
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
                    body,
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
                    let atoms = self.scopes.resolve(value);
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

    fn text(&mut self, span: Span) -> Flow {
        let text = &self.text[span.start..span.end];
        let marks = marks(text);
        let weight = weigh(text, &marks);
        self.laid.push(Laid {
            piece: piece(span, PieceKind::Text),
            weight,
            marks,
        });
        Flow::Piece(self.laid.len() - 1)
    }

    fn lay(&mut self, span: Span, kind: PieceKind) -> usize {
        self.laid.push(Laid {
            piece: piece(span, kind),
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
        let atoms = self.scopes.resolve(over);
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
            let atoms = self.scopes.resolve(&arm.condition);
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
                (AtomKind::Function, Some(Binding::Macro(parts))) => {
                    Some((parts.body, Some(*parts)))
                }
                _ => None,
            }
        });
        if let Some((body, parts)) = printed
            && self.inlined < MAX_INLINE
        {
            self.inlined += 1;
            self.scopes.enter();
            if let Some(parts) = parts {
                self.bind_parameters(parts, value);
            }
            flow.append(&mut self.nodes(body));
            self.scopes.leave();
            self.inlined -= 1;
            return;
        }
        let atoms = self.scopes.resolve(value);
        let place = place(value).unwrap_or(span);
        if !atoms.is_empty() {
            flow.push(Flow::Piece(
                self.lay(place, PieceKind::Value(Expression { atoms })),
            ));
        }
    }

    /// Every parameter may hold any argument: which one goes where does not change what is volatile.
    fn bind_parameters(&mut self, parts: MacroParts<'t>, call: &Expression) {
        let mut atoms = self.scopes.resolve(call);
        atoms.retain(|atom| {
            atom.kind != AtomKind::Function || self.scopes.get(&atom.path).is_none()
        });
        for default in parts.defaults {
            atoms.extend(self.scopes.resolve(default));
        }
        for parameter in parts.parameters {
            self.scopes.bind(parameter, Binding::Value(atoms.clone()));
        }
    }
}

fn piece(span: Span, kind: PieceKind) -> Piece {
    Piece {
        span,
        kind,
        static_bytes_after: 0,
        prose_bytes_after: 0,
        static_bytes_within: 0,
        in_last_turn: false,
        role: None,
        from: None,
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
