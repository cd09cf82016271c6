//! What a millisecond of prefill counts for, beside one of waiting.

/// For one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub(crate) of: Of,
    /// [`Settings::miss_factor`](crate::Settings::miss_factor).
    pub(crate) alone: f64,
    /// [`Settings::congestion_factor`](crate::Settings::congestion_factor).
    pub(crate) crowd: f64,
}

/// Whose prefix it is that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// A conversation's own past, which a copy elsewhere serves nobody else.
    One,
    /// What a new conversation begins with, as others did and more will.
    All,
}

/// Where others will use what is computed, it counts for a little more than its time, as whoever
/// waits for a prompt that is on its way computes nothing. Simulated: with three system prompts of 16,000
/// to 26,000 tokens over 16 workers the mean is 0.93 of the best peer's with 1 and with 1.2, 1.03 with
/// 1.5, and 3.5 with 3.
const FOR_ALL: f64 = 1.2;

impl Miss {
    /// At a worker where so many wait for their first byte, of a fleet where a mean number do.
    ///
    /// A conversation counts the mean: moving is the dearer, the busier all are. With that alone a
    /// second copy of a prompt that many wait for would be the dearer, the more wait, and would never
    /// be made (simulated: a mean of 35 s, where the best peer has 64 ms): there only those count who would wait for it.
    #[inline]
    pub(crate) fn factor(&self, mean_waiting: f64, waiting: f64) -> f64 {
        match self.of {
            Of::One => self.alone + self.crowd * mean_waiting,
            Of::All => FOR_ALL.min(self.alone) + self.crowd * mean_waiting.min(waiting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_for_all_counts_for_those_who_wait_for_it() {
        let found = |of| {
            let miss = Miss {
                of,
                alone: 3.0,
                crowd: 2.0,
            };
            [(2.0, 0.0), (2.0, 5.0)].map(|(mean, there)| miss.factor(mean, there))
        };
        assert_eq!(found(Of::One), [7.0, 7.0]);
        assert_eq!(found(Of::All), [FOR_ALL, FOR_ALL + 4.0]);
    }
}
