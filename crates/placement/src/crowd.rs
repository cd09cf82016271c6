//! What the requests at a worker cost a new one beyond their prefill.
//!
//! An engine whose slots or KV memory are taken lets the next request wait for the end of an
//! answer, of which the prefill before it says nothing. First bytes that come late tell of it: the
//! more requests there are beside, the later.

/// What one worker's first bytes have told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crowd {
    /// Sums over the latest answers, of how late each was times the requests beside it, and of
    /// those squared: a line through nothing is fitted to them, so that an answer that came in
    /// time beside few says little about many.
    late: f64,
    squares: f64,
}

/// How late an answer is counted at most, in milliseconds: one that hung must not close a worker.
const LATEST_MS: f64 = 10_000.0;

/// What one request beside costs at most, in milliseconds. More gains little where slots are few,
/// and drives conversations from their caches where all workers are overloaded (simulated: 100 to
/// 1,000 made the mean up to four times as long there).
const MOST_MS: f64 = 50.0;

/// How much of the sums an answer leaves: some 32 answers count.
const KEEPS: f64 = 1.0 - 1.0 / 32.0;

/// So much more than expected, as a share of it, is no waiting but a model that is not exact
/// (simulated: agents over workers of four slots wait 5 to 20 % longer with half as much, and up
/// to a third longer with twice as much).
const TOLERANCE: f64 = 2.0;

impl Crowd {
    /// The first byte of an answer that streams came so long after it was sent.
    pub(crate) fn note(&mut self, took_ms: f64, expected_ms: f64, beside: u32) {
        let late_ms = (took_ms - (1.0 + TOLERANCE) * expected_ms).clamp(0.0, LATEST_MS);
        let beside = f64::from(beside);
        self.late = self.late * KEEPS + late_ms * beside;
        self.squares = self.squares * KEEPS + beside * beside;
    }

    /// Milliseconds for each request that is there.
    pub(crate) fn each_ms(&self) -> f64 {
        (self.late / self.squares.max(1.0)).min(MOST_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many answers, each with so many beside, that took so long where 100 ms were expected.
    fn after(answers: &[(u32, u32, f64)]) -> f64 {
        let mut crowd = Crowd::default();
        for (times, beside, took_ms) in answers {
            (0..*times).for_each(|_| crowd.note(*took_ms, 100.0, *beside));
        }
        crowd.each_ms()
    }

    #[test]
    fn it_is_how_late_first_bytes_are_for_each_request_beside() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.5, "{found}");
        near(after(&[]), 0.0);
        near(after(&[(100, 8, 300.0)]), 0.0);
        near(after(&[(100, 8, 620.0)]), 40.0);
        // In time beside one says little of ten, and much of one.
        near(after(&[(50, 10, 700.0), (8, 1, 100.0)]), 39.9);
        assert!(after(&[(50, 10, 700.0), (200, 10, 100.0)]) < 1.0);
        assert_eq!(after(&[(9, 1, f64::MAX)]).to_bits(), MOST_MS.to_bits());
    }
}
