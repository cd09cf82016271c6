//! Who is believed to hold what: from a prefix to the workers that it was sent to.
//!
//! ```text
//! hold ─► planned ─┐
//! dispatch ────────┴► expected (by that request) ─first byte─► confirmed ─► aged, evicted or void
//!                          └─ failure ─► gone
//! ```
//!
//! A *place* is one prefix at one worker. Each worker has room for so many places and gives up
//! the least recently used one, so a busy worker never pushes out what another one holds, and a
//! prefix that everybody holds is known to be everywhere.

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::id::RequestId;
use crate::name::{Name, Seed};
use crate::recency::{Recency, Slab};

/// A worker's number inside this fleet: dense, used again after it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u16);

impl Slot {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A place in the table, to find it again without its name as long as it is the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceId {
    at: u32,
    born: u32,
}

/// Counts places in the order in which they were made, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Birth(u32);

impl Birth {
    /// Whether this came earlier, as far as a count that wraps can tell.
    pub(crate) fn is_before(self, other: Self) -> bool {
        other.0.wrapping_sub(self.0).wrapping_sub(1) < u32::MAX / 2
    }
}

/// A worker that is believed to hold a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) slot: Slot,
    pub(crate) firmness: Firmness,
    pub(crate) stamp: Stamp,
    place: PlaceId,
}

impl Holder {
    /// When it came to be believed.
    pub(crate) fn birth(&self) -> Birth {
        Birth(self.place.born)
    }
}

/// How far a belief has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Firmness {
    /// A request that brings it waits for the worker.
    Planned,
    /// A request that brings it was sent there.
    Expected,
    /// A request that brought it was answered there, or the engine said so.
    Confirmed,
}

/// Uncached tokens that had been sent to a worker at some moment, in units of 16, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(pub(crate) u32);

/// How much of a worker's cache has been overwritten since it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wear {
    pub(crate) now: Stamp,
    /// How many units push an idle prefix out.
    pub(crate) limit: u32,
}

impl Wear {
    /// Units sent since.
    pub(crate) fn age(self, stamp: Stamp) -> u32 {
        self.now.0.wrapping_sub(stamp.0)
    }

    /// Whether a prefix last used at that stamp is still there.
    pub(crate) fn spares(self, stamp: Stamp) -> bool {
        self.age(stamp) < self.limit
    }
}

/// A name and everybody who holds it.
#[derive(Clone, Debug)]
struct Entry {
    name: Name,
    holders: SmallVec<[Holder; 4]>,
}

/// One prefix at one worker.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: u32,
    slot: Slot,
    /// Whose failure takes the belief back; meaningless once it is confirmed.
    by: RequestId,
    born: u32,
    /// For a conversation, the tokens of the latest prompt that was sent there.
    prompt_tokens: u32,
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Residency {
    seed: Seed,
    /// Places that each worker has room for.
    room: usize,
    index: HashTable<u32>,
    entries: Slab<Entry>,
    places: Recency<Place>,
    births: u32,
}

impl Residency {
    /// An empty table with room for that many places of each worker.
    pub(crate) fn new(seed: Seed, room: usize) -> Self {
        Self {
            seed,
            room,
            index: HashTable::new(),
            entries: Slab::new(),
            places: Recency::new(),
            births: 0,
        }
    }

    /// The workers believed to hold it, fresh or not, in no order that means anything.
    pub(crate) fn holders(&self, name: Name) -> &[Holder] {
        self.find(name)
            .and_then(|at| self.entries.get(at))
            .map_or(&[], |entry| &entry.holders)
    }

    /// A request that brings this prefix was sent to the worker, or waits for it. What is known
    /// to be there stays known; anything else hangs on the request from now on. Gives the place
    /// and what was believed of it before.
    pub(crate) fn expect(
        &mut self,
        name: Name,
        slot: Slot,
        wear: Wear,
        (by, firmness): (RequestId, Firmness),
    ) -> (PlaceId, Option<Holder>) {
        let (place, known) = self.touch(name, slot);
        let fresh = known.filter(|h| wear.spares(h.stamp));
        // Waiting makes nothing less certain than it was.
        let firmer = |h: Holder| h.firmness == Firmness::Confirmed || h.firmness > firmness;
        if !fresh.is_some_and(firmer) {
            self.write(place, Some(by), firmness, wear.now);
        }
        (place, fresh)
    }

    /// A conversation's prompt of so many tokens was sent there.
    pub(crate) fn note_prompt(&mut self, place: PlaceId, tokens: u32) {
        let found = self.places.get_mut(place.at);
        if let Some(place) = found.filter(|found| found.born == place.born) {
            place.prompt_tokens = tokens;
        }
    }

