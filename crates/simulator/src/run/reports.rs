//! What engines say of themselves, and when routers hear it.

use super::{Event, Reports, Run};
use crate::policy::{News, Standing, Status};

/// Milliseconds between two looks at an engine's metrics.
const EVERY_MS: f64 = 500.0;
/// Milliseconds that a look is old when it has been read.
const DELAY_MS: f64 = 50.0;

impl Run<'_> {
    /// What is known of a worker when it joins.
    pub(super) fn first_report(&self, worker: usize) -> Status {
        let cache_tokens = self
            .engines
            .get(worker)
            .map_or(1, |engine| engine.cache_tokens());
        Status {
            load: None,
            kv_use: None,
            cache_tokens,
        }
    }

    /// Reads every engine's metrics; the routers hear of it a little later.
    pub(super) fn sample(&mut self) {
        if self.reporting {
            let alive = self.workers.iter().zip(&self.engines).enumerate();
            let alive = alive.filter(|(_, (seen, _))| seen.standing != Standing::Down);
            let samples = alive.map(|(worker, (_, engine))| {
                let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                let load = (count(engine.running()), count(engine.waiting()));
                let load = (self.conditions.reports == Reports::Load).then_some(load);
                (
                    worker,
                    Status {
                        load,
                        kv_use: Some(engine.kv_use()),
                        cache_tokens: engine.cache_tokens(),
                    },
                )
            });
            let samples = samples.collect();
            self.plan(self.now_ms + DELAY_MS, Event::Delivery(samples));
        }
        if self.ended < self.flights.len() as u64 {
            self.plan(self.now_ms + EVERY_MS, Event::Sample);
        }
    }

    pub(super) fn deliver(&mut self, samples: &[(usize, Status)]) {
        for (worker, report) in samples {
            if let Some((running, waiting)) = report.load {
                for router in &mut self.routers {
                    if let Some(seat) = router.seat(*worker) {
                        seat.others_active = (running + waiting).saturating_sub(seat.own_active);
                        seat.others_waiting = waiting.saturating_sub(seat.own_waiting);
                    }
                }
            }
            self.tell_all(&News::Reported {
                worker: *worker,
                report: *report,
            });
        }
        self.release_all();
    }
}
