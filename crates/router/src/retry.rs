//! How many retries the whole router may make: a share of its requests, saved up a little.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Keeps retries from multiplying the load of a fleet that is failing.
pub(crate) struct Budget {
    /// Thousandths of a retry.
    saved: AtomicI64,
    earned: i64,
}

const ONE: i64 = 1_000;
const MOST_SAVED: i64 = 100 * ONE;

impl Budget {
    /// A budget of `ratio` retries for each request, 0..=1.
    pub(crate) fn new(ratio: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a share of a thousand")]
        let earned = (ratio.clamp(0.0, 1.0) * ONE as f64) as i64;
        Self {
            saved: AtomicI64::new(if earned > 0 { MOST_SAVED } else { 0 }),
            earned,
        }
    }

    /// A request came.
    pub(crate) fn earn(&self) {
        if self.saved.load(Relaxed) < MOST_SAVED {
            self.saved.fetch_add(self.earned, Relaxed);
        }
    }

    /// Takes one retry, if there is one.
    pub(crate) fn spend(&self) -> bool {
        let take = |saved| (saved >= ONE).then_some(saved - ONE);
        self.saved.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// A retry that was taken could not be made.
    pub(crate) fn give_back(&self) {
        self.saved.fetch_add(ONE, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_earned_by_requests() {
        let budget = Budget::new(0.5);
        let at_once = (0..1_000).filter(|_| budget.spend()).count();
        assert_eq!(at_once, 100);
        budget.earn();
        assert!(!budget.spend());
        budget.earn();
        assert!(budget.spend());
        budget.give_back();
        assert!(budget.spend() && !budget.spend());
        assert!(!Budget::new(0.0).spend());
    }
}
