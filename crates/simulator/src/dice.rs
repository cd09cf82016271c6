//! Numbers that look random and are the same on every machine: everything drawn comes from here.

/// A generator of the SplitMix64 family: small, seedable, good enough to draw arrivals from.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A share in 0..1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of `0..count`; 0 if there is nothing to choose from.
    pub fn below(&mut self, count: usize) -> usize {
        let wide = u128::from(self.bits()) * count as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A waiting time with this mean, exponentially distributed.
    pub fn wait(&mut self, mean: f64) -> f64 {
        -(1.0 - self.share()).ln() * mean
    }
}

/// Spreads the bits of a number over all 64; different inputs give different outputs.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A hash of two numbers, in this order.
#[must_use]
pub const fn mix_two(first: u64, second: u64) -> u64 {
    mix(mix(first.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ second.wrapping_add(0x517c_c1b7_2722_0a95))
}

/// Chooses ranks by Zipf's law: rank r with a weight of 1 / (r + 1)^exponent.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Sum of the weights up to each rank.
    until: Vec<f64>,
}

impl Zipf {
    /// The law over so many ranks.
    #[must_use]
    pub fn new(ranks: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let until = (0..ranks)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 1.0).powf(exponent);
                sum
            })
            .collect();
        Self { until }
    }

    /// A rank; 0 if there is none.
    pub fn draw(&self, dice: &mut Dice) -> usize {
        let total = self.until.last().copied().unwrap_or(0.0);
        let at = dice.share() * total;
        self.until
            .partition_point(|sum| *sum <= at)
            .min(self.until.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_bounds_and_repeat() {
        let (mut a, mut b) = (Dice::new(7), Dice::new(7));
        for _ in 0..1_000 {
            assert_eq!(a.below(10), b.below(10));
            assert!(a.share() < 1.0 && b.share() >= 0.0);
        }
        assert_eq!(Dice::new(1).below(0), 0);
    }

    #[test]
    fn waits_have_their_mean_and_low_ranks_are_frequent() {
        let mut dice = Dice::new(3);
        let mean = (0..20_000).map(|_| dice.wait(5.0)).sum::<f64>() / 20_000.0;
        assert!((mean - 5.0).abs() < 0.2, "{mean}");
        let zipf = Zipf::new(100, 1.0);
        let firsts = (0..10_000).filter(|_| zipf.draw(&mut dice) == 0).count();
        // 1 of the 100th harmonic number 5.187.
        assert!((1_700..2_150).contains(&firsts), "{firsts}");
    }
}
