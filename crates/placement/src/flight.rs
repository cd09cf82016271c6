//! Requests that were dispatched and have not ended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::id::{At, RequestId};
use crate::rate::Sample;
use crate::residency::{PlaceId, Slot};

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Never used again, unlike the caller's number of the request.
    pub(crate) number: u64,
    pub(crate) slot: Slot,
    /// The worker's when it was dispatched: it warms no later cache.
    pub(crate) life: u32,
    pub(crate) stage: Stage,
    /// What its prompt brings.
    pub(crate) places: SmallVec<[PlaceId; 17]>,
    pub(crate) uncached_tokens: u32,
    pub(crate) cached_tokens: u32,
    pub(crate) pending_us: u64,
    pub(crate) since: At,
    /// When its first byte comes if the worker has nothing to do but prefill.
    pub(crate) due: At,
    /// Requests that were there when it came.
    pub(crate) beside: u32,
    /// Whether nothing else waited for a first byte there when it began.
    pub(crate) alone: bool,
    /// When its first byte came, and what that says of its worker's speed if it was alone.
    pub(crate) sample: Option<(At, Sample)>,
    /// What should have been in the cache: tokens that were believed to be there and not lately
    /// put there, and tokens that were believed to have aged out.
    pub(crate) believed: Option<Tested>,
    pub(crate) aged_out: Option<u32>,
}

impl Flight {
    pub(crate) fn prompt_tokens(&self) -> u32 {
        self.cached_tokens + self.uncached_tokens
    }
}

/// A belief that the engine's word can test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tested {
    pub(crate) tokens: u32,
    /// Whether it was near the age at which it would have counted as evicted.
    pub(crate) old: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its prompt counts as not prefilled.
    Waiting,
    /// It has been waiting for so long that its prompt counts as prefilled: answers that do not
    /// stream have their first byte at the end.
    Presumed,
    Answering,
}

/// When a flight will have waited for too long: with the number of the request and its own.
type Due = (At, RequestId, u64);

/// All of them, and when those that wait have waited for too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    by_request: HashMap<RequestId, Flight, BuildHasherDefault<NumberHasher>>,
    /// Some speak of flights that have landed since.
    due: BinaryHeap<Reverse<Due>>,
}

impl Flights {
    pub(crate) fn get(&self, request: RequestId) -> Option<&Flight> {
        self.by_request.get(&request)
    }

    pub(crate) fn get_mut(&mut self, request: RequestId) -> Option<&mut Flight> {
        self.by_request.get_mut(&request)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RequestId, &Flight)> {
        let all = self.by_request.iter();
        all.map(|(request, flight)| (*request, flight))
    }

    pub(crate) fn insert(&mut self, request: RequestId, flight: Flight, due: At) {
        self.due.push(Reverse((due, request, flight.number)));
        self.by_request.insert(request, flight);
        if self.due.len() > 2 * self.by_request.len() + 64 {
            let waits = |Reverse((_, request, number)): &Reverse<Due>| {
                let flight = self.by_request.get(request);
                flight.is_some_and(|f| f.stage == Stage::Waiting && f.number == *number)
            };
            self.due.retain(waits);
        }
    }

    pub(crate) fn remove(&mut self, request: RequestId) -> Option<Flight> {
        self.by_request.remove(&request)
    }

    pub(crate) fn remove_all_of(&mut self, slot: Slot) {
        self.by_request.retain(|_, flight| flight.slot != slot);
    }

    /// When the next request may have waited for too long.
    pub(crate) fn next_due(&self) -> Option<At> {
        self.due.peek().map(|Reverse((due, _, _))| *due)
    }

    /// The next request that has waited for too long, each once.
    pub(crate) fn pop_due(&mut self, at: At) -> Option<RequestId> {
        while let Some(Reverse((due, request, number))) = self.due.peek().copied()
            && due <= at
        {
            self.due.pop();
            let flight = self.by_request.get(&request);
            if flight.is_some_and(|f| f.number == number) {
                return Some(request);
            }
        }
        None
    }
}

/// Spreads numbers that callers count up; no client chooses them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(number: u64) -> Flight {
        Flight {
            number,
            slot: Slot(0),
            life: 0,
            stage: Stage::Waiting,
            places: SmallVec::new(),
            uncached_tokens: 0,
            cached_tokens: 0,
            pending_us: 0,
            since: At::default(),
            due: At::default(),
            beside: 0,
            alone: true,
            sample: None,
            believed: None,
            aged_out: None,
        }
    }

    #[test]
    fn a_number_that_is_used_again_leaves_nothing_behind() {
        let (mut flights, request) = (Flights::default(), RequestId(7));
        for number in 0..10_000 {
            flights.insert(request, flight(number), At::from_micros(number + 1));
            flights.remove(request);
        }
        assert!(flights.due.len() <= 70, "{}", flights.due.len());
        flights.insert(request, flight(20_000), At::from_micros(20_000));
        assert_eq!(flights.pop_due(At::from_micros(19_999)), None);
        assert_eq!(flights.pop_due(At::from_micros(20_000)), Some(request));
        assert_eq!(flights.pop_due(At::from_micros(u64::MAX)), None);
    }
}
