//! What a trace does not say: which conversation a prompt belongs to, and where its segments end.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::cache::NodeHasher;
use crate::read::Row;
use crate::trace::{Arrival, Node, Trace};

/// Puts requests in order of time and fills in sessions and borders where they are not known.
///
/// A prompt continues the conversation whose last prompt is the longest that it begins with, each
/// prompt being continued once; or else the latest that has at least half of its blocks.
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
    let mut sessions = Sessions {
        common: common(&rows),
        ..Sessions::default()
    };
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

/// Nodes that so many prompts have that they say nothing of a conversation.
fn common(rows: &[Row]) -> Vec<bool> {
    let nodes = rows.iter().flat_map(|row| &row.path);
    let mut uses = vec![
        0_u32;
        nodes
            .clone()
            .map(|node| node.index() + 1)
            .max()
            .unwrap_or(0)
    ];
    for node in nodes {
        if let Some(count) = uses.get_mut(node.index()) {
            *count += 1;
        }
    }
    let many = (rows.len() as f64 * COMMON_SHARE).max(COMMON_LEAST);
    uses.iter().map(|count| f64::from(*count) >= many).collect()
}

/// Share of the prompts, and number of them, from which a prefix is a system prompt.
const COMMON_SHARE: f64 = 0.01;
const COMMON_LEAST: f64 = 100.0;

/// Conversations so far.
#[derive(Default)]
struct Sessions {
    /// Nodes where no conversation is recognized.
    common: Vec<bool>,
    /// By the name that the trace gives.
    named: HashMap<u64, u32, BuildHasherDefault<NodeHasher>>,
    /// By where their last prompt ended, as long as none has gone on from there.
    ended: HashMap<Node, u32, BuildHasherDefault<NodeHasher>>,
    /// The latest that came by a node.
    came_by: HashMap<Node, u32, BuildHasherDefault<NodeHasher>>,
    turns: Vec<u32>,
}

impl Sessions {
    fn turn(&mut self, row: &Row) -> (u32, u32) {
        let new = u32::try_from(self.turns.len()).unwrap_or(u32::MAX);
        let session = match row.session {
            Some(name) => *self.named.entry(name).or_insert(new),
            None => self.continued(&row.path).unwrap_or(new),
        };
        if session == new {
            self.turns.push(0);
        }
        if let Some(end) = row.path.last().filter(|_| row.session.is_none()) {
            self.ended.insert(*end, session);
            let nodes = row.path.iter().map(|node| (*node, session));
            self.came_by.extend(nodes);
        }
        let turn = self.turns.get_mut(session as usize);
        let turn = turn.map_or(0, |next| std::mem::replace(next, next.saturating_add(1)));
        (session, turn)
    }

    /// The conversation whose last prompt this one goes on from, or that it has most of its own
    /// blocks in common with: an answer was asked for again, or the last turn was changed.
    fn continued(&mut self, path: &[Node]) -> Option<u32> {
        let own = |node: &&Node| self.common.get(node.index()) != Some(&true);
        let own = || path.iter().rev().take_while(own);
        if let Some(end) = own().find(|node| self.ended.contains_key(node)) {
            return self.ended.remove(end);
        }
        let most = own().count().div_ceil(2);
        own()
            .take(most)
            .find_map(|node| self.came_by.get(node))
            .copied()
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
