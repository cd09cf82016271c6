//! How fast workers prefill, learned from the times to their first bytes.
//!
//! What all have in common is learned from all, and what a worker has of its own is learned beside
//! that: a worker that was asked seldom is taken for an ordinary one, however far the fleet is from
//! the configured model. It has a speed of its own only if that is clearly another one: small
//! differences are noise, and following them moves requests for nothing (simulated: 3 % of the
//! mean time to the first token).

use crate::cost::PrefillModel;

/// Two factors on the configured model: of what any prefill takes, and of what each token takes.
///
/// Each sample pulls both towards it by the share that each had in the expected time, and no
/// sample pulls further than one that was off by half: an engine that was stopped for a minute
/// teaches as much as one that was a bit late. Plain arithmetic, no logarithm, so that the same
/// samples give the same bits everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    fixed: f64,
    token: f64,
    samples: u32,
}

/// One prefill that was timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) uncached: u32,
    pub(crate) cached: u32,
    pub(crate) measured_ms: f64,
}

impl Rate {
    /// What all have in common, before anything was learned.
    pub(crate) const COMMON: Self = Self {
        fixed: 1.0,
        token: 1.0,
        samples: 0,
    };

    /// What one worker has of its own beside that. Its first samples count less: what all have in
    /// common is to be learned from them, not that this worker is another one.
    pub(crate) const OWN: Self = Self {
        samples: 6,
        ..Self::COMMON
    };

    /// The configured model as it is at this worker.
    pub(crate) fn applied(&self, base: &PrefillModel) -> PrefillModel {
        PrefillModel {
            fixed_ms: base.fixed_ms * self.fixed,
            token_ms: base.token_ms * self.token,
            pair_ms: base.pair_ms * self.token,
        }
    }

    /// The common speed as it is at a worker of this weight.
    pub(crate) fn at_weight(&self, weight: f64) -> Self {
        Self {
            token: self.token / weight,
            ..*self
        }
    }

    /// The common speed, with what a worker has of its own if that is clearly another; within
    /// `1 / most ..= most` of the configured model.
    pub(crate) fn with_own(&self, own: &Self, most: f64) -> Self {
        let is_clear = |own: f64| !(1.0 / CLEARLY..=CLEARLY).contains(&own);
        if !is_clear(own.token) && !is_clear(own.fixed) {
            return *self;
        }
        Self {
            fixed: (self.fixed * own.fixed).clamp(1.0 / most, most),
            token: (self.token * own.token).clamp(1.0 / most, most),
            ..*self
        }
    }

    /// Whether it is so far from another one that prices made from that are to be made anew.
    pub(crate) fn has_left(&self, other: &Self) -> bool {
        let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() <= NEAR;
        !near(self.token, other.token) || !near(self.fixed, other.fixed)
    }

    /// Learns from one prefill, within `1 / most ..= most` of the configured model.
    pub(crate) fn learn(&mut self, base: &PrefillModel, sample: Sample, most: f64) {
        let expected = self.applied(base);
        let expected_ms = expected.ms(sample.uncached, sample.cached);
        if !(sample.measured_ms > 0.0 && sample.measured_ms.is_finite() && expected_ms > 0.0) {
            return;
        }
        // About the logarithm of how far off it was, and -2..2 whatever came.
        let sum = sample.measured_ms + expected_ms;
        let off = 2.0 * (sample.measured_ms - expected_ms) / sum;
        let pull = off.clamp(-CLIP, CLIP) / f64::from(self.samples.saturating_add(2).min(SLOWEST));
        let of_fixed = expected.fixed_ms / expected_ms;
        self.samples = self.samples.saturating_add(1);
        self.fixed = (self.fixed * (1.0 + pull * of_fixed)).clamp(1.0 / most, most);
        self.token = (self.token * (1.0 + pull * (1.0 - of_fixed))).clamp(1.0 / most, most);
    }
}

/// Within this share two speeds are one.
const NEAR: f64 = 0.02;
/// How many times as fast or slow a worker is that has a speed of its own.
const CLEARLY: f64 = 1.5;
/// No sample counts as further off than this.
const CLIP: f64 = 0.4;
/// The weight of a sample once many have come: one in so many.
const SLOWEST: u32 = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: PrefillModel = PrefillModel {
        fixed_ms: 8.0,
        token_ms: 0.06,
        pair_ms: 6e-7,
    };

    fn sample(model: &PrefillModel, uncached: u32) -> Sample {
        let measured_ms = model.ms(uncached, 0);
        Sample {
            uncached,
            cached: 0,
            measured_ms,
        }
    }

    #[test]
    fn it_finds_another_speed_in_spite_of_outliers() {
        let slow = PrefillModel {
            fixed_ms: 20.0,
            token_ms: 0.18,
            pair_ms: 1.8e-6,
        };
        let mut rate = Rate::COMMON;
        for turn in 0..600_u32 {
            let mut sample = sample(&slow, [20, 700, 9_000][turn as usize % 3]);
            if turn % 20 == 0 {
                sample.measured_ms = 60_000.0;
            }
            rate.learn(&BASE, sample, 8.0);
        }
        let found = rate.applied(&BASE);
        assert!((0.15..0.22).contains(&found.token_ms), "{found:?}");
        assert!((15.0..26.0).contains(&found.fixed_ms), "{found:?}");
    }

    #[test]
    fn small_differences_are_nobodys_own() {
        let check = |own_ms: f64, expected: f64| {
            let (mut common, mut own) = (Rate::COMMON, Rate::OWN);
            let model = |token_ms| PrefillModel {
                token_ms,
                pair_ms: token_ms * 1e-5,
                ..BASE
            };
            for turn in 0..4_000 {
                // One of ten is this worker's; all others take 0.02 ms a token.
                let token_ms = if turn % 10 == 0 { own_ms } else { 0.02 };
                let sample = sample(&model(token_ms), 9_000);
                if turn % 10 == 0 {
                    own.learn(&common.applied(&BASE), sample, 8.0);
                }
                common.learn(&BASE, sample, 8.0);
            }
            let found = common.with_own(&own, 8.0).applied(&BASE).token_ms;
            assert!((found / expected - 1.0).abs() < 0.15, "{found} {expected}");
        };
        check(0.02, 0.02);
        check(0.023, 0.02);
        check(0.06, 0.06);
        check(0.008, 0.0083);
    }

    #[test]
    fn weight_divides_what_a_token_takes() {
        let found = Rate::COMMON.at_weight(2.0).applied(&BASE);
        assert_eq!((found.token_ms, found.fixed_ms), (0.03, 8.0));
    }

    proptest! {
        #[test]
        fn it_stays_in_bounds_whatever_comes(
            samples in prop::collection::vec((any::<u32>(), any::<u32>(), any::<f64>()), 0..60),
            most in 1.0_f64..16.0,
        ) {
            let mut rate = Rate::COMMON;
            for (uncached, cached, measured_ms) in samples {
                rate.learn(&BASE, Sample { uncached, cached, measured_ms }, most);
                for factor in [rate.fixed, rate.token] {
                    prop_assert!((1.0 / most..=most).contains(&factor));
                }
            }
        }

        #[test]
        fn what_fits_teaches_nothing(uncached in 1_u32..100_000) {
            let mut rate = Rate::COMMON;
            rate.learn(&BASE, sample(&BASE, uncached), 8.0);
            prop_assert!((rate.fixed - 1.0).abs() < 1e-12 && (rate.token - 1.0).abs() < 1e-12);
        }
    }
}
