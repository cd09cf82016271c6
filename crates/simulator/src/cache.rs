//! A worker's prefix cache: blocks of a trie, the longest unused evicted first, leaves before trunks.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::trace::Node;

/// Blocks that a worker holds, at most so many.
///
/// A block is used together with all blocks before it, and the ones nearer the root count as
/// used a moment later. So an unused block is always older than the one before it, plain
/// least-recently-used order evicts leaves first, and what is held is always whole prefixes.
#[derive(Clone, Debug)]
pub struct BlockCache {
    capacity: usize,
    places: HashMap<u32, u32, BuildHasherDefault<NodeHasher>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Ends of the list of blocks that nobody pins.
    oldest: u32,
    newest: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    node: u32,
    pins: u32,
    older: u32,
    newer: u32,
}

const NONE: u32 = u32::MAX;

impl BlockCache {
    /// An empty cache for so many blocks.
    #[must_use]
    pub fn new(capacity_blocks: usize) -> Self {
        Self {
            capacity: capacity_blocks,
            places: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Blocks held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many blocks of a path it holds.
    #[must_use]
    pub fn held(&self, path: &[Node]) -> usize {
        path.partition_point(|node| self.places.contains_key(&node.0))
    }

    /// Changes how many blocks fit; what is pinned stays in any case.
    pub fn resize(&mut self, capacity_blocks: usize) {
        self.capacity = capacity_blocks;
        while self.places.len() > self.capacity && self.evict_oldest() {}
    }

    /// Forgets everything, pinned or not.
    pub fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }

    /// Pins what it holds of a path, so that it stays until it is unpinned; tells how many blocks.
    pub fn pin_held(&mut self, path: &[Node]) -> usize {
        let held = self.held(path);
        for node in path.iter().take(held) {
            if let Some(place) = self.places.get(&node.0).copied() {
                self.pin(place);
            }
        }
        held
    }

    /// Adds and pins the blocks of a path from number `from` on, as far as there is room; tells
    /// how many blocks of the path are pinned then. The blocks before must be pinned already.
    pub fn pin_new(&mut self, path: &[Node], from: usize) -> usize {
        for (at, node) in path.iter().enumerate().skip(from) {
            if let Some(place) = self.places.get(&node.0).copied() {
                self.pin(place);
            } else if !self.insert(*node) {
                return at;
            }
        }
        path.len().max(from)
    }

    /// Takes back the pins of the first `pinned` blocks of a path.
    pub fn unpin(&mut self, path: &[Node], pinned: usize) {
        // From the leaf to the root, so that the root is the newest.
        for node in path.iter().take(pinned).rev() {
            let Some(place) = self.places.get(&node.0).copied() else {
                continue;
            };
            let Some(slot) = self.slots.get_mut(place as usize) else {
                continue;
            };
            slot.pins = slot.pins.saturating_sub(1);
            if slot.pins == 0 {
                self.append(place);
            }
        }
        while self.places.len() > self.capacity && self.evict_oldest() {}
    }

    /// Marks a path as used now, adding what is missing: a router's guess of a worker's cache.
    pub fn touch(&mut self, path: &[Node]) {
        let held = self.pin_held(path);
        let pinned = self.pin_new(path, held);
        self.unpin(path, pinned);
    }

    fn insert(&mut self, node: Node) -> bool {
        if self.places.len() >= self.capacity && !self.evict_oldest() {
            return false;
        }
        let slot = Slot {
            node: node.0,
            pins: 1,
            older: NONE,
            newer: NONE,
        };
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(free) = self.slots.get_mut(place as usize) {
                    *free = slot;
                }
                place
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
            }
        };
        self.places.insert(node.0, place);
        true
    }

    fn pin(&mut self, place: u32) {
        let Some(slot) = self.slots.get_mut(place as usize) else {
            return;
        };
        slot.pins += 1;
        if slot.pins == 1 {
            self.unlink(place);
        }
    }

    fn evict_oldest(&mut self) -> bool {
        let place = self.oldest;
        let Some(node) = self.slots.get(place as usize).map(|slot| slot.node) else {
            return false;
        };
        self.unlink(place);
        self.places.remove(&node);
        self.free.push(place);
        true
    }

    fn append(&mut self, place: u32) {
        let before = self.newest;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            (slot.older, slot.newer) = (before, NONE);
        }
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Some(Slot { older, newer, .. }) = self.slots.get(place as usize).copied() else {
            return;
        };
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }
}

