//! The prefixes that most requests begin with, by hash: a list for people, no part of a decision.

use std::collections::BTreeMap;

use headwater_signature::Signature;

/// Prefixes that are counted at a time.
const TRACKED: usize = 256;

/// Prefixes that are told.
pub(crate) const TOLD: usize = 12;

/// With a full table one in so many requests is looked at, and counts for all of them.
const LOOKED_AT: u32 = 32;

/// Requests after which every count is halved, so that the past fades.
const FADE_AFTER: u32 = 20_000;

/// Counts the first named prefix of each request. A new one takes the place of the least
/// wanted once the table is full, with that one's count, so that what is really
/// hot cannot be missed.
#[derive(Default)]
pub(crate) struct Hottest {
    counts: BTreeMap<[u8; 8], HotPrefix>,
    seen: u32,
}

/// One prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HotPrefix {
    pub(crate) hash: [u8; 8],
    pub(crate) tokens: u64,
    /// Of the latest requests; older ones count less.
    pub(crate) requests: u32,
}

impl Hottest {
    pub(crate) fn seen(&mut self, signature: &Signature) {
        let Some(rung) = signature.rungs().first() else {
            return;
        };
        let tokens = u64::from(rung.blocks) * u64::from(signature.block().get());
        self.count(*rung.hash.as_bytes(), tokens);
    }

    fn count(&mut self, hash: [u8; 8], tokens: u64) {
        self.seen += 1;
        if self.seen >= FADE_AFTER {
            self.fade();
        }
        let weight = self.weight();
        if weight == 0 {
            return;
        }
        if let Some(known) = self.counts.get_mut(&hash) {
            known.requests = known.requests.saturating_add(weight);
            return;
        }
        let before = self.make_room();
        let new = HotPrefix {
            hash,
            tokens,
            requests: before.saturating_add(weight),
        };
        self.counts.insert(hash, new);
    }

    /// For how many requests this one counts: whoever is really hot comes again.
    fn weight(&self) -> u32 {
        if self.counts.len() < TRACKED {
            return 1;
        }
        // Without a period that traffic could share.
        let scattered = self.seen.wrapping_mul(0x9E37_79B9) >> 16;
        if scattered.is_multiple_of(LOOKED_AT) {
            LOOKED_AT
        } else {
            0
        }
    }

    fn make_room(&mut self) -> u32 {
        if self.counts.len() < TRACKED {
            return 0;
        }
        let least = self.counts.values().min_by_key(|p| (p.requests, p.hash));
        let Some(least) = least.copied() else {
            return 0;
        };
        self.counts.remove(&least.hash);
        least.requests
    }

    fn fade(&mut self) {
        self.seen = 0;
        self.counts.retain(|_, prefix| {
            prefix.requests /= 2;
            prefix.requests > 0
        });
    }

    /// The most wanted first.
    pub(crate) fn list(&self) -> Vec<HotPrefix> {
        let mut list: Vec<HotPrefix> = self.counts.values().copied().collect();
        list.sort_by(|a, b| b.requests.cmp(&a.requests).then(a.hash.cmp(&b.hash)));
        list.truncate(TOLD);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u32) -> [u8; 8] {
        u64::from(number).to_be_bytes()
    }

    #[test]
    fn what_is_hot_is_found_among_many_that_are_not() {
        let mut hottest = Hottest::default();
        for number in 0..3_000 {
            hottest.count(hash(number), 16);
            if number % 3 == 0 {
                hottest.count(hash(1_000_000), 2_048);
            }
        }
        let first = hottest.list()[0];
        assert_eq!((first.hash, first.tokens), (hash(1_000_000), 2_048));
        assert!(first.requests > 700, "{first:?}");
        assert!(hottest.counts.len() <= TRACKED);
        assert!(hottest.list().len() <= TOLD);
    }

    #[test]
    fn the_past_fades() {
        let mut hottest = Hottest::default();
        for _ in 0..FADE_AFTER - 1 {
            hottest.count(hash(1), 16);
        }
        assert_eq!(hottest.list()[0].requests, FADE_AFTER - 1);
        hottest.count(hash(2), 16);
        assert_eq!(hottest.list()[0].requests, (FADE_AFTER - 1) / 2);
    }
}
