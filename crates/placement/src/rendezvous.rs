//! In which order a key prefers workers: weighted rendezvous, equal in every router.
//!
//! Each worker scores `-weight / ln(u)` for a key, `u` being a hash of both in 0..1; the highest
//! score is the key's home. A worker that joins takes only the keys it wins, in proportion to
//! its weight; one that leaves gives its own to their next candidates.

use crate::id::WorkerId;

/// How much a key prefers a worker: higher comes first, ties by id.
pub(crate) fn score(key: u64, worker: WorkerId, weight: f64) -> f64 {
    -weight / ln(unit(mix(mix(key) ^ worker.number())))
}

/// Who a key prefers of these workers (id, weight, anything): as by the highest [`score`], but
/// with few logarithms. Among equal weights the higher draw is the higher score, and a score is
/// never above `weight / (1 - u)`.
pub(crate) fn first<T>(key: u64, workers: impl Iterator<Item = (WorkerId, f64, T)>) -> Option<T> {
    let key = mix(key);
    let mut best: Option<Best<T>> = None;
    for (id, weight, what) in workers {
        let draw = mix(key ^ id.number()) >> 12;
        // Most lose at a glance.
        if let Some(best) = &best
            && weight.to_bits() == best.weight.to_bits()
            && draw < best.draw
        {
            continue;
        }
        let rival = Best {
            draw,
            weight,
            score: None,
            id,
            what,
        };
        best = Some(match best {
            Some(best) => best.or(rival),
            None => rival,
        });
    }
    best.map(|best| best.what)
}

struct Best<T> {
    draw: u64,
    weight: f64,
    score: Option<f64>,
    id: WorkerId,
    what: T,
}

impl<T> Best<T> {
    fn or(mut self, mut rival: Self) -> Self {
        let wins = if rival.weight.to_bits() == self.weight.to_bits() {
            (rival.draw, self.id) > (self.draw, rival.id)
        } else {
            let ours = self.score();
            let bound = rival.weight / (1.0 - place(rival.draw));
            bound >= ours && (rival.score() > ours || rival.score() == ours && rival.id < self.id)
        };
        if wins { rival } else { self }
    }

    fn score(&mut self) -> f64 {
        let (draw, weight) = (self.draw, self.weight);
        *self.score.get_or_insert_with(|| -weight / ln(place(draw)))
    }
}

