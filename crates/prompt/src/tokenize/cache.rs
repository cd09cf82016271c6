//! Tokens of texts that were encoded before, found by a cryptographic hash of the whole text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Tokens;

/// Names a text and the way it is encoded.
///
/// All 32 bytes of BLAKE3. A shorter or guessable hash would let one caller's text choose the
/// tokens of another's.
pub(super) type Key = [u8; 32];

/// What an entry costs besides its tokens: key, table slot, reference counts, allocations.
const ENTRY_BYTES: usize = 192;

/// A bounded store that threads share.
///
/// It has two generations. What is used moves to the young one; when that is half the budget, it
/// becomes the old one, and what was still old is dropped.
pub(super) struct Cache {
    half: usize,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Key, Arc<Tokens>>,
    old: HashMap<Key, Arc<Tokens>>,
    young_bytes: usize,
}

impl Cache {
    /// A store for `budget` bytes; 0 keeps nothing.
    pub(super) fn new(budget: usize) -> Self {
        Self {
            half: budget / 2,
            generations: Mutex::default(),
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Tokens>> {
        let mut generations = self.lock();
        if let Some(tokens) = generations.young.get(key) {
            return Some(Arc::clone(tokens));
        }
        let tokens = generations.old.remove(key)?;
        generations.keep(*key, Arc::clone(&tokens), self.half);
        Some(tokens)
    }

    /// Keeps `tokens`, unless they alone are over half the budget.
    pub(super) fn put(&self, key: Key, tokens: Arc<Tokens>) {
        self.lock().keep(key, tokens, self.half);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        // Every state between two statements of `keep` is a valid one.
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn keep(&mut self, key: Key, tokens: Arc<Tokens>, half: usize) {
        let bytes = cost(&tokens);
        if bytes > half || self.young.contains_key(&key) {
            return;
        }
        if self.young_bytes + bytes > half {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(key, tokens);
    }
}

fn cost(tokens: &Tokens) -> usize {
    ENTRY_BYTES + tokens.ids.len() * (size_of::<u32>() + size_of::<usize>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        [n; 32]
    }

    fn tokens(count: usize) -> Arc<Tokens> {
        Arc::new(Tokens {
            ids: vec![7; count],
            ends: vec![1; count].into(),
        })
    }

    fn kept(cache: &Cache) -> Vec<u8> {
        (0..20).filter(|n| cache.get(&key(*n)).is_some()).collect()
    }

    #[test]
    fn what_is_used_stays_and_the_budget_holds() {
        let one = cost(&tokens(10));
        let cache = Cache::new(one * 8);
        for n in 0..20 {
            cache.put(key(n), tokens(10));
            assert!(cache.get(&key(0)).is_some(), "0 is used all the time");
            let generations = cache.lock();
            let held = generations.young.len() + generations.old.len();
            assert!(held <= 8, "{held} entries are over the budget");
            assert_eq!(generations.young_bytes, generations.young.len() * one);
        }
        let kept = kept(&cache);
        assert!(kept.contains(&0) && kept.contains(&19), "{kept:?}");
        assert!(!kept.contains(&1), "{kept:?}");
    }

    #[test]
    fn too_large_or_no_budget_keeps_nothing() {
        let cache = Cache::new(cost(&tokens(10)) * 2);
        cache.put(key(1), tokens(11));
        cache.put(key(2), tokens(10));
        assert_eq!(kept(&cache), [2]);
        let none = Cache::new(0);
        none.put(key(1), tokens(0));
        assert!(kept(&none).is_empty());
    }
}
