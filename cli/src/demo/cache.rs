//! The prefix cache of a model engine: whole blocks in a tree, the least recently used leaf first out.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Tokens in a block; only whole blocks are cached.
pub(super) const BLOCK_TOKENS: usize = 16;
/// The model engine's vocabulary: four bytes of the prompt are a token.
const TOKEN_BYTES: usize = 4;

/// Names a whole prefix up to the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BlockHash(u64);

/// A prompt as an engine sees it.
#[derive(Clone, Debug)]
pub(super) struct PromptBlocks {
    /// One chained hash per whole block.
    hashes: Vec<BlockHash>,
    /// Length in tokens, the tail that fills no block included.
    tokens: usize,
}

impl PromptBlocks {
    /// Cuts a text into blocks; a block's name covers everything before it.
    pub(super) fn of(text: &str) -> Self {
        let mut parent = 0;
        let hashes = text
            .as_bytes()
            .chunks_exact(BLOCK_TOKENS * TOKEN_BYTES)
            .map(|block| {
                let mut hasher = DefaultHasher::new();
                (parent, block).hash(&mut hasher);
                parent = hasher.finish();
                BlockHash(parent)
            })
            .collect();
        Self {
            hashes,
            tokens: text.len().div_ceil(TOKEN_BYTES),
        }
    }

    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Blocks that may be taken from the cache: an engine always computes the last token.
    fn reusable_blocks(&self) -> usize {
        self.tokens.saturating_sub(1) / BLOCK_TOKENS
    }
}

/// What a running request holds in the cache; give it back with [`BlockCache::release`].
#[derive(Debug)]
pub(super) struct Admitted {
    /// Prompt tokens that were already there.
    pub(super) cached_tokens: usize,
    pinned: Vec<BlockHash>,
}

/// A cache of at most `capacity` blocks.
#[derive(Debug)]
pub(super) struct BlockCache {
    capacity: usize,
    blocks: HashMap<BlockHash, Block>,
    /// What can be evicted: blocks without children and pins, oldest use first.
    leaves: BTreeSet<(u64, BlockHash)>,
    pinned: usize,
    clock: u64,
}

#[derive(Debug)]
struct Block {
    parent: Option<BlockHash>,
    children: usize,
    pins: usize,
    used: u64,
}

