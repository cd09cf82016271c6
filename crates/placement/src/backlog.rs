//! What waits at the caller for one worker, by how long each takes.
//!
//! Short ones go first, so a new request waits for those that are shorter than it, not for all.

use crate::settings::Order;

/// The work that waits, in classes of length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    requests: u32,
    by_class: [u64; CLASSES],
}

/// Classes of prefills: each is up to twice as long as the one before, so that what is taken for
/// shorter is at most twice as long. The first ends at 4 ms, which is next to nothing; the last
/// begins at 67 s and has no end.
const CLASSES: usize = 16;

impl Backlog {
    /// One more waits, whose prefill takes so many microseconds.
    pub(crate) fn add(&mut self, prefill_us: u64) {
        self.requests += 1;
        self.by_class[class_of(in_ms(prefill_us))] += prefill_us;
    }

    /// One that was added waits no longer.
    pub(crate) fn remove(&mut self, prefill_us: u64) {
        self.requests -= 1;
        self.by_class[class_of(in_ms(prefill_us))] -= prefill_us;
    }

    /// How many wait.
    pub(crate) fn requests(&self) -> u32 {
        self.requests
    }

    /// Microseconds of all that waits.
    pub(crate) fn total_us(&self) -> u64 {
        self.by_class.iter().sum()
    }

    /// For each class, what comes before a request of it that comes now.
    pub(crate) fn ahead(&self, order: Order) -> Ahead {
        match order {
            Order::Shortest => self.shorter(),
            Order::Fifo | Order::Off => Ahead {
                ms: [in_ms(self.total_us()); CLASSES],
            },
        }
    }

    fn shorter(&self) -> Ahead {
        let mut ahead = Ahead::default();
        let mut shorter_us = 0;
        for (ms, own_us) in ahead.ms.iter_mut().zip(self.by_class) {
            // Those of its own class go first that came first.
            *ms = in_ms(shorter_us + own_us);
            shorter_us += own_us;
        }
        ahead
    }
}

/// Milliseconds of waiting work that come before a new request, by its class. Every decision
/// reads one of every worker, so it is kept small.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ahead {
    ms: [f32; CLASSES],
}

impl Ahead {
    /// Of one whose prefill takes so many milliseconds.
    #[inline]
    pub(crate) fn of(&self, prefill_ms: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "classes are coarse")]
        let class = class_of(prefill_ms as f32);
        f64::from(self.ms[class])
    }
}

fn in_ms(us: u64) -> f32 {
    us as f32 / 1_000.0
}

/// Which power of two it reaches: the exponent of the number, read from its bits because every
/// decision asks this of every worker.
#[inline]
fn class_of(prefill_ms: f32) -> usize {
    let exponent = (prefill_ms.max(0.0).to_bits() >> 23) as usize;
    exponent.saturating_sub(FIRST_EXPONENT).min(CLASSES - 1)
}

/// That of 2, up to which and its double, 4 ms, the first class goes.
const FIRST_EXPONENT: usize = 127 + 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shorter_ones_come_first_and_longer_ones_do_not_count() {
        let mut backlog = Backlog::default();
        for prefill_us in [2_000, 20_000, 30_000, 900_000] {
            backlog.add(prefill_us);
        }
        let check = |prefill_ms: f64, expected: f64| {
            let found = backlog.ahead(Order::Shortest).of(prefill_ms);
            assert!((found - expected).abs() < 1e-9, "{prefill_ms}: {found}");
        };
        check(0.0, 2.0);
        check(10.0, 2.0);
        // Its own class came before it.
        check(25.0, 2.0 + 50.0);
        check(100.0, 52.0);
        check(1e12, 952.0);
        assert_eq!((backlog.requests(), backlog.total_us()), (4, 952_000));
        assert_eq!(
            backlog.ahead(Order::Fifo).of(0.0).to_bits(),
            952_f64.to_bits()
        );
    }

    proptest! {
        #[test]
        fn nothing_is_left_of_what_comes_and_goes(waits in prop::collection::vec(any::<u32>(), 0..50)) {
            let mut backlog = Backlog::default();
            waits.iter().for_each(|us| backlog.add(u64::from(*us)));
            let ahead = backlog.ahead(Order::Shortest);
            prop_assert!(ahead.ms.is_sorted(), "the longer one is, the more comes before it");
            waits.iter().rev().for_each(|us| backlog.remove(u64::from(*us)));
            prop_assert_eq!(backlog, Backlog::default());
        }
    }
}