    /// Tokens of the latest prompt of a conversation that was sent there.
    pub(crate) fn prompt_tokens(&self, holder: &Holder) -> Option<u32> {
        self.place(holder.place).map(|place| place.prompt_tokens)
    }

    /// The engine says that it has this prefix.
    pub(crate) fn store(&mut self, name: Name, slot: Slot, wear: Wear) {
        let (place, _) = self.touch(name, slot);
        self.write(place, None, Firmness::Confirmed, wear.now);
    }

    /// The prefix has been prefilled there. One evicted meanwhile stays forgotten.
    pub(crate) fn confirm(&mut self, place: PlaceId, wear: Wear) {
        self.write(place, None, Firmness::Confirmed, wear.now);
    }

    /// The request failed or left: what only it made us expect is not there.
    pub(crate) fn withdraw(&mut self, place: PlaceId, by: RequestId) {
        let Some(found) = self.place(place) else {
            return;
        };
        let holders = self.entries.get(found.entry).map(|e| &e.holders);
        let holder = holders.and_then(|all| all.iter().find(|h| h.slot == found.slot));
        if found.by == by && holder.is_some_and(|h| h.firmness != Firmness::Confirmed) {
            self.drop_place(place.at);
        }
    }

    /// The engine says that it no longer has this prefix.
    pub(crate) fn remove(&mut self, name: Name, slot: Slot) {
        let place = self.holders(name).iter().find(|h| h.slot == slot);
        if let Some(place) = place.map(|h| h.place) {
            self.drop_place(place.at);
        }
    }

    /// The worker's cache is gone.
    pub(crate) fn forget(&mut self, slot: Slot) {
        while let Some(oldest) = self.places.oldest(slot.index()) {
            self.drop_place(oldest);
        }
    }

    /// The birth of the next place.
    pub(crate) fn next_birth(&self) -> Birth {
        Birth(self.births.wrapping_add(1))
    }

    /// Names in the table.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Names that this worker is believed to hold.
    pub(crate) fn held_by(&self, slot: Slot) -> usize {
        self.places.len(slot.index())
    }

    fn find(&self, name: Name) -> Option<u32> {
        let same = |at: &u32| self.entries.get(*at).is_some_and(|e| e.name == name);
        self.index.find(self.seed.hash(name), same).copied()
    }

    fn place(&self, id: PlaceId) -> Option<Place> {
        let place = self.places.get(id.at).copied();
        place.filter(|place| place.born == id.born)
    }

    /// The place of a name at a worker as the latest in use, made if it is not there, and what
    /// was believed of it before.
    fn touch(&mut self, name: Name, slot: Slot) -> (PlaceId, Option<Holder>) {
        let known = self.holders(name).iter().find(|h| h.slot == slot).copied();
        if let Some(holder) = known {
            self.places.touch(slot.index(), holder.place.at);
            return (holder.place, known);
        }
        while self.places.len(slot.index()) >= self.room {
            let Some(oldest) = self.places.oldest(slot.index()) else {
                break;
            };
            self.drop_place(oldest);
        }
        let entry = self.find(name).unwrap_or_else(|| self.enter(name));
        self.births = self.births.wrapping_add(1);
        let (by, born) = (RequestId(0), self.births);
        let new = Place {
            entry,
            slot,
            by,
            born,
            prompt_tokens: 0,
        };
        let at = self.places.push(slot.index(), new);
        let place = PlaceId { at, born };
        let (firmness, stamp) = (Firmness::Planned, Stamp(0));
        if let Some(entry) = self.entries.get_mut(entry) {
            entry.holders.push(Holder {
                slot,
                firmness,
                stamp,
                place,
            });
        }
        (place, None)
    }

    /// A new name, held by nobody yet.
    fn enter(&mut self, name: Name) -> u32 {
        let holders = SmallVec::new();
        let at = self.entries.insert(Entry { name, holders });
        let (seed, entries) = (self.seed, &self.entries);
        let hash_of = |at: &u32| entries.get(*at).map_or(0, |e| seed.hash(e.name));
        self.index.insert_unique(seed.hash(name), at, hash_of);
        at
    }

    fn write(&mut self, id: PlaceId, by: Option<RequestId>, firmness: Firmness, stamp: Stamp) {
        let found = self.places.get_mut(id.at);
        let Some(place) = found.filter(|place| place.born == id.born) else {
            return;
        };
        place.by = by.unwrap_or(place.by);
        let (entry, slot) = (place.entry, place.slot);
        let holders = self.entries.get_mut(entry).map(|e| &mut e.holders);
        let holder = holders.and_then(|all| all.iter_mut().find(|h| h.slot == slot));
        if let Some(holder) = holder {
            (holder.firmness, holder.stamp) = (firmness, stamp);
        }
    }

