//! How many requests each worker had, over time.

/// Requests at each worker, averaged over slices of time.
pub(super) struct Timeline {
    slice_ms: f64,
    workers: Vec<Trail>,
}

#[derive(Default)]
struct Trail {
    since_ms: f64,
    requests: i64,
    /// Requests × milliseconds in each slice.
    slices: Vec<f64>,
}

/// Requests at each worker: one row a worker, one number a slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Loads {
    pub(crate) slice_ms: f64,
    pub(crate) rows: Vec<Vec<f64>>,
}

const LEAST_SLICE_MS: f64 = 1_000.0;
const MOST_SLICES: usize = 50_000;

impl Timeline {
    pub(super) fn new(span_ms: f64) -> Self {
        Self {
            slice_ms: LEAST_SLICE_MS.max(span_ms / 20_000.0),
            workers: Vec::new(),
        }
    }

    /// A worker has one request more or less from now on.
    pub(super) fn change(&mut self, now_ms: f64, worker: usize, by: i64) {
        if self.workers.len() <= worker {
            self.workers.resize_with(worker + 1, Trail::default);
        }
        if let Some(trail) = self.workers.get_mut(worker) {
            trail.pass(now_ms, self.slice_ms);
            trail.requests += by;
        }
    }

    pub(super) fn finish(mut self, now_ms: f64) -> Loads {
        let slice_ms = self.slice_ms;
        let rows = self.workers.iter_mut().map(|trail| {
            trail.pass(now_ms, slice_ms);
            trail.slices.iter().map(|sum| sum / slice_ms).collect()
        });
        Loads {
            slice_ms,
            rows: rows.collect(),
        }
    }
}

impl Trail {
    fn pass(&mut self, now_ms: f64, slice_ms: f64) {
        if self.requests > 0 {
            while self.since_ms < now_ms {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "never negative; `as` saturates"
                )]
                let slice = (self.since_ms / slice_ms) as usize;
                if slice >= MOST_SLICES {
                    break;
                }
                let until = now_ms.min((slice as f64 + 1.0) * slice_ms);
                if self.slices.len() <= slice {
                    self.slices.resize(slice + 1, 0.0);
                }
                if let Some(sum) = self.slices.get_mut(slice) {
                    *sum += self.requests as f64 * (until - self.since_ms);
                }
                self.since_ms = until;
            }
        }
        self.since_ms = now_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_averaged_over_slices() {
        let mut timeline = Timeline::new(0.0);
        timeline.change(500.0, 1, 1);
        timeline.change(2_250.0, 1, 1);
        timeline.change(2_500.0, 1, -2);
        let loads = timeline.finish(9_000.0);
        assert_eq!(loads.rows, [vec![], vec![0.5, 1.0, 0.75]]);
    }
}
