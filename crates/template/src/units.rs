//! The files that a template takes text from, read once each and within limits.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use headwater_text::Span;

use crate::{
    dialect::Dialect,
    document::{Note, NoteKind},
    flow::PARTIAL,
    source::SourceFile,
    syntax,
    tree::{Node, Reference},
};

/// A file: the template itself, or one that it names.
pub(crate) struct Unit<'t> {
    /// As the template names it; empty for the template itself.
    pub(crate) name: Arc<str>,
    pub(crate) text: Cow<'t, str>,
    pub(crate) tree: Vec<Node>,
}

/// More files than any prompt is made of.
const MAX_UNITS: usize = 64;
/// Of all of them.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Reads the files that `units`, which holds the template, and then they name.
pub(crate) fn load_all(
    units: &mut Vec<Unit<'_>>,
    dialect: Dialect,
    load: &dyn Fn(&str) -> Option<Vec<u8>>,
    notes: &mut Vec<Note>,
) {
    let mut loader = Loader {
        dialect,
        load,
        seen: BTreeSet::new(),
        missing: BTreeSet::new(),
        bytes: 0,
    };
    let mut next = 0;
    while let Some(unit) = units.get(next) {
        let mut references = Vec::new();
        collect(&unit.tree, &mut references);
        // Partials that the file defines itself need no other file.
        define(&unit.tree, &mut loader.seen);
        let mut brought = Vec::new();
        for reference in references {
            let found = loader.read(&reference, units.len() + brought.len());
            brought.extend(found.unit);
            // What a file that is brought does not find is its own affair.
            if next == 0
                && let Some(message) = found.note
            {
                notes.push(Note {
                    kind: NoteKind::NotFollowed,
                    span: reference.span,
                    message,
                });
            }
        }
        units.append(&mut brought);
        next += 1;
    }
}

struct Loader<'l> {
    dialect: Dialect,
    load: &'l dyn Fn(&str) -> Option<Vec<u8>>,
    seen: BTreeSet<String>,
    /// Names under which there is nothing.
    missing: BTreeSet<String>,
    bytes: usize,
}

#[derive(Default)]
struct Found {
    unit: Option<Unit<'static>>,
    note: Option<String>,
}

impl Loader<'_> {
    fn read(&mut self, reference: &Reference, units: usize) -> Found {
        let Some(first) = reference.names.first() else {
            let message = "which template is meant is only known when it is rendered";
            return Found {
                note: Some(message.to_owned()),
                ..Found::default()
            };
        };
        if units >= MAX_UNITS || self.bytes >= MAX_BYTES {
            return note(first, "is not read: too many files belong to this template");
        }
        for name in &reference.names {
            if self.seen.contains(name) {
                return Found::default();
            }
            if self.missing.contains(name) {
                return Found::default();
            }
            let Some(bytes) = (self.load)(name) else {
                self.missing.insert(name.clone());
                continue;
            };
            self.seen.insert(name.clone());
            self.bytes += bytes.len();
            return match SourceFile::from_bytes(&bytes) {
                Ok(file) if bytes.len() <= MAX_BYTES => self.unit(name, &file),
                Ok(_) => note(name, "is too large to be followed"),
                Err(error) => note(name, &format!("cannot be followed: {error}")),
            };
        }
        match reference.is_optional {
            true => Found::default(),
            false => note(first, "was not found, so what it prints is not judged"),
        }
    }

    fn unit(&self, name: &str, file: &SourceFile) -> Found {
        let text = file.text();
        let start = crate::front_matter::end(text);
        let mut problems = Vec::new();
        let read = syntax::read(
            self.dialect,
            text,
            Span::new(start, text.len()),
            &mut problems,
        );
        let unit = Unit {
            name: name.into(),
            text: Cow::Owned(text.to_owned()),
            tree: read.nodes,
        };
        let note = problems.first().map(|problem| {
            let place = file.position(problem.span.start);
            let name = headwater_text::shown(name);
            format!(
                "`{name}` is followed only in part: {place}: {}",
                problem.message
            )
        });
        Found {
            unit: Some(unit),
            note,
        }
    }
}

fn note(name: &str, what: &str) -> Found {
    Found {
        unit: None,
        note: Some(format!("`{}` {what}", headwater_text::shown(name))),
    }
}

/// Names of the partials that a file defines.
fn define(nodes: &[Node], found: &mut BTreeSet<String>) {
    for node in nodes {
        match node {
            Node::Macro { name, body, .. } => {
                found.extend(name.strip_prefix(PARTIAL).map(str::to_owned));
                define(body, found);
            }
            Node::Include { fallback: body, .. }
            | Node::Loop { body, .. }
            | Node::Group { body, .. }
            | Node::Block { body, .. } => define(body, found),
            Node::Branch(arms) => arms.iter().for_each(|arm| define(&arm.body, found)),
            _ => {}
        }
    }
}

/// Every tag that names other templates.
fn collect(nodes: &[Node], found: &mut Vec<Reference>) {
    for node in nodes {
        match node {
            Node::Extends(reference) | Node::Import { reference, .. } => {
                found.push(reference.clone());
            }
            Node::Include {
                reference,
                fallback,
                ..
            } => {
                found.push(reference.clone());
                collect(fallback, found);
            }
            Node::Loop { body, .. }
            | Node::Capture { body, .. }
            | Node::Macro { body, .. }
            | Node::Call { body, .. }
            | Node::Group { body, .. }
            | Node::Block { body, .. } => collect(body, found),
            Node::Branch(arms) => arms.iter().for_each(|arm| collect(&arm.body, found)),
            Node::Text(_)
            | Node::Output { .. }
            | Node::History { .. }
            | Node::Set { .. }
            | Node::Literal { .. }
            | Node::Role { .. }
            | Node::Marker(_) => {}
        }
    }
}