impl BlockCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            blocks: HashMap::new(),
            leaves: BTreeSet::new(),
            pinned: 0,
            clock: 0,
        }
    }

    /// Finds the longest cached prefix, adds the rest as far as there is room, and pins the whole path.
    pub(super) fn admit(&mut self, prompt: &PromptBlocks) -> Admitted {
        self.clock += 1;
        let found = prompt
            .hashes
            .iter()
            .take_while(|hash| self.blocks.contains_key(hash))
            .count();
        let mut pinned = Vec::with_capacity(prompt.hashes.len());
        for &hash in &prompt.hashes {
            let parent = pinned.last().copied();
            if !self.blocks.contains_key(&hash) && !self.insert(hash, parent) {
                break;
            }
            self.pin(hash);
            pinned.push(hash);
        }
        Admitted {
            cached_tokens: found.min(prompt.reusable_blocks()) * BLOCK_TOKENS,
            pinned,
        }
    }

    /// Ends a request: its blocks stay, and may now be evicted.
    pub(super) fn release(&mut self, admitted: &Admitted) {
        for &hash in &admitted.pinned {
            if let Some(block) = self.blocks.get_mut(&hash) {
                block.pins -= 1;
                self.pinned -= usize::from(block.pins == 0);
            }
            self.offer(hash);
        }
    }

    /// The part of the cache that running requests hold, 0 to 1.
    pub(super) fn pinned_share(&self) -> f64 {
        self.pinned as f64 / self.capacity as f64
    }

    /// Adds a block under its (pinned) parent; false if everything that is left is pinned.
    fn insert(&mut self, hash: BlockHash, parent: Option<BlockHash>) -> bool {
        if self.blocks.len() >= self.capacity && !self.evict() {
            return false;
        }
        if let Some(parent) = parent.and_then(|parent| self.blocks.get_mut(&parent)) {
            parent.children += 1;
        }
        let used = self.clock;
        self.blocks.insert(
            hash,
            Block {
                parent,
                children: 0,
                pins: 0,
                used,
            },
        );
        true
    }

    fn evict(&mut self) -> bool {
        let Some((_, oldest)) = self.leaves.pop_first() else {
            return false;
        };
        let parent = self.blocks.remove(&oldest).and_then(|block| block.parent);
        if let Some(parent) = parent {
            if let Some(block) = self.blocks.get_mut(&parent) {
                block.children -= 1;
            }
            self.offer(parent);
        }
        true
    }

    fn pin(&mut self, hash: BlockHash) {
        let Some(block) = self.blocks.get_mut(&hash) else {
            return;
        };
        self.leaves.remove(&(block.used, hash));
        block.used = self.clock;
        self.pinned += usize::from(block.pins == 0);
        block.pins += 1;
    }

    /// Makes a block evictable if nothing holds it.
    fn offer(&mut self, hash: BlockHash) {
        if let Some(block) = self.blocks.get(&hash)
            && block.children == 0
            && block.pins == 0
        {
            self.leaves.insert((block.used, hash));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prompt of whole blocks, one letter a block, and one token more.
    fn prompt(letters: &str) -> PromptBlocks {
        let text: String = letters
            .chars()
            .flat_map(|letter| [letter; BLOCK_TOKENS * TOKEN_BYTES])
            .collect();
        PromptBlocks::of(&(text + "tail"))
    }

    /// Runs the prompts one after the other; returns the cached blocks of each.
    fn check(capacity: usize, prompts: &[&str], expected: &[usize]) {
        let mut cache = BlockCache::new(capacity);
        let cached: Vec<usize> = prompts
            .iter()
            .map(|letters| {
                let admitted = cache.admit(&prompt(letters));
                cache.release(&admitted);
                assert!(cache.blocks.len() <= capacity);
                admitted.cached_tokens / BLOCK_TOKENS
            })
            .collect();
        assert_eq!(cached, expected, "{prompts:?}");
        assert_eq!(cache.pinned, 0);
    }

    #[test]
    fn a_block_hits_only_behind_its_parents() {
        check(8, &["abc", "abc", "abd", "xbc", "ab"], &[0, 3, 2, 0, 2]);
        check(8, &["ab", "ba"], &[0, 0]);
    }

    #[test]
    fn the_least_recently_used_leaf_goes_first() {
        // `abd` pushes out `x`; the shared parents stay; then `y` pushes out the leaf `c`.
        check(4, &["abc", "x", "abc", "abd", "x"], &[0, 0, 3, 2, 0]);
        check(3, &["abc", "x", "abc"], &[0, 0, 2]);
        check(2, &["abcd", "ab"], &[0, 2]);
    }

    #[test]
    fn an_exactly_aligned_prompt_computes_its_last_block() {
        let text = "a".repeat(2 * BLOCK_TOKENS * TOKEN_BYTES);
        let mut cache = BlockCache::new(8);
        let first = cache.admit(&PromptBlocks::of(&text));
        cache.release(&first);
        assert_eq!(
            cache.admit(&PromptBlocks::of(&text)).cached_tokens,
            BLOCK_TOKENS
        );
    }

    #[test]
    fn what_runs_is_not_evicted() {
        let mut cache = BlockCache::new(3);
        let running = cache.admit(&prompt("ab"));
        let other = cache.admit(&prompt("xyz"));
        assert_eq!(other.pinned.len(), 1);
        assert_eq!(cache.pinned_share(), 1.0);
        cache.release(&other);
        assert_eq!(cache.admit(&prompt("abq")).cached_tokens, 2 * BLOCK_TOKENS);
        cache.release(&running);
        assert_eq!(cache.blocks.len(), 3);
    }

    #[test]
    fn tokens_count_the_tail() {
        assert_eq!(PromptBlocks::of("").tokens(), 0);
        assert_eq!(PromptBlocks::of("abcde").tokens(), 2);
        assert_eq!(PromptBlocks::of("").reusable_blocks(), 0);
    }
}