/// Spreads every bit of the input over the output: the finalizer of SplitMix64. Worker ids are
/// hashes already; keys may be anything, hence once more for the key alone.
pub(crate) fn mix(input: u64) -> u64 {
    let a = (input ^ (input >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ (b >> 31)
}

/// The middle of one of 2^52 equal parts of 0..1: exact, never 0 and never 1.
pub(crate) fn unit(hash: u64) -> f64 {
    place(hash >> 12)
}

/// The middle of that part.
fn place(draw: u64) -> f64 {
    (draw as f64 + 0.5) * (0.5_f64).powi(52)
}

/// The natural logarithm of a number in 0..1.
///
/// The one of the standard library may differ in the last bit between platforms, and routers
/// must agree. This one adds, multiplies and divides only, which IEEE 754 defines to the bit.
fn ln(u: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = u.to_bits();
    let exponent = f64::from((bits >> 52) as u16) - 1023.0;
    let mantissa = f64::from_bits((bits & MANTISSA) | 1.0_f64.to_bits());
    // Around 1 the series below converges fastest: ln m = 2 (s + s³/3 + s⁵/5 + …).
    let (m, e) = if mantissa > std::f64::consts::SQRT_2 {
        (mantissa / 2.0, exponent + 1.0)
    } else {
        (mantissa, exponent)
    };
    let s = (m - 1.0) / (m + 1.0);
    let series = ODD_RECIPROCALS
        .iter()
        .rev()
        .fold(0.0, |sum, reciprocal| sum * (s * s) + reciprocal);
    2.0 * s * series + e * std::f64::consts::LN_2
}

/// 1, 1/3, 1/5 …: enough for 14 digits.
const ODD_RECIPROCALS: [f64; 9] = [
    1.0,
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The home of a key among workers with these weights.
    fn home(key: u64, workers: &[(WorkerId, f64)]) -> WorkerId {
        let by_score = |a: &&(WorkerId, f64), b: &&(WorkerId, f64)| {
            score(key, a.0, a.1)
                .total_cmp(&score(key, b.0, b.1))
                .then(b.0.cmp(&a.0))
        };
        workers.iter().max_by(by_score).unwrap().0
    }

    fn fleet(weights: &[f64]) -> Vec<(WorkerId, f64)> {
        weights
            .iter()
            .enumerate()
            .map(|(i, w)| (WorkerId::of(&format!("worker-{i}")), *w))
            .collect()
    }

    #[test]
    fn the_logarithm_agrees_with_the_library() {
        for i in 1..2_000_u64 {
            let u = unit(mix(i));
            assert!(
                (ln(u) - u.ln()).abs() <= 1e-13 * (1.0 + u.ln().abs()),
                "{u}"
            );
        }
        for u in [unit(0), unit(u64::MAX)] {
            assert!(u > 0.0 && u < 1.0 && ln(u) < 0.0, "{u}");
        }
    }

    #[test]
    fn scores_are_the_same_bits_everywhere() {
        // A change of these numbers moves every conversation of every fleet: never do it.
        let bits = |key| score(key, WorkerId::of("worker-0"), 1.0).to_bits();
        assert_eq!(
            [bits(0), bits(1), bits(u64::MAX)],
            [
                4_613_796_182_615_947_873,
                4_616_544_617_802_938_033,
                4_616_840_198_425_863_796
            ],
        );
    }

    #[test]
    fn keys_spread_as_the_weights_say() {
        let workers = fleet(&[1.0, 1.0, 2.0, 4.0]);
        let mut homes: BTreeMap<WorkerId, u32> = BTreeMap::new();
        // Keys in a row are the worst that a caller can bring.
        (0..80_000).for_each(|key| *homes.entry(home(key, &workers)).or_default() += 1);
        for (worker, weight) in &workers {
            let (found, expected) = (f64::from(homes[worker]), 10_000.0 * weight);
            assert!(
                (found - expected).abs() < 0.04 * expected,
                "{worker}: {found}, {expected}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_new_worker_takes_keys_and_moves_no_other(
            weights in prop::collection::vec(0.25_f64..4.0, 2..12),
            first in any::<u64>(),
        ) {
            let after = fleet(&weights);
            let (joined, before) = after.split_last().unwrap();
            let keys = || (0..400_u64).map(|i| first.wrapping_add(i));
            let moved: Vec<_> = keys().filter(|k| home(*k, before) != home(*k, &after)).collect();
            for key in &moved {
                prop_assert_eq!(home(*key, &after), joined.0);
            }
            let share = joined.1 / weights.iter().sum::<f64>();
            // Five standard deviations of 400 draws.
            let slack = 5.0 * (400.0 * share * (1.0 - share)).sqrt() + 1.0;
            prop_assert!((moved.len() as f64 - 400.0 * share).abs() <= slack);
        }

        #[test]
        fn the_first_has_the_highest_score(
            weights in prop::collection::vec(prop::sample::select(vec![0.5, 1.0, 1.0, 3.0]), 1..40),
            key in any::<u64>(),
        ) {
            let workers = fleet(&weights);
            let found = first(key, workers.iter().map(|(id, weight)| (*id, *weight, *id)));
            prop_assert_eq!(found, Some(home(key, &workers)));
        }

        #[test]
        fn a_heavier_worker_loses_no_key(key in any::<u64>(), more in 1.0_f64..8.0) {
            let mut workers = fleet(&[1.0, 1.0, 1.0]);
            let before = home(key, &workers);
            workers[0].1 = more;
            let after = home(key, &workers);
            prop_assert!(after == before || after == workers[0].0);
        }
    }
}
