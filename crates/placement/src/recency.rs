//! Values in numbered places, and for each worker the order in which its own were last used.

/// Values in places whose numbers stay.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    values: Vec<Option<T>>,
    /// Places that hold nothing.
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        self.values.get(at as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.values.get_mut(at as usize)?.as_mut()
    }

    /// Puts a value into a free place.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop()
            && let Some(place) = self.values.get_mut(at as usize)
        {
            *place = Some(value);
            return at;
        }
        self.values.push(Some(value));
        // Four billion places do not fit into memory.
        u32::try_from(self.values.len() - 1).unwrap_or(END)
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        let value = self.values.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }
}

/// No place.
const END: u32 = u32::MAX;

/// A slab whose values belong to one of several lists, each in its order of use.
///
/// The order stands beside the values and not in them: what changes it with every request then fits
/// a processor's nearer caches.
#[derive(Clone, Debug)]
pub(crate) struct Recency<T> {
    slab: Slab<T>,
    links: Vec<Link>,
    lists: Vec<List>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// No list where the place holds nothing.
    list: u32,
    older: u32,
    newer: u32,
}

impl Link {
    const NOWHERE: Self = Self {
        list: END,
        older: END,
        newer: END,
    };
}

#[derive(Clone, Copy, Debug)]
struct List {
    oldest: u32,
    newest: u32,
    len: usize,
}

impl List {
    const EMPTY: Self = Self {
        oldest: END,
        newest: END,
        len: 0,
    };
}

impl<T> Recency<T> {
    pub(crate) const fn new() -> Self {
        Self {
            slab: Slab::new(),
            links: Vec::new(),
            lists: Vec::new(),
        }
    }

    pub(crate) fn len(&self, list: usize) -> usize {
        self.lists.get(list).map_or(0, |l| l.len)
    }

    /// What of a list was not used for longest.
    pub(crate) fn oldest(&self, list: usize) -> Option<u32> {
        let oldest = self.lists.get(list)?.oldest;
        (oldest != END).then_some(oldest)
    }

    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        self.slab.get(at)
    }

    /// The list that a value is in.
    pub(crate) fn list_of(&self, at: u32) -> Option<usize> {
        let link = self.links.get(at as usize)?;
        (link.list != END).then_some(link.list as usize)
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.slab.get_mut(at)
    }

    /// Adds a value as the latest in use of a list.
    pub(crate) fn push(&mut self, list: usize, value: T) -> u32 {
        let at = self.slab.insert(value);
        if self.links.len() <= at as usize {
            self.links.resize(at as usize + 1, Link::NOWHERE);
        }
        self.link(list, at);
        at
    }

    /// Makes a value the latest in use of this list, whichever it was in.
    pub(crate) fn touch(&mut self, list: usize, at: u32) {
        if self.lists.get(list).is_none_or(|l| l.newest != at) && self.unlink(at) {
            self.link(list, at);
        }
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        if !self.unlink(at) {
            return None;
        }
        if let Some(link) = self.links.get_mut(at as usize) {
            *link = Link::NOWHERE;
        }
        self.slab.remove(at)
    }

    /// Puts a value that is in no list at the end of one.
    fn link(&mut self, list: usize, at: u32) {
        if self.lists.len() <= list {
            self.lists.resize(list + 1, List::EMPTY);
        }
        let (Some(ends), Ok(number)) = (self.lists.get_mut(list), u32::try_from(list)) else {
            return;
        };
        let older = std::mem::replace(&mut ends.newest, at);
        ends.len += 1;
        match self.links.get_mut(older as usize) {
            Some(link) => link.newer = at,
            None => ends.oldest = at,
        }
        if let Some(link) = self.links.get_mut(at as usize) {
            *link = Link {
                list: number,
                older,
                newer: END,
            };
        }
    }

    /// Takes a value out of its list; false if there is none.
    fn unlink(&mut self, at: u32) -> bool {
        let Some(Link { list, older, newer }) = self.links.get(at as usize).copied() else {
            return false;
        };
        let Some(ends) = self.lists.get_mut(list as usize) else {
            return false;
        };
        ends.len -= 1;
        match self.links.get_mut(older as usize) {
            Some(link) => link.newer = newer,
            None => ends.oldest = newer,
        }
        match self.links.get_mut(newer as usize) {
            Some(link) => link.older = older,
            None => ends.newest = older,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(usize),
        Touch(usize, usize),
        Remove(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0_usize..2).prop_map(Step::Push),
            3 => (0_usize..2, 0_usize..12).prop_map(|(list, which)| Step::Touch(list, which)),
            1 => (0_usize..12).prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn each_list_keeps_the_latest_at_its_end(steps in prop::collection::vec(step(), 0..80)) {
            let mut lists = Recency::new();
            // The slow and obvious one: (list, place, value), the latest last.
            let mut model: Vec<(usize, u32, usize)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push(list) => {
                        let at = lists.push(list, number);
                        prop_assert!(model.iter().all(|m| m.1 != at));
                        model.push((list, at, number));
                    }
                    Step::Touch(list, which) if which < model.len() => {
                        let (_, at, value) = model.remove(which);
                        lists.touch(list, at);
                        model.push((list, at, value));
                    }
                    Step::Remove(which) if which < model.len() => {
                        let (_, at, value) = model.remove(which);
                        prop_assert_eq!(lists.remove(at), Some(value));
                        prop_assert_eq!(lists.remove(at), None);
                    }
                    Step::Touch(..) | Step::Remove(_) => {}
                }
                for list in 0..2 {
                    let of_list = || model.iter().filter(|m| m.0 == list);
                    prop_assert_eq!(lists.len(list), of_list().count());
                    prop_assert_eq!(lists.oldest(list), of_list().next().map(|m| m.1));
                }
            }
            for (list, _, value) in model {
                let oldest = lists.oldest(list).unwrap();
                prop_assert_eq!(lists.remove(oldest), Some(value));
            }
        }
    }
}
