//! What engines say of themselves, and when routers hear it.

use super::{Event, Reports, Run};
use crate::engine::Engine;
use crate::policy::{News, Standing, Status};

/// Milliseconds that a look is old when it has been read.
const DELAY_MS: f64 = 50.0;
/// Milliseconds between two looks at caches where load is heard of at once.
const LEISURE_MS: f64 = 500.0;

impl Run<'_> {
    /// What is known of a worker when it joins.
    pub(super) fn first_report(&self, worker: usize) -> Status {
        let cache_tokens = self.engines.get(worker).map_or(1, Engine::cache_tokens);
        Status {
            load: None,
            pending_tokens: None,
            computed_tokens: None,
            kv_use: None,
            cache_tokens,
        }
    }

    /// Reads every engine's metrics; the routers hear of it a little later.
    pub(super) fn sample(&mut self) {
        if self.reporting {
            let samples = self.statuses();
            self.plan(self.now_ms + DELAY_MS, Event::Delivery(samples));
        }
        if self.ended < self.flights.len() as u64 {
            let every_ms = match self.hears_at_once() {
                true => LEISURE_MS,
                false => self.conditions.report_every_ms.max(1.0),
            };
            self.plan(self.now_ms + every_ms, Event::Sample);
        }
    }

    fn hears_at_once(&self) -> bool {
        self.conditions.reports.tell_load() && self.conditions.report_every_ms <= 0.0
    }

    fn statuses(&self) -> Vec<(usize, Status)> {
        let alive = self.workers.iter().zip(&self.engines).enumerate();
        let alive = alive.filter(|(_, (seen, _))| seen.standing != Standing::Down);
        alive
            .map(|(worker, (_, engine))| (worker, self.status(engine)))
            .collect()
    }

    fn status(&self, engine: &Engine<'_>) -> Status {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let told = self.conditions.reports.tell_load();
        Status {
            load: told.then(|| (count(engine.running()), count(engine.waiting()))),
            pending_tokens: told.then(|| engine.pending_tokens(self.trace)),
            computed_tokens: told.then(|| engine.computed_tokens()),
            kv_use: Some(engine.kv_use()),
            cache_tokens: engine.cache_tokens(),
        }
    }

    pub(super) fn deliver(&mut self, samples: &[(usize, Status)]) {
        for (worker, status) in samples {
            if self.looks.len() <= *worker {
                self.looks.resize(worker + 1, Status::default());
            }
            self.looks[*worker] = *status;
        }
        for router in 0..self.routers.len() {
            self.tell(router, samples);
        }
        self.release_all();
    }

    /// What an answer says of its worker to the router that it passes; what it does not say is as
    /// the last look had it.
    pub(super) fn hear_with_answer(&mut self, router: usize, worker: usize) {
        if self.conditions.reports != Reports::LoadWithAnswers {
            return;
        }
        let Some(now) = self.engines.get(worker).map(|engine| self.status(engine)) else {
            return;
        };
        let last = self.looks.get(worker).and_then(|look| look.load);
        let told = Status {
            load: now
                .load
                .map(|(_, waiting)| (last.map_or(0, |(running, _)| running), waiting)),
            pending_tokens: None,
            computed_tokens: None,
            ..now
        };
        self.tell(router, &[(worker, told)]);
    }

    /// Where load is heard of at once, a router knows it at each decision.
    pub(super) fn look(&mut self, router: usize) {
        if self.reporting && self.hears_at_once() {
            let samples = self.statuses();
            self.tell(router, &samples);
        }
    }

    fn tell(&mut self, router: usize, samples: &[(usize, Status)]) {
        for (worker, report) in samples {
            let seat = self.routers.get_mut(router).and_then(|r| r.seat(*worker));
            if let (Some(seat), Some((running, waiting))) = (seat, report.load) {
                seat.others_active = (running + waiting).saturating_sub(seat.own_active);
                seat.others_waiting = waiting.saturating_sub(seat.own_waiting);
            }
            let news = News::Reported {
                worker: *worker,
                report: *report,
            };
            self.ask(router, |router, world| router.hear(world, &news));
        }
    }
}
