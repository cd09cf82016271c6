//! How much of the traffic each static prefix is, so that a hot one gets more workers.

use crate::id::At;
use crate::name::Name;
use crate::rendezvous::mix;
use crate::settings::Settings;

/// Counts that decay, of as many prefixes as matter: a new one takes the place of the rarest of
/// the few that share its set, so memory is bounded and nothing common is lost to what is rare.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    sets: Vec<[Count; WAYS]>,
    all: Decaying,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    name: Option<Name>,
    of: Decaying,
}

/// A count that halves with every half-life.
#[derive(Clone, Copy, Debug, Default)]
struct Decaying {
    count: f64,
    at: At,
}

const SETS: usize = 256;
const WAYS: usize = 4;

impl Demand {
    /// One more request with this prefix.
    pub(crate) fn note(&mut self, at: At, name: Name, settings: &Settings) {
        if self.sets.is_empty() {
            self.sets = vec![[Count::default(); WAYS]; SETS];
        }
        self.all.add(at, settings);
        let Some(set) = self.sets.get_mut(set_of(name)) else {
            return;
        };
        let found = set.iter().position(|count| count.name == Some(name));
        let rarest = |a: &usize, b: &usize| {
            let now = |i: usize| set[i].of.now(at, settings);
            now(*a).total_cmp(&now(*b))
        };
        let way = found.or_else(|| (0..WAYS).min_by(rarest)).unwrap_or(0);
        if found.is_none() {
            set[way] = Count {
                name: Some(name),
                ..Count::default()
            };
        }
        set[way].of.add(at, settings);
    }

    /// How many workers a prefix should have: 1, 2, 4 … of so many, enough for its share with
    /// the headroom of a fair share.
    pub(crate) fn replicas(&self, at: At, name: Name, of: usize, settings: &Settings) -> usize {
        let all = self.all.now(at, settings);
        let set = self.sets.get(set_of(name));
        let count = set.and_then(|set| set.iter().find(|count| count.name == Some(name)));
        // A handful of requests says nothing of shares.
        if all < ENOUGH {
            return 1;
        }
        let share = count.map_or(0.0, |count| count.of.now(at, settings)) / all;
        let wanted = share * of as f64 * settings.fair_share_factor;
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let wanted = (wanted.ceil() as usize).clamp(1, of.max(1));
        wanted.next_power_of_two().min(of.max(1))
    }
}

/// Requests within a half-life from which shares mean something.
const ENOUGH: f64 = 16.0;

fn set_of(name: Name) -> usize {
    usize::try_from(mix(name.number()) % SETS as u64).unwrap_or(0)
}

impl Decaying {
    fn add(&mut self, at: At, settings: &Settings) {
        self.count = self.now(at, settings) + 1.0;
        self.at = self.at.max(at);
    }

    /// Straight between whole half-lives: exact powers of two, the same on every machine.
    fn now(&self, at: At, settings: &Settings) -> f64 {
        let passed = at.since(self.at).as_secs_f64() / settings.half_life.as_secs_f64();
        let whole = passed.floor().min(1_000.0);
        #[expect(clippy::cast_possible_truncation, reason = "at most a thousand")]
        let halved = self.count * 0.5_f64.powi(whole as i32);
        halved * (1.0 - (passed - passed.floor()) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_prefix_grows_in_powers_of_two_and_shrinks_again() {
        let (settings, mut demand) = (Settings::default(), Demand::default());
        let (hot, cold) = (Name::session(1), Name::session(2));
        let replicas = |demand: &Demand, second: u64, name| {
            demand.replicas(At::from_micros(second * 1_000_000), name, 16, &settings)
        };
        assert_eq!(replicas(&demand, 0, hot), 1);
        for turn in 0..200_u64 {
            let name = if turn % 2 == 0 {
                hot
            } else {
                Name::session(turn + 10)
            };
            demand.note(At::from_micros(turn), name, &settings);
        }
        assert_eq!(replicas(&demand, 0, hot), 16);
        assert_eq!(replicas(&demand, 0, cold), 1);
        let boundless = Settings {
            fair_share_factor: f64::MAX,
            ..Settings::default()
        };
        let found = demand.replicas(At::default(), hot, 12, &boundless);
        assert_eq!(found, 12, "all of them, and no more");
        // Ten half-lives later others rule.
        for turn in 0..200_u64 {
            demand.note(
                At::from_micros(600_000_000 + turn),
                Name::session(turn),
                &settings,
            );
        }
        assert_eq!(replicas(&demand, 600, hot), 1);
    }
}
