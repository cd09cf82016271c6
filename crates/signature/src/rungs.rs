//! Which prefixes a header names: the borders that matter, then the deepest steps of a ladder.

use std::ops::RangeInclusive;

/// Whole-block counts to name, rising, at most `most` and all `within` this range (of blocks).
///
/// `borders` go first, the most important one foremost. What is left goes to the deepest steps
/// of a ladder whose steps do not depend on the prompt, so that any two prompts share them.
///
/// ```
/// use headwater_signature::choose_rungs;
///
/// assert_eq!(choose_rungs(&[12, 40], 0..=41, 4), [12, 19, 28, 40]);
/// ```
#[must_use]
pub fn choose_rungs(borders: &[u32], within: RangeInclusive<u32>, most: usize) -> Vec<u32> {
    let mut chosen: Vec<u32> = Vec::with_capacity(most);
    let steps: Vec<u32> = ladder().take_while(|step| step <= within.end()).collect();
    let borders = borders.iter().copied().filter(|blocks| *blocks > 0);
    let wanted = borders.chain(steps.into_iter().rev());
    for blocks in wanted.filter(|blocks| within.contains(blocks)) {
        if chosen.len() == most {
            break;
        }
        if !chosen.contains(&blocks) {
            chosen.push(blocks);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// 1, 2, 3, 4, 6, 9, 13, …: each step half as high again as the one before.
fn ladder() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1_u32), |step| {
        let next = step.checked_add(step / 2)?;
        Some(next.max(step.checked_add(1)?))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MAX_EMITTED_RUNGS;

    fn choose(borders: &[u32], within: RangeInclusive<u32>) -> Vec<u32> {
        choose_rungs(borders, within, MAX_EMITTED_RUNGS)
    }

    #[test]
    fn the_ladder_is_the_documented_one() {
        let steps: Vec<u32> = ladder().take(14).collect();
        assert_eq!(steps, [1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 141, 211]);
    }

    #[test]
    fn borders_go_before_ladder_steps() {
        let check = |borders: &[u32], within: RangeInclusive<u32>, expected: &[u32]| {
            let rungs = choose(borders, within.clone());
            assert_eq!(rungs, expected, "{borders:?} within {within:?}");
        };
        check(&[], 0..=0, &[]);
        check(&[0, 3], 0..=2, &[1, 2]);
        check(&[5, 7, 5], 0..=8, &[1, 2, 3, 4, 5, 6, 7]);
        check(&[5, 2, 7], 5..=8, &[5, 6, 7]);
        check(&[9], RangeInclusive::new(9, 8), &[]);
        check(
            &[1, 5],
            0..=100,
            &[1, 3, 4, 5, 6, 9, 13, 19, 28, 42, 63, 94],
        );
    }

    proptest! {
        #[test]
        fn rungs_rise_and_stay_within_bounds(
            borders in prop::collection::vec(0_u32..100_000, 0..6),
            floor in 0_u32..100_000,
            limit in 0_u32..100_000,
        ) {
            let rungs = choose(&borders, floor..=limit);
            let floor = floor.max(1);
            prop_assert!(rungs.len() <= MAX_EMITTED_RUNGS);
            prop_assert!(rungs.is_sorted_by(|a, b| a < b));
            prop_assert!(rungs.iter().all(|blocks| (floor..=limit).contains(blocks)));
            for border in borders.iter().filter(|border| (floor..=limit).contains(*border)) {
                prop_assert!(rungs.contains(border), "a border lost its rung");
            }
        }

        #[test]
        fn two_prompts_share_ladder_steps(short in 1_u32..5_000, more in 0_u32..5_000) {
            let deepest = ladder().take_while(|step| *step <= short).last().unwrap();
            prop_assert!(choose(&[], 0..=short).contains(&deepest));
            // The longer prompt lists it too, as long as fewer than twelve steps lie above.
            let above = ladder().skip_while(|step| *step <= deepest)
                .take_while(|step| *step <= short + more).count();
            prop_assert_eq!(choose(&[], 0..=short + more).contains(&deepest), above < MAX_EMITTED_RUNGS);
        }
    }
}
