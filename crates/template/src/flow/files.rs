//! What a template takes from elsewhere: files, blocks, macros, partials.

use headwater_text::Span;

use super::{Flow, Layout, MAX_INLINE, PARTIAL};
use crate::{
    document::{Note, NoteKind},
    expression::Expression,
    piece::PieceKind,
    scope::{Binding, Body, MacroParts},
    tree::{Node, Reference},
};

/// Files that bring each other are followed this deep.
const MAX_FILES: usize = 16;

impl<'t> Layout<'t> {
    /// A whole file, or what it extends.
    pub(super) fn file(&mut self, unit: usize) -> Vec<Flow> {
        let units = self.units;
        let tree = units[unit].tree.as_slice();
        let extended = tree.iter().find_map(|node| match node {
            Node::Extends(reference) => Some(reference),
            _ => None,
        });
        let Some(reference) = extended else {
            return self.nodes(tree);
        };
        self.collect_blocks(tree, unit);
        let Some(base) = self.follow(reference) else {
            return self.nodes(tree);
        };
        // Of what stands outside of blocks, only names count.
        for node in tree {
            let names = matches!(
                node,
                Node::Set { .. } | Node::Capture { .. } | Node::Macro { .. } | Node::Import { .. }
            );
            if names {
                self.node(node, &mut Vec::new());
            }
        }
        self.within_file(base, reference.span, |layout| layout.file(base))
    }

    fn collect_blocks(&mut self, nodes: &'t [Node], unit: usize) {
        for node in nodes {
            match node {
                Node::Block { name, body } => {
                    let bodies = self.blocks.entry(name).or_default();
                    if bodies.len() < MAX_FILES {
                        bodies.push(Body { nodes: body, unit });
                    }
                    self.collect_blocks(body, unit);
                }
                Node::Group { body, .. } => self.collect_blocks(body, unit),
                Node::Branch(arms) => {
                    for arm in arms {
                        self.collect_blocks(&arm.body, unit);
                    }
                }
                _ => {}
            }
        }
    }

    /// The file that a tag names, if it was found and does not lie around this place.
    fn follow(&mut self, reference: &Reference) -> Option<usize> {
        let mut names = reference.names.iter();
        let unit =
            names.find_map(|name| self.units.iter().position(|unit| *unit.name == **name))?;
        if !self.files.contains(&unit) && self.files.len() < MAX_FILES {
            return Some(unit);
        }
        let name = headwater_text::shown(&self.units[unit].name);
        self.notes.push(Note {
            kind: NoteKind::Cycle,
            span: self.here(reference.span),
            message: format!("`{name}` is part of itself, so it is not followed here"),
        });
        None
    }

    fn within_file<R>(&mut self, unit: usize, tag: Span, run: impl FnOnce(&mut Self) -> R) -> R {
        self.files.push(unit);
        let result = self.within_unit(unit, tag, run);
        self.files.pop();
        result
    }

    /// Lays out nodes of a file that a tag brought.
    pub(super) fn within_unit<R>(
        &mut self,
        unit: usize,
        tag: Span,
        run: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outer = (self.unit, self.tag);
        if self.unit == 0 {
            self.tag = tag;
        }
        self.unit = unit;
        let result = run(self);
        (self.unit, self.tag) = outer;
        result
    }

    pub(super) fn include(
        &mut self,
        reference: &'t Reference,
        value: &'t Expression,
        fallback: &'t [Node],
        flow: &mut Vec<Flow>,
    ) {
        let named = reference.names.iter().find_map(|name| {
            match self.scopes.get(&format!("{PARTIAL}{name}")) {
                Some(Binding::Macro(parts)) => Some(*parts),
                _ => None,
            }
        });
        if let Some(parts) = named {
            if self.may_inline(parts.body) {
                return self.inline((parts.body, Some(parts)), value, reference.span, flow);
            }
        } else if let Some(unit) = self.follow(reference) {
            self.scopes.enter();
            let mut body = self.within_file(unit, reference.span, |layout| layout.file(unit));
            self.scopes.leave();
            return flow.append(&mut body);
        } else if !fallback.is_empty() {
            return flow.append(&mut self.nodes(fallback));
        }
        if !reference.is_optional {
            flow.push(Flow::Piece(self.lay(reference.span, PieceKind::Include)));
        }
    }

    /// Binds the macros of another file.
    pub(super) fn import(
        &mut self,
        reference: &'t Reference,
        alias: Option<&str>,
        names: &'t [(String, String)],
    ) {
        let Some(unit) = self.follow(reference) else {
            return;
        };
        if let Some(alias) = alias {
            self.scopes.bind(alias, Binding::Value(Vec::new()));
        }
        let units = self.units;
        for node in &units[unit].tree {
            let Node::Macro {
                name,
                parameters,
                defaults,
                body,
            } = node
            else {
                continue;
            };
            let parts = MacroParts {
                parameters,
                defaults,
                body: Body { nodes: body, unit },
            };
            let all = alias.map(|alias| format!("{alias}.{name}"));
            let single = names.iter().filter(|(there, _)| there == name);
            for here in all.into_iter().chain(single.map(|(_, here)| here.clone())) {
                self.scopes.bind(&here, Binding::Macro(parts));
            }
        }
    }

    pub(super) fn block(&mut self, name: &'t str, body: &'t [Node], flow: &mut Vec<Flow>) {
        let own = self.body(body);
        let bodies = self.blocks.entry(name).or_default();
        // A name that is used again and again is a mistake.
        let has_room = bodies.len() < MAX_FILES;
        if has_room && !bodies.iter().any(|known| std::ptr::eq(known.nodes, body)) {
            bodies.push(own);
        }
        self.body_of_block(name, 0, flow);
    }

    pub(super) fn body_of_block(&mut self, name: &'t str, index: usize, flow: &mut Vec<Flow>) {
        let body = self.blocks.get(name).and_then(|bodies| bodies.get(index));
        let Some(body) = body.copied() else { return };
        if self.inlined >= MAX_INLINE * 2 {
            return;
        }
        let outer = self.block.replace((name, index));
        self.inlined += 1;
        let tag = self.tag;
        let mut inner = self.within_unit(body.unit, tag, |layout| layout.nodes(body.nodes));
        self.inlined -= 1;
        self.block = outer;
        flow.append(&mut inner);
    }

    /// A body in itself would print the same again.
    pub(super) fn may_inline(&self, body: Body<'t>) -> bool {
        let mut open = self.bodies.iter();
        self.inlined < MAX_INLINE && !open.any(|open| std::ptr::eq(open.nodes, body.nodes))
    }

    /// Puts a body that stands elsewhere in the place of a tag.
    pub(super) fn inline(
        &mut self,
        (body, parts): (Body<'t>, Option<MacroParts<'t>>),
        value: &Expression,
        tag: Span,
        flow: &mut Vec<Flow>,
    ) {
        self.inlined += 1;
        self.bodies.push(body);
        self.scopes.enter();
        if let Some(parts) = parts {
            self.bind_parameters(parts, value);
        }
        let mut inner = self.within_unit(body.unit, tag, |layout| layout.nodes(body.nodes));
        flow.append(&mut inner);
        self.scopes.leave();
        self.bodies.pop();
        self.inlined -= 1;
    }
}
