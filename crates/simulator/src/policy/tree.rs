//! A router's unbounded tree of the prompts it has sent where, as SGLang's and Ray's routers keep one.

use crate::trace::Node;

/// For each prefix, which workers got it, and which one last; for each worker, how much.
#[derive(Default)]
pub(super) struct SentTree {
    last: Vec<u32>,
    /// Bits of workers, `words` for each node.
    sent: Vec<u64>,
    words: usize,
    sizes: Vec<u64>,
}

const NOBODY: u32 = u32::MAX;
const WORD_BITS: usize = 64;

impl SentTree {
    pub(super) fn new(nodes: usize, workers: usize) -> Self {
        let words = workers.div_ceil(WORD_BITS).max(1);
        Self {
            last: vec![NOBODY; nodes],
            sent: vec![0; nodes * words],
            words,
            sizes: vec![0; workers],
        }
    }

    /// How many blocks of a path have been sent anywhere.
    pub(super) fn depth(&self, path: &[Node]) -> usize {
        path.partition_point(|node| {
            self.last
                .get(node.index())
                .is_some_and(|last| *last != NOBODY)
        })
    }

    /// Who got this prefix last.
    pub(super) fn last(&self, node: Node) -> Option<usize> {
        self.last
            .get(node.index())
            .filter(|last| **last != NOBODY)
            .map(|last| *last as usize)
    }

    /// Whether a worker got this prefix.
    pub(super) fn has(&self, node: Node, worker: usize) -> bool {
        let word = self
            .sent
            .get(node.index() * self.words + worker / WORD_BITS);
        word.is_some_and(|bits| bits >> (worker % WORD_BITS) & 1 == 1)
    }

    /// Blocks that a worker got.
    pub(super) fn size(&self, worker: usize) -> u64 {
        self.sizes.get(worker).copied().unwrap_or(0)
    }

    pub(super) fn send(&mut self, path: &[Node], worker: usize) {
        if worker / WORD_BITS >= self.words {
            return;
        }
        for node in path {
            if let Some(last) = self.last.get_mut(node.index()) {
                *last = u32::try_from(worker).unwrap_or(NOBODY);
            }
            let word = self
                .sent
                .get_mut(node.index() * self.words + worker / WORD_BITS);
            let bit = 1 << (worker % WORD_BITS);
            if let Some(word) = word.filter(|word| **word & bit == 0) {
                *word |= bit;
                if let Some(size) = self.sizes.get_mut(worker) {
                    *size += 1;
                }
            }
        }
    }
}
