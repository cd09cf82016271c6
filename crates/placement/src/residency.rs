//! Who is believed to hold what: from a prefix to the workers that it was sent to.
//!
//! ```text
//! hold ─► planned ─┐
//! dispatch ────────┴► expected (by that request) ─first byte─► confirmed ─► aged, evicted or void
//!                          └─ failure ─► gone
//! ```
//!
//! A *place* is one prefix at one worker, and the tokens that only it adds to that worker's cache.
//! A worker's places are kept in the order of their last use, as an engine keeps its blocks: those
//! that no longer fit its cache have aged out. Each worker has room in the table for so many and
//! gives up the least recently used one, so a busy worker never pushes out what another one holds,
//! and a prefix that everybody holds is known to be everywhere.

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Whether the worker's cache should still have it.
    pub(crate) fresh: bool,
    /// When it was last written.
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
    /// How many units fill the cache.
    pub(crate) limit: u32,
}

impl Wear {
    /// Units sent since.
    pub(crate) fn age(self, stamp: Stamp) -> u32 {
        self.now.0.wrapping_sub(stamp.0)
    }

    /// Tokens that the cache has room for.
    pub(crate) fn room(self) -> u64 {
        u64::from(self.limit) * UNIT
    }
}

/// Tokens of one unit of a stamp.
pub(crate) const UNIT: u64 = 16;

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryAt(u32);

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
    /// Tokens that it adds to the worker's cache.
    tokens: u32,
    /// A shorter prefix of the same prompts, from which on it adds them.
    parent: Option<PlaceId>,
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Residency {
    seed: Seed,
    /// Places that each worker has room for.
    room: usize,
    index: HashTable<u32>,
    entries: Slab<Entry>,
    /// Two lists a worker: what its cache should have, and what has aged out of it.
    places: Recency<Place>,
    /// Tokens of the first list, by slot.
    cached: Vec<u64>,
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
            cached: Vec::new(),
            births: 0,
        }
    }

    /// The workers believed to hold it, fresh or not, in no order that means anything.
    pub(crate) fn holders(&self, name: Name) -> &[Holder] {
        self.holders_of(self.entry(name))
    }

    /// Where a name stands, for [`Self::holders_of`]; only as long as nothing changes.
    pub(crate) fn entry(&self, name: Name) -> Option<EntryAt> {
        self.find(name).map(EntryAt)
    }

    /// The same as [`Self::holders`].
    pub(crate) fn holders_of(&self, entry: Option<EntryAt>) -> &[Holder] {
        let entry = entry.and_then(|EntryAt(at)| self.entries.get(at));
        entry.map_or(&[], |entry| &entry.holders)
    }

    /// A request that brings this prefix was sent to the worker, or waits for it. What is known
    /// to be there stays known; anything else hangs on the request from now on. Gives the place
    /// and what was believed of it before, if it had not aged out.
    ///
    /// Being sent uses what is there; waiting does not.
    pub(crate) fn expect(
        &mut self,
        name: Name,
        slot: Slot,
        now: Stamp,
        (by, firmness): (RequestId, Firmness),
    ) -> (PlaceId, Option<Holder>) {
        let known = self.holder(name, slot);
        let fresh = known.filter(|h| h.fresh);
        if let Some(holder) = fresh.filter(|_| firmness == Firmness::Planned) {
            return (holder.place, fresh);
        }
        let place = match known {
            Some(holder) => {
                self.renew(holder.place);
                holder.place
            }
            None => self.found(name, slot),
        };
        if fresh.is_none_or(|h| h.firmness != Firmness::Confirmed) {
            self.write(place, Some(by), firmness, now);
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

    /// So many tokens of the worker's cache are this place's and no shorter prefix's.
    pub(crate) fn charge(&mut self, place: PlaceId, tokens: u32) {
        let Some(found) = self.place(place) else {
            return;
        };
        if self.places.list_of(place.at) == Some(fresh_list(found.slot))
            && let Some(cached) = self.cached.get_mut(found.slot.index())
        {
            *cached = *cached - u64::from(found.tokens) + u64::from(tokens);
        }
        if let Some(found) = self.places.get_mut(place.at) {
            found.tokens = tokens;
        }
    }

    /// Other routers' requests have put so many tokens into the worker's cache.
    pub(crate) fn crowd(&mut self, slot: Slot, now: Stamp, tokens: u32) {
        self.births = self.births.wrapping_add(1);
        let name = Name::of_others(u64::from(self.births) << 16 | u64::from(slot.0));
        self.store(name, slot, now);
        if let Some(holder) = self.holder(name, slot) {
            self.charge(holder.place, tokens);
        }
    }

    /// These are one prompt's, the longest first: what it uses of prefixes in between, named by
    /// earlier prompts, is from now on the account of the longer one, as it is in use as long as
    /// that one is.
    pub(crate) fn chain(&mut self, places: &[PlaceId]) {
        for (at, id) in places.iter().enumerate() {
            let shorter = places.get(at + 1..).unwrap_or(&[]);
            let Some(place) = self.place(*id) else {
                continue;
            };
            let (mut tokens, mut next) = (place.tokens, place.parent);
            for _ in 0..MOST_BETWEEN {
                let Some(between) = next.filter(|id| !shorter.contains(id)) else {
                    break;
                };
                let Some(found) = self.place(between) else {
                    break;
                };
                tokens = tokens.saturating_add(found.tokens);
                next = found.parent;
                self.charge(between, 0);
            }
            if tokens != place.tokens {
                self.charge(*id, tokens);
            }
            if let Some(place) = self.places.get_mut(id.at) {
                place.parent = shorter.first().copied();
            }
        }
    }

    /// The worker's cache has room for so many tokens: what was used least lately and does not
    /// fit has aged out.
    pub(crate) fn fit(&mut self, slot: Slot, tokens: u64) {
        while self.cached.get(slot.index()).is_some_and(|c| *c > tokens)
            && let Some(oldest) = self.places.oldest(fresh_list(slot))
        {
            self.set_fresh(oldest, Freshness::Aged);
        }
    }

    /// The engine says that it has this prefix.
    pub(crate) fn store(&mut self, name: Name, slot: Slot, now: Stamp) {
        let known = self.holder(name, slot).map(|h| h.place);
        let place = known.unwrap_or_else(|| self.found(name, slot));
        self.confirm(place, now);
    }

    /// The prefix has been prefilled there. One evicted meanwhile stays forgotten; what was used
    /// latest is told when the answer ends, as an engine lets go of the blocks then.
    pub(crate) fn answered(&mut self, place: PlaceId, now: Stamp) {
        self.write(place, None, Firmness::Confirmed, now);
    }

    /// The prefix is there now. One evicted meanwhile stays forgotten.
    pub(crate) fn confirm(&mut self, place: PlaceId, now: Stamp) {
        self.renew(place);
        self.write(place, None, Firmness::Confirmed, now);
    }

    /// The prefix was in use there until now.
    pub(crate) fn renew(&mut self, place: PlaceId) {
        if self.place(place).is_some() {
            self.set_fresh(place.at, Freshness::Fresh);
        }
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
        if let Some(holder) = self.holder(name, slot) {
            self.drop_place(holder.place.at);
        }
    }

    /// The worker's cache is gone.
    pub(crate) fn forget(&mut self, slot: Slot) {
        while let Some(oldest) = self.oldest(slot) {
            self.drop_place(oldest);
        }
    }

    /// The worker's cache is gone but for what these requests bring, which is still to come.
    pub(crate) fn forget_but(&mut self, slot: Slot, brought: &[(PlaceId, RequestId)], now: Stamp) {
        let mut kept = Vec::with_capacity(brought.len());
        for (place, by) in brought {
            if self.place(*place).is_some() {
                self.set_fresh(place.at, Freshness::Fresh);
                self.write(*place, Some(*by), Firmness::Expected, now);
                kept.push(place.at);
            }
        }
        kept.sort_unstable();
        kept.dedup();
        // They are the latest in use now.
        while self.held_by(slot) > kept.len()
            && let Some(oldest) = self.oldest(slot)
        {
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
        self.places.len(fresh_list(slot)) + self.places.len(aged_list(slot))
    }

    fn find(&self, name: Name) -> Option<u32> {
        let same = |at: &u32| self.entries.get(*at).is_some_and(|e| e.name == name);
        self.index.find(self.seed.hash(name), same).copied()
    }

    fn place(&self, id: PlaceId) -> Option<Place> {
        let place = self.places.get(id.at).copied();
        place.filter(|place| place.born == id.born)
    }

    fn holder(&self, name: Name, slot: Slot) -> Option<Holder> {
        self.holders(name).iter().find(|h| h.slot == slot).copied()
    }

    fn holder_mut(&mut self, place: Place) -> Option<&mut Holder> {
        let holders = &mut self.entries.get_mut(place.entry)?.holders;
        holders.iter_mut().find(|h| h.slot == place.slot)
    }

    /// What of a worker's was used least lately.
    fn oldest(&self, slot: Slot) -> Option<u32> {
        let aged = self.places.oldest(aged_list(slot));
        aged.or_else(|| self.places.oldest(fresh_list(slot)))
    }

    /// Makes a place the latest in use of what its worker's cache has, or of what it has not.
    fn set_fresh(&mut self, at: u32, to: Freshness) {
        let Some(place) = self.places.get(at).copied() else {
            return;
        };
        let (list, fresh) = match to {
            Freshness::Fresh => (fresh_list(place.slot), true),
            Freshness::Aged => (aged_list(place.slot), false),
        };
        let moves = self.places.list_of(at) != Some(list);
        self.places.touch(list, at);
        if !moves {
            return;
        }
        if let Some(holder) = self.holder_mut(place) {
            holder.fresh = fresh;
        }
        if let Some(cached) = self.cached.get_mut(place.slot.index()) {
            match to {
                Freshness::Fresh => *cached += u64::from(place.tokens),
                Freshness::Aged => *cached -= u64::from(place.tokens),
            }
        }
    }

    /// A new place for a name at a worker, as the latest in use.
    fn found(&mut self, name: Name, slot: Slot) -> PlaceId {
        while self.held_by(slot) >= self.room {
            let Some(oldest) = self.oldest(slot) else {
                break;
            };
            self.drop_place(oldest);
        }
        if self.cached.len() <= slot.index() {
            self.cached.resize(slot.index() + 1, 0);
        }
        let entry = self.find(name).unwrap_or_else(|| self.enter(name));
        self.births = self.births.wrapping_add(1);
        let born = self.births;
        let new = Place {
            entry,
            slot,
            by: RequestId(0),
            born,
            prompt_tokens: 0,
            tokens: 0,
            parent: None,
        };
        let at = self.places.push(fresh_list(slot), new);
        let place = PlaceId { at, born };
        if let Some(entry) = self.entries.get_mut(entry) {
            entry.holders.push(Holder {
                slot,
                firmness: Firmness::Planned,
                fresh: true,
                stamp: Stamp(0),
                place,
            });
        }
        place
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
        let place = *place;
        if let Some(holder) = self.holder_mut(place) {
            (holder.firmness, holder.stamp) = (firmness, stamp);
        }
    }

    /// Takes one place out; a name without holders goes with it.
    fn drop_place(&mut self, place: u32) {
        let list = self.places.list_of(place);
        let Some(Place {
            entry: at,
            slot,
            tokens,
            ..
        }) = self.places.remove(place)
        else {
            return;
        };
        if list == Some(fresh_list(slot))
            && let Some(cached) = self.cached.get_mut(slot.index())
        {
            *cached -= u64::from(tokens);
        }
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

/// Places between two of a prompt's that are looked at; a prompt seldom leaves more behind.
const MOST_BETWEEN: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    Fresh,
    Aged,
}

fn fresh_list(slot: Slot) -> usize {
    2 * slot.index()
}

fn aged_list(slot: Slot) -> usize {
    2 * slot.index() + 1
}

#[cfg(test)]
mod tests;
