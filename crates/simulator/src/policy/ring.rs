//! A hash ring with virtual nodes, as used by several of the published policies.

use crate::dice::{mix, mix_two};
use crate::view::View;

/// Points of workers on a circle of 64-bit numbers.
#[derive(Default)]
pub(super) struct Ring {
    points: Vec<(u64, usize)>,
    workers: usize,
    per_worker: usize,
}

impl Ring {
    /// So many points for each worker.
    pub(super) fn new(per_worker: usize) -> Self {
        Self {
            per_worker,
            ..Self::default()
        }
    }

    /// The ready workers in the order of the circle from a key on, each as often as it has points.
    pub(super) fn from<'r>(
        &'r mut self,
        key: u64,
        view: &View<'_>,
    ) -> impl Iterator<Item = usize> + use<'r> {
        self.grow(view.seats().len());
        let ready: Vec<bool> = view.seats().iter().map(|seat| seat.ready).collect();
        let start = self.points.partition_point(|(point, _)| *point < mix(key));
        let (before, after) = self.points.split_at(start);
        let circle = after.iter().chain(before);
        circle
            .map(|(_, worker)| *worker)
            .filter(move |worker| ready.get(*worker) == Some(&true))
    }

    /// The worker that a key belongs to, ready or not.
    pub(super) fn home(&mut self, key: u64, view: &View<'_>) -> Option<usize> {
        self.grow(view.seats().len());
        let start = self.points.partition_point(|(point, _)| *point < mix(key));
        self.points
            .get(start)
            .or(self.points.first())
            .map(|(_, worker)| *worker)
    }

    fn grow(&mut self, workers: usize) {
        for worker in self.workers..workers {
            let points =
                (0..self.per_worker).map(|point| (mix_two(worker as u64, point as u64), worker));
            self.points.extend(points);
        }
        if workers > self.workers {
            self.points.sort_unstable();
            self.workers = workers;
        }
    }
}
