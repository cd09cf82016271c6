//! A set of times as its mean and its quantiles.

/// The mean, the largest, and a hundred steps of the distribution between.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Spread {
    /// The mean; 0 if there was nothing.
    pub mean: f64,
    /// The 99.9th of a hundred.
    pub p999: f64,
    /// The quantiles at 0, 1, …, 100 of a hundred.
    steps: Vec<f64>,
}

impl Spread {
    /// Of these times, in any order.
    #[must_use]
    pub fn of(mut times: Vec<f64>) -> Self {
        if times.is_empty() {
            return Self::default();
        }
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        times.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| {
            // The nearest rank: the least time that so many are not above.
            let rank = (share * times.len() as f64).ceil().max(1.0);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at least 0 and no larger than a length"
            )]
            let place = rank as usize - 1;
            times.get(place).or(times.last()).copied().unwrap_or(0.0)
        };
        let steps = (0..=100)
            .map(|step| quantile(f64::from(step) / 100.0))
            .collect();
        Self {
            mean,
            p999: quantile(0.999),
            steps,
        }
    }

    /// The time that so many of a hundred do not exceed.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> f64 {
        self.steps.get(percent).copied().unwrap_or(0.0)
    }

    /// The quantiles at 0, 1, …, 100 of a hundred; empty if there was nothing.
    #[must_use]
    pub fn steps(&self) -> &[f64] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let spread = Spread::of((1..=200).rev().map(f64::from).collect());
        assert_eq!(
            (spread.mean, spread.percentile(50), spread.percentile(99)),
            (100.5, 100.0, 198.0)
        );
        assert_eq!(
            (spread.percentile(0), spread.percentile(100), spread.p999),
            (1.0, 200.0, 200.0)
        );
        assert_eq!(Spread::of(vec![]).percentile(50), 0.0);
    }
}
