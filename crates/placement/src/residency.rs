//! Who is believed to hold what: one bounded table from a prefix to the workers it was sent to.
//!
//! ```text
//! dispatch ─► expected (by that request) ─first byte─► confirmed ─► aged out, evicted or void
//!                     └─ failure ─► gone
//! ```

use std::collections::BTreeMap;

use headwater_signature::{Fingerprint, PrefixHash};

use crate::id::{RequestId, WorkerId};
use crate::lru::Lru;

/// What the table is asked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    // First, because it alone tells nearly all names apart.
    hash: u64,
    space: Space,
}

/// Whose names a hash is one of: equal hashes of different spaces never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    /// Prefixes under the scheme of this fingerprint.
    Scheme(u64),
    /// Keys whose prompts have no names.
    Session,
}

impl Name {
    /// The name of a whole prefix under its scheme.
    pub(crate) fn prefix(hash: PrefixHash, scheme: Fingerprint) -> Self {
        let number = u64::from_be_bytes;
        let space = Space::Scheme(number(*scheme.as_bytes()));
        Self {
            hash: number(*hash.as_bytes()),
            space,
        }
    }

    /// The name that a key's last request is found by.
    pub(crate) fn session(key: u64) -> Self {
        Self {
            hash: key,
            space: Space::Session,
        }
    }
}

/// A worker that is believed to hold a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) worker: WorkerId,
    /// Uncached tokens that had been sent to the worker when this was last known.
    pub(crate) sent_at: u64,
    changed: u64,
    status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    ExpectedBy(RequestId),
    Confirmed,
}

/// How much of a worker's cache has been overwritten since it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wear {
    /// Uncached tokens sent to the worker so far.
    pub(crate) sent_tokens: u64,
    /// How many of them push an idle prefix out.
    pub(crate) limit_tokens: u64,
}

impl Wear {
    /// Whether a prefix last used when `sent_at` tokens had been sent is still there.
    pub(crate) fn spares(self, sent_at: u64) -> bool {
        self.sent_tokens.saturating_sub(sent_at) < self.limit_tokens
    }
}

/// The table. Least recently dispatched names go first.
#[derive(Clone, Debug)]
pub(crate) struct Residency {
    workers_per_prefix: usize,
    capacity: usize,
    names: Lru<Name, Vec<Holder>>,
    /// Counts changes, to tell which holder of a name is the oldest.
    changes: u64,
    held: BTreeMap<WorkerId, usize>,
}

impl Residency {
    /// An empty table without room; see [`Self::resize`].
    pub(crate) fn new(workers_per_prefix: usize) -> Self {
        let (names, held) = (Lru::new(), BTreeMap::new());
        Self {
            workers_per_prefix,
            capacity: 0,
            names,
            changes: 0,
            held,
        }
    }

    /// Makes room for that many names, or drops what no longer has any.
    pub(crate) fn resize(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.shrink_to(capacity);
    }

    /// The workers believed to hold it, fresh or not.
    pub(crate) fn holders(&self, name: Name) -> &[Holder] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// A request that brings this prefix was sent to the worker. What is known to be there
    /// stays known; anything else hangs on the request from now on.
    pub(crate) fn expect(&mut self, name: Name, worker: WorkerId, by: RequestId, wear: Wear) {
        let known = self.holders(name).iter().find(|h| {
            h.worker == worker && h.status == Status::Confirmed && wear.spares(h.sent_at)
        });
        let expected = Holder {
            worker,
            sent_at: wear.sent_tokens,
            changed: 0,
            status: Status::ExpectedBy(by),
        };
        self.put(name, known.copied().unwrap_or(expected));
    }

    /// The worker has prefilled this prefix.
    pub(crate) fn confirm(&mut self, name: Name, worker: WorkerId, wear: Wear) {
        let sent_at = wear.sent_tokens;
        self.put(
            name,
            Holder {
                worker,
                sent_at,
                changed: 0,
                status: Status::Confirmed,
            },
        );
    }

    /// The request failed: what only it made us expect is not there.
    pub(crate) fn withdraw(&mut self, name: Name, worker: WorkerId, by: RequestId) {
        self.retain(name, |h| {
            h.worker != worker || h.status != Status::ExpectedBy(by)
        });
    }

    /// The worker's cache is gone.
    pub(crate) fn forget(&mut self, worker: WorkerId) {
        let holds = |holders: &[Holder]| holders.iter().any(|h| h.worker == worker);
        let found = self.names.iter().filter(|(_, holders)| holds(holders));
        let names: Vec<Name> = found.map(|(name, _)| name).collect();
        for name in names {
            self.retain(name, |h| h.worker != worker);
        }
    }

    /// Names in the table.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Names that this worker is believed to hold.
    pub(crate) fn held_by(&self, worker: WorkerId) -> usize {
        self.held.get(&worker).copied().unwrap_or(0)
    }

