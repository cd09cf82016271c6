//! What a request would cost at a worker, in milliseconds.

/// How long a worker's engine takes to prefill a prompt.
///
/// One value a worker, so that it can be learned from first-byte times later; the default is
/// that of a model of 70 billion parameters on eight accelerators. Being off by a factor of
/// two either way changes nothing (simulated): only the ratio between prompts matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefillModel {
    /// Milliseconds that any prefill takes.
    pub fixed_ms: f64,
    /// Milliseconds for each token that is not cached.
    pub token_ms: f64,
    /// Milliseconds for each pair of an uncached token and one that it attends to.
    pub pair_ms: f64,
}

impl Default for PrefillModel {
    fn default() -> Self {
        Self {
            fixed_ms: 8.0,
            token_ms: 0.06,
            pair_ms: 6e-7,
        }
    }
}

impl PrefillModel {
    /// Milliseconds to prefill `uncached` tokens behind `cached` ones. At least one token is
    /// always prefilled: an engine needs the last one's output.
    #[must_use]
    #[inline]
    pub fn ms(&self, uncached: u32, cached: u32) -> f64 {
        let (uncached, cached) = (f64::from(uncached.max(1)), f64::from(cached));
        self.fixed_ms
            + self.token_ms * uncached
            + self.pair_ms * uncached * (cached + uncached / 2.0)
    }

    /// The same in microseconds, to be added up and taken off again exactly.
    pub(crate) fn micros(&self, uncached: u32, cached: u32) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "not negative and at most an hour"
        )]
        let micros = (self.ms(uncached, cached) * 1_000.0).min(HOUR_US) as u64;
        micros
    }
}

/// No prefill takes longer; sums of this cannot overflow.
const HOUR_US: f64 = 3.6e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_token_costs_only_attention() {
        let model = PrefillModel::default();
        let check = |uncached, cached, expected: f64| {
            let found = model.ms(uncached, cached);
            assert!(
                (found - expected).abs() < 1e-9,
                "{uncached} {cached}: {found}"
            );
        };
        check(1_000, 0, 8.0 + 60.0 + 0.3);
        check(1_000, 100_000, 8.0 + 60.0 + 60.3);
        // The last token is always computed.
        check(0, 0, model.ms(1, 0));
        assert_eq!(model.micros(1_000, 0), 68_300);
        assert_eq!(model.micros(u32::MAX, u32::MAX), 3_600_000_000);
    }
}
