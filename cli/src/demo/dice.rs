//! A small seeded generator, so that every policy gets the same load.

/// `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform over 0..1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform over `0..bound`; 0 for an empty range.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let drawn = u128::from(self.next()) * bound as u128;
        usize::try_from(drawn >> 64).unwrap_or_default()
    }

    /// One of `choices`; the empty string if there are none.
    pub(super) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices
            .get(self.below(choices.len()))
            .copied()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_rolls_the_same() {
        let (mut one, mut two) = (Dice::new(4), Dice::new(4));
        assert_eq!([one.next(), one.next()], [two.next(), two.next()]);
        assert_ne!(Dice::new(4).next(), Dice::new(5).next());
    }

    #[test]
    fn rolls_stay_in_their_range() {
        let mut dice = Dice::new(1);
        for _ in 0..1000 {
            assert!(dice.below(6) < 6);
            assert!((0.0..1.0).contains(&dice.share()));
        }
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.pick(&[]), "");
    }
}
