//! What a trace does not say: which conversation a prompt belongs to, and where its segments end.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::cache::NodeHasher;
use crate::read::Row;
use crate::trace::{Arrival, Node, Trace};

/// Puts requests in order of time and fills in sessions and borders where they are not known.
///
/// A prompt continues the conversation whose last prompt is the longest that it begins with.
/// Segments are taken to end where some prompt of the trace ends and where two prompts part:
/// with knowledge of the whole trace, so better than a client knows, who knows its own messages.
pub(crate) fn assemble(mut rows: Vec<Row>, block_tokens: u32) -> Trace {
    rows.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    let start = rows.first().map_or(0.0, |row| row.at_ms);
    for row in &mut rows {
        row.path
            .truncate((row.call.input_tokens / block_tokens.max(1)) as usize);
    }
    let ends = rows
        .iter()
        .any(|row| row.borders.is_none())
        .then(|| Ends::of(&rows));
    let mut sessions = Sessions::default();
    let mut trace = Trace::new(block_tokens);
    for mut row in rows {
        row.call.arrival = Arrival::AtMs(row.at_ms - start);
        (row.call.session, row.call.turn) = sessions.turn(&row);
        let borders = row.borders.take();
        let borders = borders.unwrap_or_else(|| {
            ends.as_ref()
                .map_or_else(Vec::new, |e| e.borders(&row.path))
        });
        trace.push(row.call, row.path, borders);
    }
    trace
}

/// Conversations so far.
#[derive(Default)]
struct Sessions {
    /// By the name that the trace gives.
    named: HashMap<u64, u32, BuildHasherDefault<NodeHasher>>,
    /// By where their last prompt ended.
    ended: HashMap<Node, u32, BuildHasherDefault<NodeHasher>>,
    turns: Vec<u32>,
}

impl Sessions {
    fn turn(&mut self, row: &Row) -> (u32, u32) {
        let new = u32::try_from(self.turns.len()).unwrap_or(u32::MAX);
        let session = match row.session {
            Some(name) => *self.named.entry(name).or_insert(new),
            None => {
                let found = row.path.iter().rev().find_map(|node| self.ended.get(node));
                found.copied().unwrap_or(new)
            }
        };
        if session == new {
            self.turns.push(0);
        }
        if let Some(end) = row.path.last().filter(|_| row.session.is_none()) {
            self.ended.insert(*end, session);
        }
        let turn = self.turns.get_mut(session as usize);
        let turn = turn.map_or(0, |next| std::mem::replace(next, next.saturating_add(1)));
        (session, turn)
    }
}

/// Nodes where a segment ends.
struct Ends(Vec<bool>);

impl Ends {
    fn of(rows: &[Row]) -> Self {
        let nodes = rows
            .iter()
            .flat_map(|row| &row.path)
            .map(|node| node.index() + 1)
            .max();
        let mut ends = vec![false; nodes.unwrap_or(0)];
        let mut only_child: Vec<Option<Node>> = vec![None; ends.len()];
        let mut mark = |node: Node| {
            if let Some(end) = ends.get_mut(node.index()) {
                *end = true;
            }
        };
        for row in rows {
            for (node, child) in row.path.iter().zip(row.path.iter().skip(1)) {
                let Some(slot) = only_child.get_mut(node.index()) else {
                    continue;
                };
                if *slot.get_or_insert(*child) != *child {
                    mark(*node);
                }
            }
            row.path.last().copied().into_iter().for_each(&mut mark);
        }
        Self(ends)
    }

    fn borders(&self, path: &[Node]) -> Vec<u32> {
        (1..)
            .zip(path)
            .filter(|(_, node)| self.0.get(node.index()) == Some(&true))
            .map(|(at, _)| at)
            .collect()
    }
}
