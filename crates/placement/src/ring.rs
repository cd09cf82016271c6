//! The `ring` policy: a weighted consistent-hash ring, and a subset of it for each static prefix.
//!
//! A conversation's place on the ring is its key's; its worker is the next node from there that
//! belongs to its static prefix. Those workers are the first few nodes from the prefix's own
//! place, as many as its share of the traffic needs. Full or hot means the next node.

use smallvec::SmallVec;

use crate::crew::Crew;
use crate::fleet::Fleet;
use crate::id::At;
use crate::rendezvous::mix;
use crate::residency::Slot;
use crate::settings::Settings;
use crate::sought::Sought;
use crate::spill::{Choice, Queue, Spilled};
use crate::survey::{Prospect, Survey};

/// The nodes, sorted by their points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    nodes: Vec<(u64, Slot)>,
}

impl Ring {
    /// Each worker has so many nodes for each unit of its weight, at least one.
    pub(crate) fn of(crew: &Crew, settings: &Settings) -> Self {
        let mut nodes = Vec::new();
        for worker in crew.iter() {
            let share = f64::from(settings.ring_nodes) * worker.weight;
            #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
            let count = (share.round() as u64).clamp(1, MOST_NODES);
            let point = |node: u64| mix(worker.id.number() ^ mix(node));
            nodes.extend((0..count).map(|node| (point(node), worker.id, worker.slot)));
        }
        nodes.sort_unstable_by_key(|(point, id, _)| (*point, *id));
        Self {
            nodes: nodes
                .into_iter()
                .map(|(point, _, slot)| (point, slot))
                .collect(),
        }
    }

    /// The workers from a key's place on, each once, at most so many.
    fn walk(&self, key: u64, most: usize) -> SmallVec<[Slot; 64]> {
        let point = mix(key);
        let start = self.nodes.partition_point(|(at, _)| *at < point);
        let (before, after) = self.nodes.split_at(start);
        let mut found = SmallVec::<[Slot; 64]>::new();
        for (_, slot) in after.iter().chain(before) {
            if found.len() >= most {
                break;
            }
            if !found.contains(slot) {
                found.push(*slot);
            }
        }
        found
    }
}

/// Nodes of one worker, whatever its weight.
const MOST_NODES: u64 = 10_000;

impl Fleet {
    /// The worker of the request on the ring, or who relieves it.
    pub(crate) fn on_ring<'w>(
        &self,
        at: At,
        sought: &Sought<'_>,
        survey: &Survey<'w>,
    ) -> Option<Choice<'w>> {
        let Some(key) = survey.key else {
            return crate::spill::choose(survey, &self.settings);
        };
        let all = self.ring.walk(key, self.workers.len());
        let of_prefix = sought.static_prefix().map(|name| {
            let replicas = self
                .demand
                .replicas(at, name, self.workers.len(), &self.settings);
            self.ring.walk(name.number(), replicas)
        });
        let is_of_prefix = |slot: &Slot| of_prefix.as_ref().is_none_or(|set| set.contains(slot));
        let prospect = |slot: &Slot| survey.with_slot(*slot);
        // The prefix's workers in the key's order, then all the others.
        let inside = all.iter().filter(|slot| is_of_prefix(slot));
        let outside = all.iter().filter(|slot| !is_of_prefix(slot));
        let mut order = inside.chain(outside).filter_map(prospect);
        let home = order.next()?;
        let queue = Queue::of(survey, &self.settings);
        let spilled = match (home.is_barred(), queue.is_over(&home)) {
            (false, false) => return Some(Choice::unspilled(home)),
            (true, _) => Spilled::Hot,
            (false, true) => Spilled::Queue,
        };
        let relieves = |p: &Prospect<'_>| {
            let better = spilled == Spilled::Hot && !queue.is_over(p) || queue.relieves(p, &home);
            better && !p.is_barred()
        };
        // With every node full or hot, affinity survives.
        let relief = order.find(relieves);
        Some(relief.map_or(Choice::unspilled(home), |prospect| Choice {
            prospect,
            spilled,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::WorkerId;
    use crate::worker::Worker;

    fn ring(weights: &[f64]) -> Ring {
        let (mut crew, settings) = (Crew::default(), Settings::default());
        for (number, weight) in weights.iter().enumerate() {
            let name = format!("worker-{number}");
            let id = WorkerId::of(&name);
            crew.add(id, &settings, |slot| {
                Worker::new(id, slot, &name, &settings)
            });
            if let Some(worker) = crew.get_mut(id) {
                worker.reweigh(*weight, &crate::rate::Rate::COMMON, &settings);
            }
        }
        Ring::of(&crew, &settings)
    }

    #[test]
    fn keys_spread_as_the_weights_say() {
        let ring = ring(&[1.0, 1.0, 2.0]);
        let mut homes = [0_u32; 3];
        for key in 0..40_000 {
            homes[ring.walk(key, 1)[0].index()] += 1;
        }
        for (home, expected) in homes.iter().zip([10_000_u32, 10_000, 20_000]) {
            assert!(home.abs_diff(expected) < expected / 4, "{homes:?}");
        }
    }

    #[test]
    fn a_walk_visits_each_worker_once() {
        let ring = ring(&[1.0; 40]);
        let mut walk = ring.walk(7, 100).to_vec();
        assert_eq!(walk.len(), 40);
        assert_eq!(walk[..3], ring.walk(7, 3)[..]);
        walk.sort_by_key(|slot| slot.0);
        walk.dedup();
        assert_eq!(walk.len(), 40);
    }

    #[test]
    fn a_worker_more_moves_few_keys() {
        let (before, after) = (ring(&[1.0; 9]), ring(&[1.0; 10]));
        let moved = (0..10_000).filter(|key| before.walk(*key, 1) != after.walk(*key, 1));
        let mut count = 0;
        for key in moved {
            assert_eq!(after.walk(key, 1)[0], Slot(9), "only to the new one");
            count += 1;
        }
        assert!((500..1_600).contains(&count), "{count}");
    }
}