    /// Takes one place out; a name without holders goes with it.
    fn drop_place(&mut self, place: u32) {
        let Some(Place {
            entry: at, slot, ..
        }) = self.places.remove(place)
        else {
            return;
        };
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        entry.holders.retain(|h| h.slot != slot);
        if !entry.holders.is_empty() {
            return;
        }
        let hash = self.seed.hash(entry.name);
        if let Ok(found) = self.index.find_entry(hash, |other| *other == at) {
            found.remove();
        }
        self.entries.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RequestId = RequestId(1);
    const B: RequestId = RequestId(2);

    fn wear(now: u32) -> Wear {
        Wear {
            now: Stamp(now),
            limit: 100,
        }
    }

    fn table(room: usize) -> Residency {
        Residency::new(Seed::new(0), room)
    }

    fn who(table: &Residency, name: u64) -> Vec<u16> {
        let holders = table.holders(Name::session(name));
        holders.iter().map(|h| h.slot.0).collect()
    }

    fn expect(table: &mut Residency, name: u64, slot: u16, by: RequestId, now: u32) -> PlaceId {
        let by = (by, Firmness::Expected);
        table
            .expect(Name::session(name), Slot(slot), wear(now), by)
            .0
    }

    #[test]
    fn a_failure_takes_back_only_what_hung_on_it() {
        let (mut table, w) = (table(8), Slot(0));
        let place = expect(&mut table, 7, 0, A, 0);
        table.withdraw(place, A);
        assert_eq!(
            (who(&table, 7), table.len(), table.held_by(w)),
            (vec![], 0, 0)
        );

        // A second request relies on the same prefix: the first one's failure is not its own.
        let first = expect(&mut table, 7, 0, A, 0);
        let second = expect(&mut table, 7, 0, B, 0);
        table.withdraw(first, A);
        assert_eq!((who(&table, 7), first), (vec![0], second));

        // What was prefilled once is not undone by a later failure,
        table.confirm(second, wear(0));
        let third = expect(&mut table, 7, 0, B, 50);
        table.withdraw(third, B);
        assert_eq!(who(&table, 7), [0]);
        // unless it had been pushed out before that.
        let fourth = expect(&mut table, 7, 0, B, 100);
        table.withdraw(fourth, B);
        assert_eq!(who(&table, 7), [0_u16; 0]);
    }

    #[test]
    fn waiting_makes_nothing_less_certain() {
        let mut table = table(8);
        let firmness = |table: &Residency| table.holders(Name::session(7))[0].firmness;
        let plan = |table: &mut Residency, by| {
            table.expect(Name::session(7), Slot(0), wear(0), (by, Firmness::Planned))
        };
        plan(&mut table, A);
        assert_eq!(firmness(&table), Firmness::Planned);
        let place = expect(&mut table, 7, 0, A, 0);
        plan(&mut table, B);
        assert_eq!(firmness(&table), Firmness::Expected);
        table.withdraw(place, B);
        assert_eq!(who(&table, 7), [0], "it never hung on the second");
    }

    #[test]
    fn a_prefix_ages_by_what_was_sent_since() {
        assert!(wear(199).spares(Stamp(100)));
        assert!(!wear(200).spares(Stamp(100)));
        assert!(wear(5).spares(Stamp(u32::MAX)), "the count wraps");
    }

    #[test]
    fn each_worker_gives_up_its_own_least_recently_used() {
        let mut table = table(2);
        for name in 1..=2 {
            expect(&mut table, name, 0, A, 0);
            expect(&mut table, name, 1, A, 0);
        }
        expect(&mut table, 1, 0, B, 0);
        expect(&mut table, 3, 0, B, 0);
        assert_eq!(who(&table, 1), [0, 1]);
        assert_eq!(who(&table, 2), [1], "the other worker still has it");
        assert_eq!((who(&table, 3), table.len()), (vec![0], 3));
        table.forget(Slot(1));
        assert_eq!(
            (who(&table, 1), who(&table, 2), table.len()),
            (vec![0], vec![], 2)
        );
    }

    #[test]
    fn engines_correct_the_table() {
        let mut table = table(8);
        table.store(Name::session(1), Slot(0), wear(0));
        assert_eq!(who(&table, 1), [0]);
        table.remove(Name::session(1), Slot(1));
        assert_eq!(who(&table, 1), [0]);
        table.remove(Name::session(1), Slot(0));
        assert_eq!((who(&table, 1), table.len()), (vec![], 0));
    }
}
