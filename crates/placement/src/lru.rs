//! A bounded map: when it is full, what was not used for longest goes.

use std::collections::BTreeMap;

/// A map with an order of use. Lookups do not count as a use; [`Self::touch`] does.
///
/// Ordered by key inside, not hashed: keys come from clients, who could aim at one bucket.
#[derive(Clone, Debug)]
pub(crate) struct Lru<K, V> {
    index: BTreeMap<K, usize>,
    slots: Vec<Slot<K, V>>,
    /// Places in `slots` that hold nothing.
    free: Vec<usize>,
    oldest: usize,
    newest: usize,
}

/// One entry, linked to its neighbours in the order of use.
#[derive(Clone, Debug)]
struct Slot<K, V> {
    key: K,
    value: V,
    older: usize,
    newer: usize,
}

/// No slot.
const END: usize = usize::MAX;

impl<K: Copy + Ord, V: Default> Lru<K, V> {
    pub(crate) fn new() -> Self {
        let (index, slots, free) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self {
            index,
            slots,
            free,
            oldest: END,
            newest: END,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.index.get(&key).map(|at| &self.slots[*at].value)
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.index.get(&key).map(|at| &mut self.slots[*at].value)
    }

    /// The value, if it is there, as the latest one in use.
    pub(crate) fn touch(&mut self, key: K) -> Option<&mut V> {
        let at = *self.index.get(&key)?;
        if at != self.newest {
            self.unlink(at);
            self.link(at);
        }
        Some(&mut self.slots[at].value)
    }

    /// Adds a key that is not there, as the latest one in use.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let slot = Slot {
            key,
            value,
            older: END,
            newer: END,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.index.insert(key, at);
        self.link(at);
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.index.remove(&key)?;
        self.unlink(at);
        self.free.push(at);
        Some(std::mem::take(&mut self.slots[at].value))
    }

    /// Takes out what was not used for longest.
    pub(crate) fn pop_oldest(&mut self) -> Option<V> {
        let key = self.slots.get(self.oldest)?.key;
        self.remove(key)
    }

    /// Every entry by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.index
            .iter()
            .map(|(key, at)| (*key, &self.slots[*at].value))
    }

    fn link(&mut self, at: usize) {
        let older = std::mem::replace(&mut self.newest, at);
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = at,
            None => self.oldest = at,
        }
        (self.slots[at].older, self.slots[at].newer) = (older, END);
    }

    fn unlink(&mut self, at: usize) {
        let (older, newer) = (self.slots[at].older, self.slots[at].newer);
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Put(u8),
        Remove(u8),
        Pop,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0_u8..12).prop_map(Step::Put),
            1 => (0_u8..12).prop_map(Step::Remove),
            1 => Just(Step::Pop),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_list_with_the_latest_at_the_end(steps in prop::collection::vec(step(), 0..80)) {
            let mut lru = Lru::new();
            // The slow and obvious one.
            let mut list: Vec<(u8, usize)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Put(key) => {
                        match lru.touch(key) {
                            Some(value) => *value = number,
                            None => lru.insert(key, number),
                        }
                        list.retain(|(k, _)| *k != key);
                        list.push((key, number));
                    }
                    Step::Remove(key) => {
                        let at = list.iter().position(|(k, _)| *k == key);
                        prop_assert_eq!(lru.remove(key), at.map(|at| list.remove(at).1));
                    }
                    Step::Pop => {
                        let oldest = (!list.is_empty()).then(|| list.remove(0).1);
                        prop_assert_eq!(lru.pop_oldest(), oldest);
                    }
                }
                prop_assert_eq!(lru.len(), list.len());
                let mut by_key = list.clone();
                by_key.sort_unstable();
                prop_assert_eq!(lru.iter().map(|(k, v)| (k, *v)).collect::<Vec<_>>(), by_key);
            }
            let rest: Vec<_> = std::iter::from_fn(|| lru.pop_oldest()).collect();
            prop_assert_eq!(rest, list.into_iter().map(|(_, v)| v).collect::<Vec<_>>());
        }
    }
}
