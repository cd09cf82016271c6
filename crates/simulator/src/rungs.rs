//! Which prefixes a simulated client names: the rule of the SDK, over a trace's segment borders.

use headwater_signature::choose_rungs;

/// How many of the newest segments get a rung.
const NEWEST: usize = 4;

/// What a client knows of its prompts' structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a closed choice of the command line"
)]
pub enum Naming {
    /// Segment borders, then the deepest steps of the ladder.
    Borders,
    /// The ladder alone.
    Ladder,
    /// Half the names for the newest borders, half for the ladder.
    Half,
}

impl Naming {
    /// The name in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Borders => "borders",
            Self::Ladder => "ladder",
            Self::Half => "half",
        }
    }
}

/// Whole-block counts to name, rising: at most `most`, and none over `limit`.
///
/// The static end, the semi-static end and the newest segments go first, then the deepest steps
/// of a ladder (×1.5) that is the same for every prompt.
#[must_use]
pub fn choose(borders: &[u32], limit: u32, most: usize, naming: Naming) -> Vec<u32> {
    let static_ends = borders.iter().take(2);
    let newest = borders.iter().rev();
    let wanted: Vec<u32> = match naming {
        Naming::Borders => static_ends.chain(newest.take(NEWEST)).copied().collect(),
        Naming::Ladder => Vec::new(),
        Naming::Half => borders
            .iter()
            .take(1)
            .chain(newest.take((most / 2).saturating_sub(1)))
            .copied()
            .collect(),
    };
    choose_rungs(&wanted, 1..=limit, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_go_first_and_the_ladder_fills_up() {
        let check = |borders: &[u32], limit, most, naming, expected: &[u32]| {
            assert_eq!(
                choose(borders, limit, most, naming),
                expected,
                "{borders:?}"
            );
        };
        let borders = [10, 20, 30, 40, 50, 60, 70];
        check(
            &borders,
            70,
            8,
            Naming::Borders,
            &[10, 20, 40, 42, 50, 60, 63, 70],
        );
        check(&borders, 70, 4, Naming::Borders, &[10, 20, 60, 70]);
        check(&borders, 70, 3, Naming::Ladder, &[28, 42, 63]);
        check(&borders, 70, 4, Naming::Half, &[10, 42, 63, 70]);
        check(&[], 0, 8, Naming::Borders, &[]);
        check(&[9, 90], 5, 8, Naming::Borders, &[1, 2, 3, 4]);
    }
}
