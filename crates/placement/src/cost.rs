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
    pub fn ms(&self, uncached: u32, cached: u32) -> f64 {
        let (uncached, cached) = (f64::from(uncached.max(1)), f64::from(cached));
        self.fixed_ms
            + self.token_ms * uncached
            + self.pair_ms * uncached * (cached + uncached / 2.0)
    }
}