    /// Writes what is believed of one worker under a name, as the latest use of both.
    fn put(&mut self, name: Name, holder: Holder) {
        self.changes += 1;
        let holder = Holder {
            changed: self.changes,
            ..holder
        };
        *self.held.entry(holder.worker).or_default() += 1;
        let Some(holders) = self.names.touch(name) else {
            self.shrink_to(self.capacity.saturating_sub(1));
            return self.names.insert(name, vec![holder]);
        };
        let full = holders.len() >= self.workers_per_prefix;
        let replaced = match holders.iter_mut().find(|h| h.worker == holder.worker) {
            None if full => holders.iter_mut().min_by_key(|h| h.changed),
            found => found,
        };
        match replaced {
            Some(old) => release(&mut self.held, std::mem::replace(old, holder).worker),
            None => holders.push(holder),
        }
    }

    /// Keeps the holders of one name that `keep` says; a name without holders goes.
    fn retain(&mut self, name: Name, keep: impl Fn(&Holder) -> bool) {
        let Some(holders) = self.names.get_mut(name) else {
            return;
        };
        for gone in holders.iter().filter(|h| !keep(h)) {
            release(&mut self.held, gone.worker);
        }
        holders.retain(keep);
        if holders.is_empty() {
            self.names.remove(name);
        }
    }

    fn shrink_to(&mut self, names: usize) {
        while self.names.len() > names {
            let Some(holders) = self.names.pop_oldest() else {
                return;
            };
            holders
                .iter()
                .for_each(|h| release(&mut self.held, h.worker));
        }
    }
}

/// Takes one name off a worker's count.
fn release(held: &mut BTreeMap<WorkerId, usize>, worker: WorkerId) {
    let Some(count) = held.get_mut(&worker) else {
        return;
    };
    *count -= 1;
    if *count == 0 {
        held.remove(&worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RequestId = RequestId(1);
    const B: RequestId = RequestId(2);

    fn wear(sent_tokens: u64) -> Wear {
        Wear {
            sent_tokens,
            limit_tokens: 100,
        }
    }

    fn worker(number: u32) -> WorkerId {
        WorkerId::of(&number.to_string())
    }

    fn table(capacity: usize) -> Residency {
        let mut table = Residency::new(2);
        table.resize(capacity);
        table
    }

    fn who(table: &Residency, name: u64) -> Vec<WorkerId> {
        table
            .holders(Name::session(name))
            .iter()
            .map(|h| h.worker)
            .collect()
    }

    #[test]
    fn a_failure_takes_back_only_what_hung_on_it() {
        let (mut table, w, name) = (table(8), worker(0), Name::session(7));
        table.expect(name, w, A, wear(0));
        table.withdraw(name, w, A);
        assert_eq!(
            (who(&table, 7), table.len(), table.held_by(w)),
            (vec![], 0, 0)
        );

        // A second request relies on the same prefix: the first one's failure is not its own.
        table.expect(name, w, A, wear(0));
        table.expect(name, w, B, wear(0));
        table.withdraw(name, w, A);
        assert_eq!(who(&table, 7), [w]);

        // What was prefilled once is not undone by a later failure,
        table.confirm(name, w, wear(0));
        table.expect(name, w, B, wear(50));
        table.withdraw(name, w, B);
        assert_eq!(who(&table, 7), [w]);
        // unless it had been pushed out before that.
        table.expect(name, w, B, wear(100));
        table.withdraw(name, w, B);
        assert_eq!(who(&table, 7), []);
    }

    #[test]
    fn a_prefix_ages_by_what_was_sent_since() {
        assert!(wear(199).spares(100));
        assert!(!wear(200).spares(100));
        assert!(wear(0).spares(100), "sent_at ahead of the count is not old");
    }

    #[test]
    fn the_least_recently_used_name_goes_first() {
        let (mut table, w) = (table(2), worker(0));
        table.confirm(Name::session(1), w, wear(0));
        table.confirm(Name::session(2), w, wear(0));
        table.expect(Name::session(1), w, A, wear(0));
        table.confirm(Name::session(3), w, wear(0));
        assert_eq!(
            (who(&table, 1), who(&table, 2), who(&table, 3)),
            (vec![w], vec![], vec![w])
        );
        assert_eq!((table.len(), table.held_by(w)), (2, 2));
        table.resize(1);
        assert_eq!((table.len(), table.held_by(w)), (1, 1));
    }

    #[test]
    fn the_least_recently_used_worker_makes_room_under_a_name() {
        let mut table = table(8);
        for number in [0, 1, 0, 2] {
            table.confirm(Name::session(1), worker(number), wear(0));
        }
        assert_eq!(who(&table, 1), [worker(0), worker(2)]);
        assert_eq!(table.held_by(worker(1)), 0);
    }

    #[test]
    fn a_lost_cache_is_forgotten_whole() {
        let mut table = table(8);
        table.confirm(Name::session(1), worker(0), wear(0));
        table.confirm(Name::session(1), worker(1), wear(0));
        table.confirm(Name::session(2), worker(0), wear(0));
        table.forget(worker(0));
        assert_eq!((who(&table, 1), who(&table, 2)), (vec![worker(1)], vec![]));
        assert_eq!((table.len(), table.held_by(worker(0))), (1, 0));
    }
}