/// Nodes are small numbers that we gave ourselves: one multiplication spreads them well enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let spread = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 29);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(nodes: &[u32]) -> Vec<Node> {
        nodes.iter().copied().map(Node).collect()
    }

    #[test]
    fn leaves_go_first_and_the_oldest_of_them() {
        let mut cache = BlockCache::new(4);
        cache.touch(&path(&[0, 1, 2]));
        cache.touch(&path(&[0, 3]));
        assert_eq!(cache.held(&path(&[0, 1, 2])), 3);
        // Full: the leaf of the older path goes, its trunk stays.
        cache.touch(&path(&[0, 3, 4]));
        assert_eq!(cache.held(&path(&[0, 1, 2])), 2);
        assert_eq!(cache.held(&path(&[0, 3, 4])), 3);
    }

    #[test]
    fn what_is_pinned_stays() {
        let mut cache = BlockCache::new(3);
        assert_eq!(cache.pin_new(&path(&[0, 1]), 0), 2);
        // One place is left.
        assert_eq!(cache.pin_new(&path(&[5, 6]), 0), 1);
        assert_eq!(cache.held(&path(&[0, 1])), 2);
        cache.unpin(&path(&[0, 1]), 2);
        assert_eq!(cache.pin_new(&path(&[5, 6]), 1), 2);
        assert_eq!(cache.held(&path(&[0, 1])), 1, "the leaf made room");
        cache.resize(0);
        assert_eq!(cache.len(), 2, "pinned blocks outlive a smaller cache");
        cache.clear();
        assert!(cache.is_empty());
    }

    /// The same cache, slowly: a list of (node, time of use, pins).
    #[derive(Default)]
    struct Slow {
        blocks: Vec<(u32, u64, u32)>,
        clock: u64,
    }

    impl Slow {
        fn touch(&mut self, capacity: usize, path: &[Node]) {
            let held = path
                .iter()
                .take_while(|n| self.blocks.iter().any(|b| b.0 == n.0))
                .count();
            for block in &mut self.blocks {
                block.2 = u32::from(path.iter().take(held).any(|n| n.0 == block.0));
            }
            let mut fit = held;
            for node in path.iter().skip(held) {
                if self.blocks.len() >= capacity {
                    let Some(oldest) = (0..self.blocks.len())
                        .filter(|at| self.blocks[*at].2 == 0)
                        .min_by_key(|at| self.blocks[*at].1)
                    else {
                        break;
                    };
                    self.blocks.remove(oldest);
                }
                self.blocks.push((node.0, 0, 1));
                fit += 1;
            }
            for node in path.iter().take(fit).rev() {
                self.clock += 1;
                let block = self.blocks.iter_mut().find(|b| b.0 == node.0).unwrap();
                (block.1, block.2) = (self.clock, 0);
            }
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_the_slow_one_holds(
            capacity in 1_usize..12,
            paths in prop::collection::vec(prop::collection::vec(0_u32..3, 1..6), 1..40),
        ) {
            let mut cache = BlockCache::new(capacity);
            let mut slow = Slow::default();
            for digits in &paths {
                // A node's number spells its path, so equal nodes are equal prefixes.
                let mut spelled = 0;
                let path: Vec<Node> = digits
                    .iter()
                    .map(|digit| { spelled = spelled * 4 + digit + 1; Node(spelled) })
                    .collect();
                cache.touch(&path);
                slow.touch(capacity, &path);
                prop_assert!(cache.len() <= capacity);
                for blocks in 0..=path.len() {
                    let known = path.get(..blocks).unwrap();
                    let expected = known.iter().take_while(|n| slow.blocks.iter().any(|b| b.0 == n.0)).count();
                    prop_assert_eq!(cache.held(known), expected);
                }
            }
        }
    }
}
