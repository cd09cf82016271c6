//! How often something is so lately.

/// A share of the latest cases.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habit {
    /// In units of 1/65,536.
    share: u32,
    /// Cases that it is the share of, as far as they count.
    seen: u32,
}

/// A whole, in units of 1/65,536.
const WHOLE: u32 = 65_536;

/// Cases that the share is over at most: an average that forgets.
const MOST_SEEN: u32 = 64;

impl Habit {
    /// Whether it was so in more than half of them; not before there was one.
    pub(crate) fn is_usual(self) -> bool {
        self.share > WHOLE / 2
    }

    /// Whether it was so in all but one in 16.
    pub(crate) fn is_the_rule(self) -> bool {
        self.share > WHOLE - WHOLE / 16
    }

    pub(crate) fn note(&mut self, is_so: bool) {
        self.seen = (self.seen + 1).min(MOST_SEEN);
        let now = if is_so { WHOLE } else { 0 };
        self.share = (self.share * (self.seen - 1) + now) / self.seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_share_of_the_latest_cases() {
        let after = |cases: &[(bool, usize)]| {
            let mut habit = Habit::default();
            for (is_so, times) in cases {
                (0..*times).for_each(|_| habit.note(*is_so));
            }
            (habit.is_usual(), habit.is_the_rule())
        };
        assert_eq!(after(&[]), (false, false));
        assert_eq!(after(&[(true, 1)]), (true, true));
        assert_eq!(after(&[(true, 40), (false, 2)]), (true, true));
        assert_eq!(after(&[(true, 40), (false, 4)]), (true, false));
        assert_eq!(after(&[(true, 1_000), (false, 40)]), (true, false));
        assert_eq!(after(&[(true, 1_000), (false, 80)]), (false, false));
        assert_eq!(after(&[(false, 1_000), (true, 300)]), (true, true));
    }
}
