//! Workers and routers that come and go, and what becomes of their requests.

use headwater_placement::SettingsError;

use super::{Flight, Run, Seen, Stage};
use crate::engine::Engine;
use crate::policy::{News, Policy, Standing};
use crate::run::router::Router;
use crate::scenario::{IncidentKind, MOST_WORKERS};

impl Run<'_> {
    pub(super) fn incident(&mut self, number: usize) -> Result<(), SettingsError> {
        let Some(incident) = self.conditions.scenario.incidents.get(number) else {
            return Ok(());
        };
        let at = incident.number;
        match incident.kind {
            IncidentKind::WorkerLost => self.lose_worker(at, Standing::Down),
            IncidentKind::WorkerRestarted => {
                self.lose_worker(at, Standing::Down);
                self.stand(at, Standing::Ready);
            }
            IncidentKind::WorkerBack => self.stand(at, Standing::Ready),
            IncidentKind::WorkerDraining => self.stand(at, Standing::Draining),
            IncidentKind::WorkerAdded => self.add_worker(),
            IncidentKind::ReportsStop => self.reporting = false,
            IncidentKind::ReportsResume => self.reporting = true,
            IncidentKind::Pressure => {
                if let Some(engine) = self.engines.get_mut(at) {
                    engine.press(incident.share);
                }
            }
            IncidentKind::RouterLost => self.lose_router(at),
            IncidentKind::RouterBack => {
                if self.places.get(at) == Some(&None) {
                    let new = self.new_router(at)?;
                    if let Some(place) = self.places.get_mut(at) {
                        *place = Some(new);
                    }
                }
            }
        }
        self.release_all();
        Ok(())
    }

    pub(super) fn add_router(&mut self) -> Result<(), SettingsError> {
        let new = self.new_router(self.places.len())?;
        self.places.push(Some(new));
        Ok(())
    }

    /// A router with an empty memory, which learns of all workers.
    fn new_router(&mut self, place: usize) -> Result<usize, SettingsError> {
        let workers = self.conditions.workers.max(1) + self.conditions.scenario.added();
        let setting = crate::policy::Setting {
            trace: self.trace,
            workers: workers.min(MOST_WORKERS),
            router: place,
            seed: self.conditions.seed,
            ours: (&self.conditions.settings, self.conditions.ours),
        };
        self.routers.push(Router::new(self.policy.build(&setting)?));
        let new = self.routers.len() - 1;
        for worker in 0..self.workers.len() {
            self.introduce(new, worker);
        }
        Ok(new)
    }

    pub(super) fn add_worker(&mut self) {
        if self.engines.len() >= MOST_WORKERS {
            return;
        }
        let tokens = self
            .conditions
            .cache_tokens
            .unwrap_or(self.profile.cache_tokens);
        self.engines
            .push(Engine::new(self.profile, self.trace.block_tokens(), tokens));
        self.workers.push(Seen {
            standing: Standing::Ready,
            life: 1,
            wake: 0,
        });
        for router in 0..self.routers.len() {
            self.introduce(router, self.workers.len() - 1);
        }
    }

    /// Tells a router how a worker stands, and how large its cache is.
    fn introduce(&mut self, router: usize, worker: usize) {
        let Some(Seen { standing, life, .. }) = self.workers.get(worker).copied() else {
            return;
        };
        if let Some(seat) = self
            .routers
            .get_mut(router)
            .and_then(|router| router.seat(worker))
        {
            seat.ready = standing == Standing::Ready;
        }
        let report = self.first_report(worker);
        self.ask(router, |router, world| {
            router.hear(
                world,
                &News::Worker {
                    worker,
                    standing,
                    life,
                },
            );
            router.hear(world, &News::Reported { worker, report });
        });
    }

    fn stand(&mut self, worker: usize, standing: Standing) {
        let Some(seen) = self.workers.get_mut(worker) else {
            return;
        };
        seen.standing = standing;
        for router in 0..self.routers.len() {
            self.introduce(router, worker);
        }
    }

    /// A worker's process ends: who has no first token yet is sent elsewhere, the others are lost.
    fn lose_worker(&mut self, worker: usize, standing: Standing) {
        let Some(lost) = self.engines.get_mut(worker).map(Engine::crash) else {
            return;
        };
        if let Some(seen) = self.workers.get_mut(worker) {
            seen.life += 1;
            seen.wake += 1;
        }
        self.stand(worker, standing);
        for request in lost.iter().map(|request| *request as usize) {
            self.fail(request, worker);
        }
        for request in lost.iter().map(|request| *request as usize) {
            if self.flights.get(request) == Some(&Flight::Nowhere) {
                self.route(request, 0);
            }
        }
    }

    fn fail(&mut self, request: usize, worker: usize) {
        let Some(Flight::Sent {
            router,
            tokens,
            ms,
            stage,
            ..
        }) = self.flights.get(request).copied()
        else {
            return;
        };
        let input_tokens = self
            .trace
            .calls()
            .get(request)
            .map_or(0, |call| call.input_tokens);
        if let Some(router) = self.routers.get_mut(router) {
            if stage == Stage::Waiting {
                router.prefilled(worker, tokens, ms);
            }
            router.ended(worker, input_tokens);
        }
        self.timeline.change(self.now_ms, worker, -1);
        self.ask(router, |router, world| {
            router.hear(world, &News::Failed { worker, request })
        });
        if let Some(record) = self.records.get_mut(request) {
            record.failed();
        }
        match stage {
            Stage::Waiting => {
                if let Some(flight) = self.flights.get_mut(request) {
                    *flight = Flight::Nowhere;
                }
            }
            Stage::Answering => self.end(request),
        }
    }

    /// A router takes nothing new; what it has sent goes on, what it holds goes to the others.
    fn lose_router(&mut self, place: usize) {
        let Some(router) = self.places.get_mut(place).and_then(Option::take) else {
            return;
        };
        let held = self.routers.get_mut(router).map(|router| {
            router.held = 0;
            Policy::give_back(router.policy.as_mut())
        });
        for request in held.unwrap_or_default() {
            self.route(request, 0);
        }
    }
}
