//! The workers by slot, by id, and in the order of their ids, which every router shares.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::board::Board;
use crate::gauge::Gauge;
use crate::id::{At, WorkerId};
use crate::residency::Slot;
use crate::settings::Settings;
use crate::worker::Worker;

/// Every worker of the fleet. Slots are dense and used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crew {
    by_slot: Vec<Option<Worker>>,
    by_id: BTreeMap<WorkerId, Slot>,
    /// The slots in the order of ids.
    order: Vec<Slot>,
    /// What decisions read, in the same order.
    board: Board,
    /// Where in that order each slot is.
    rank: Vec<usize>,
    /// Whose gauges are out of date.
    touched: SmallVec<[Slot; 8]>,
}

impl Crew {
    /// One more than the highest slot in use.
    pub(crate) fn slots(&self) -> usize {
        self.by_slot.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Every worker in the order of ids.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Worker> + Clone {
        self.order.iter().filter_map(|slot| self.at(*slot))
    }

    /// What decisions read of every worker.
    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    /// Where a slot is in the order of ids.
    pub(crate) fn rank(&self, slot: Slot) -> Option<usize> {
        self.rank.get(slot.index()).copied()
    }

    /// Brings the gauges of all that was touched up to date.
    pub(crate) fn settle(&mut self, at: At, settings: &Settings) {
        for slot in std::mem::take(&mut self.touched) {
            let gauge = self.at(slot).map(|w| Gauge::of(w, at, settings));
            if let (Some(gauge), Some(rank)) = (gauge, self.rank(slot)) {
                self.board.put(rank, gauge);
            }
        }
    }

    pub(crate) fn at(&self, slot: Slot) -> Option<&Worker> {
        self.by_slot.get(slot.index())?.as_ref()
    }

    pub(crate) fn at_mut(&mut self, slot: Slot) -> Option<&mut Worker> {
        if self.touched.last() != Some(&slot) {
            self.touched.push(slot);
        }
        self.by_slot.get_mut(slot.index())?.as_mut()
    }

    pub(crate) fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.at(*self.by_id.get(&id)?)
    }

    pub(crate) fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.at_mut(*self.by_id.get(&id)?)
    }

    /// Adds a worker made for a free slot; nothing if there are 65,536 already.
    pub(crate) fn add(
        &mut self,
        id: WorkerId,
        settings: &Settings,
        make: impl FnOnce(Slot) -> Worker,
    ) {
        let free = self.by_slot.iter().position(Option::is_none);
        let Ok(number) = u16::try_from(free.unwrap_or(self.by_slot.len())) else {
            return;
        };
        let slot = Slot(number);
        let worker = Some(make(slot));
        match self.by_slot.get_mut(slot.index()) {
            Some(place) => *place = worker,
            None => self.by_slot.push(worker),
        }
        self.by_id.insert(id, slot);
        self.reorder(settings);
    }

    pub(crate) fn remove(&mut self, id: WorkerId, settings: &Settings) -> Option<Worker> {
        let slot = self.by_id.remove(&id)?;
        let worker = self.by_slot.get_mut(slot.index())?.take();
        self.reorder(settings);
        worker
    }

    fn reorder(&mut self, settings: &Settings) {
        self.order = self.by_id.values().copied().collect();
        self.rank = vec![usize::MAX; self.by_slot.len()];
        for (rank, slot) in self.order.iter().enumerate() {
            self.rank[slot.index()] = rank;
        }
        let gauge = |w: &Worker| Gauge::of(w, At::default(), settings);
        self.board = Board::of(self.iter().map(gauge).collect());
        self.touched = self.order.iter().copied().collect();
    }
}
