//! From a request to a worker and back: which router, what it says, what it hears.

use super::router::World;
use super::{Event, Flight, Run, Split, Stage};
use crate::dice::mix_two;
use crate::policy::{News, Route, Verdict};
use crate::view::Echo;

/// Milliseconds after which a request for which there was no worker is tried again.
const AGAIN_MS: f64 = 1_000.0;
/// How often.
const MOST_TRIES: u32 = 600;

impl Run<'_> {
    /// Asks a router for a worker.
    pub(super) fn route(&mut self, request: usize, tries: u32) {
        let Some(router) = self.router_for(request) else {
            return self.again(request, tries);
        };
        if let Some(echo) = self.echoes.get_mut(request) {
            *echo = self.threads.brought(request);
        }
        self.look(router);
        let verdict = self.ask(router, |router, world| router.route(world, request));
        match verdict {
            Some(Verdict::Send(route)) => self.dispatch(request, router, route),
            Some(Verdict::Hold) => {
                if let Some(flight) = self.flights.get_mut(request) {
                    *flight = Flight::Held { router };
                }
                if let Some(router) = self.routers.get_mut(router) {
                    router.held += 1;
                }
                self.release(router);
            }
            Some(Verdict::Nobody) | None => self.again(request, tries),
        }
    }

    fn again(&mut self, request: usize, tries: u32) {
        if tries < MOST_TRIES {
            let event = Event::Again {
                request,
                tries: tries + 1,
            };
            self.plan(self.now_ms + AGAIN_MS, event);
        } else {
            self.end(request);
        }
    }

    /// The router that gets a request. Of those at work, the one that its hash prefers: when one
    /// leaves, only its own requests move.
    fn router_for(&self, request: usize) -> Option<usize> {
        let key = match self.conditions.split {
            Split::Random => mix_two(self.conditions.seed, request as u64),
            Split::Affinity => u64::from(self.trace.calls().get(request)?.session),
        };
        let at_work = self
            .places
            .iter()
            .enumerate()
            .filter_map(|(place, router)| Some((place, (*router)?)));
        at_work
            .max_by_key(|(place, _)| mix_two(key, *place as u64))
            .map(|(_, router)| router)
    }

    /// Lets one router look at the world.
    pub(super) fn ask<T>(
        &mut self,
        router: usize,
        question: impl FnOnce(&mut super::Router, World<'_>) -> T,
    ) -> Option<T> {
        let world = World {
            now_ms: self.now_ms,
            engines: &self.engines,
            trace: self.trace,
            profile: self.profile,
            echoes: &self.echoes,
        };
        self.routers
            .get_mut(router)
            .map(|router| question(router, world))
    }

    fn dispatch(&mut self, request: usize, router: usize, route: Route) {
        let Some(call) = self.trace.calls().get(request) else {
            return;
        };
        let tokens = call.input_tokens.saturating_sub(route.cached_tokens);
        let ms = self
            .profile
            .prefill_ms(call.input_tokens, route.cached_tokens);
        if let Some(router) = self.routers.get_mut(router) {
            router.sent(route.worker, call.input_tokens, tokens, ms);
        }
        if let Some(flight) = self.flights.get_mut(request) {
            *flight = Flight::Sent {
                router,
                worker: route.worker,
                tokens,
                ms,
                stage: Stage::Waiting,
            };
        }
        if let Some(record) = self.records.get_mut(request) {
            record.sent(route);
        }
        self.send(request, route.worker);
    }

    /// Sends what a router no longer holds back.
    pub(super) fn release(&mut self, router: usize) {
        while self
            .routers
            .get(router)
            .is_some_and(|router| router.held > 0)
        {
            self.look(router);
            let Some((request, route)) = self.ask(router, super::Router::release).flatten() else {
                break;
            };
            if let Some(router) = self.routers.get_mut(router) {
                router.held -= 1;
            }
            self.dispatch(request, router, route);
        }
        while self
            .routers
            .get(router)
            .is_some_and(|router| router.held > 0)
            && let Some(request) = self.ask(router, super::Router::stranded).flatten()
        {
            if let Some(router) = self.routers.get_mut(router) {
                router.held -= 1;
            }
            if let Some(flight) = self.flights.get_mut(request) {
                *flight = Flight::Nowhere;
            }
            self.again(request, 0);
        }
        self.plan_patience(router);
    }

    /// Plans to look again when a held request can leave with no event before.
    fn plan_patience(&mut self, router: usize) {
        let waits = self
            .routers
            .get_mut(router)
            .filter(|router| router.held > 0);
        let Some(due_ms) = waits
            .as_ref()
            .and_then(|router| router.policy.next_release_ms())
        else {
            return;
        };
        // One plan at a time, unless an earlier one is needed. A moment at least must pass.
        let due_ms = due_ms.max(self.now_ms + 1.0);
        if let Some(router_) =
            waits.filter(|router| router.patience_ms <= self.now_ms || due_ms < router.patience_ms)
        {
            router_.patience_ms = due_ms;
            self.plan(due_ms, Event::Patience(router));
        }
    }

    /// Whoever looks first gets a worker that has become free: nobody in particular.
    pub(super) fn release_all(&mut self) {
        let routers = self.routers.len();
        let draw = mix_two(self.conditions.seed, self.now_ms.to_bits()) % routers.max(1) as u64;
        let first = usize::try_from(draw).unwrap_or(0);
        for router in (first..routers).chain(0..first) {
            self.release(router);
        }
    }

    pub(super) fn first_token(&mut self, request: usize, worker: usize, hit_tokens: u32) {
        let Some(Flight::Sent {
            router,
            tokens,
            ms,
            stage,
            ..
        }) = self.flights.get_mut(request)
        else {
            return;
        };
        *stage = Stage::Answering;
        let (router, tokens, ms) = (*router, *tokens, *ms);
        if let Some(router) = self.routers.get_mut(router) {
            router.prefilled(worker, tokens, ms);
        }
        if let Some(record) = self.records.get_mut(request) {
            record.answered(self.now_ms, worker, hit_tokens);
        }
        if let Some(echo) = self.echo_of(request, worker) {
            self.threads.answered(request, echo);
        }
        self.ask(router, |router, world| {
            router.hear(
                world,
                &News::FirstToken {
                    worker,
                    request,
                    hit_tokens,
                },
            );
        });
        self.hear_with_answer(router, worker);
    }

    fn echo_of(&self, request: usize, worker: usize) -> Option<Echo> {
        let call = self.trace.calls().get(request)?;
        let seen = self.workers.get(worker)?;
        Some(Echo {
            worker,
            life: seen.life,
            tokens: call.input_tokens,
        })
    }

    pub(super) fn finished(&mut self, request: usize, worker: usize) {
        let Some(Flight::Sent { router, .. }) = self.flights.get(request).copied() else {
            return;
        };
        let input_tokens = self
            .trace
            .calls()
            .get(request)
            .map_or(0, |call| call.input_tokens);
        if let Some(router) = self.routers.get_mut(router) {
            router.ended(worker, input_tokens);
        }
        if let Some(record) = self.records.get_mut(request) {
            record.finished(self.now_ms);
        }
        self.timeline.change(self.now_ms, worker, -1);
        self.ask(router, |router, world| {
            router.hear(world, &News::Finished { worker, request });
        });
        self.end(request);
    }
}
