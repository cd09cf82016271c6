//! Whether a worker is hot: over the high mark of its KV use, and not yet down to the low one.

use crate::id::At;
use crate::settings::Settings;

/// A two-point switch over a worker's samples, so that it does not flap between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watermark {
    hot: bool,
    /// When it last became hot or normal.
    changed_at: Option<At>,
    sampled_at: Option<At>,
}

impl Watermark {
    /// Takes a sample of KV use, 0..=1. Between the marks nothing changes.
    pub(crate) fn sample(&mut self, at: At, kv_use: f64, settings: &Settings) {
        if !self.is_known(at, settings) {
            // What it was before a silence says nothing: it has to cross the high mark again.
            (self.hot, self.changed_at) = (false, None);
        }
        self.sampled_at = Some(at);
        let crossed = if self.hot {
            kv_use <= settings.low_watermark
        } else {
            kv_use >= settings.high_watermark
        };
        let dwelt = self
            .changed_at
            .is_none_or(|since| at.since(since) >= settings.dwell);
        if crossed && dwelt {
            (self.hot, self.changed_at) = (!self.hot, Some(at));
        }
    }

    /// Whether it is hot, as far as is known now; unknown is not hot.
    pub(crate) fn is_hot(&self, at: At, settings: &Settings) -> bool {
        self.hot && self.is_known(at, settings)
    }

    /// Until when it is hot if no sample comes; nothing if it is not.
    pub(crate) fn hot_until(&self, at: At, settings: &Settings) -> Option<At> {
        let sampled = self.sampled_at.filter(|_| self.is_hot(at, settings))?;
        Some(sampled.after(settings.stale_after))
    }

    fn is_known(&self, at: At, settings: &Settings) -> bool {
        self.sampled_at
            .is_some_and(|sampled| at.since(sampled) <= settings.stale_after)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000;

    /// Feeds (ms, KV use) and tells what it was after each.
    fn run(samples: &[(u64, f64)]) -> Vec<bool> {
        let settings = Settings::default();
        let mut mark = Watermark::default();
        let mut feed = |(ms, kv): &(u64, f64)| {
            let at = At::from_micros(ms * MS);
            mark.sample(at, *kv, &settings);
            mark.is_hot(at, &settings)
        };
        samples.iter().map(&mut feed).collect()
    }

    #[test]
    fn between_the_marks_nothing_changes() {
        let steps = [
            (0, 0.84),
            (500, 0.85),
            (1_000, 0.7),
            (2_000, 0.66),
            (2_500, 0.65),
            (3_500, 0.84),
        ];
        assert_eq!(run(&steps), [false, true, true, true, false, false]);
    }

    #[test]
    fn a_state_lasts_for_the_dwell() {
        assert_eq!(
            run(&[(0, 0.9), (999, 0.1), (1_000, 0.1)]),
            [true, true, false]
        );
        assert_eq!(
            run(&[(0, 0.9), (1_000, 0.1), (1_999, 0.9), (2_000, 0.9)]),
            [true, false, false, true]
        );
    }

    #[test]
    fn silence_is_unknown_and_not_hot() {
        let settings = Settings::default();
        let mut mark = Watermark::default();
        mark.sample(At::from_micros(0), 0.9, &settings);
        assert!(mark.is_hot(At::from_micros(1_500 * MS), &settings));
        assert!(!mark.is_hot(At::from_micros(1_500 * MS + 1), &settings));
        // After it, 0.7 is not hot: whether it fell to the low mark meanwhile nobody knows.
        assert_eq!(run(&[(0, 0.9), (1_600, 0.7)]), [true, false]);
    }

    proptest! {
        #[test]
        fn hot_begins_at_the_high_mark_and_ends_at_the_low_one(
            samples in prop::collection::vec((0_u64..1_500, 0.0_f64..=1.0), 1..60),
        ) {
            let mut clock = 0;
            let samples: Vec<_> = samples.iter().map(|(step, kv)| { clock += step; (clock, *kv) }).collect();
            let states = run(&samples);
            let mut changed = None;
            for at in 0..samples.len() {
                let before = at > 0 && states[at - 1];
                if states[at] == before {
                    continue;
                }
                let (ms, kv) = samples[at];
                let crossed = if states[at] { kv >= 0.85 } else { kv <= 0.65 };
                prop_assert!(crossed, "to {} at {}", states[at], kv);
                prop_assert!(changed.is_none_or(|since| ms - since >= 1_000));
                changed = Some(ms);
            }
        }
    }
}
