//! A trace while it is being read: names become nodes, requests are counted, nothing grows without bound.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::{MAX_BLOCKS, MAX_PROMPT_BLOCKS, MAX_REQUESTS, TraceError};
use crate::cache::NodeHasher;
use crate::trace::{Call, Node};

/// Milliseconds since 1970 are 1.8e12 today.
const MAX_TIME_MS: f64 = 1e13;

/// Gives every prefix its node: the same block behind the same prefix is the same node.
#[derive(Default)]
pub(super) struct Tree {
    nodes: HashMap<(u32, u64), u32, BuildHasherDefault<NodeHasher>>,
}

const ROOT: u32 = u32::MAX;

impl Tree {
    /// The nodes of a prompt whose blocks have these names.
    pub(super) fn path(&mut self, blocks: impl IntoIterator<Item = u64>) -> Vec<Node> {
        let mut parent = ROOT;
        let names = blocks.into_iter();
        names
            .map(|name| {
                let new = u32::try_from(self.nodes.len()).unwrap_or(ROOT);
                parent = *self.nodes.entry((parent, name)).or_insert(new);
                Node(parent)
            })
            .collect()
    }
}

/// A request as read, before sessions and borders are known.
pub(crate) struct Row {
    pub(crate) call: Call,
    pub(crate) at_ms: f64,
    pub(crate) path: Vec<Node>,
    pub(crate) borders: Option<Vec<u32>>,
    pub(crate) session: Option<u64>,
}

/// Requests so far.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    blocks: usize,
}

impl Rows {
    /// Adds a request from a line.
    pub(super) fn push(&mut self, line: usize, row: Row) -> Result<(), TraceError> {
        if self.rows.len() >= MAX_REQUESTS {
            return Err(TraceError::at(
                line,
                format!("more than {MAX_REQUESTS} requests"),
            ));
        }
        if row.path.len() > MAX_PROMPT_BLOCKS {
            return Err(TraceError::at(
                line,
                format!("more than {MAX_PROMPT_BLOCKS} blocks in a prompt"),
            ));
        }
        self.blocks += row.path.len();
        if self.blocks > MAX_BLOCKS {
            return Err(TraceError::at(
                line,
                format!("more than {MAX_BLOCKS} blocks in all prompts"),
            ));
        }
        if !(row.at_ms.is_finite() && (0.0..=MAX_TIME_MS).contains(&row.at_ms.abs())) {
            return Err(TraceError::at(
                line,
                format!(
                    "the time is no number of milliseconds from -{MAX_TIME_MS:e} to {MAX_TIME_MS:e}"
                ),
            ));
        }
        self.rows.push(row);
        Ok(())
    }
}
