//! Counts a request at its worker from the decision until its answer ends or its client leaves.

use std::sync::Arc;
use std::time::Instant;

use headwater_placement::{Event, RequestId, WorkerId};

use crate::counters::FIRST_BYTE_BOUNDS_MICROS;
use crate::model_pool::PoolId;
use crate::shared::Shared;

/// A request at a worker. Dropped without an end, its client has left.
pub(crate) struct InFlight {
    shared: Arc<Shared>,
    pool: PoolId,
    worker: WorkerId,
    request: RequestId,
    began: Instant,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Streaming,
    Ended,
}

impl InFlight {
    pub(crate) fn new(
        shared: Arc<Shared>,
        (pool, worker): (PoolId, WorkerId),
        request: RequestId,
        began: Instant,
    ) -> Self {
        Self {
            shared,
            pool,
            worker,
            request,
            began,
            stage: Stage::Waiting,
        }
    }

    /// The first byte of an answer came.
    pub(crate) fn first_byte(&mut self) {
        if self.stage == Stage::Waiting {
            self.stage = Stage::Streaming;
            let (worker, request) = (self.worker, self.request);
            self.began_at(Instant::now(), &[Event::FirstByte { worker, request }]);
        }
    }

    fn began_at(&self, moment: Instant, events: &[Event<'_>]) {
        self.shared.observe_at(moment, self.pool, events);
        let took = moment.saturating_duration_since(self.began);
        let histogram = &self.shared.counters.first_byte_time;
        histogram.add(took, &FIRST_BYTE_BOUNDS_MICROS);
    }

    /// The engine said how many tokens of the prompt it had found in its cache.
    pub(crate) fn cached(&mut self, tokens: u32) {
        // Placement asks what came first.
        self.first_byte();
        if self.stage == Stage::Streaming {
            let (worker, request) = (self.worker, self.request);
            let cached = Event::Cached {
                worker,
                request,
                tokens,
            };
            self.shared.observe(self.pool, &cached);
        }
    }

    /// The answer ended well.
    pub(crate) fn finish(&mut self) {
        let (worker, request) = (self.worker, self.request);
        let finished = Event::Finished { worker, request };
        if self.stage == Stage::Waiting {
            // All of it came at once: one look at the clock, one lock.
            self.stage = Stage::Ended;
            let first = Event::FirstByte { worker, request };
            return self.began_at(Instant::now(), &[first, finished]);
        }
        self.end(&finished);
    }

    /// It ended badly, or was no answer to the prompt.
    pub(crate) fn fail(&mut self) {
        let (worker, request) = (self.worker, self.request);
        self.end(&Event::Failed { worker, request });
    }

    fn end(&mut self, event: &Event<'_>) {
        if self.stage != Stage::Ended {
            self.stage = Stage::Ended;
            self.shared.observe(self.pool, event);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        match self.stage {
            Stage::Waiting => self.shared.counters.cancelled_waiting.add(1),
            Stage::Streaming => self.shared.counters.cancelled_streaming.add(1),
            Stage::Ended => return,
        }
        self.fail();
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::Poll;

    use headwater_placement::{KeySource, Request};
    use proptest::prelude::*;

    use super::*;
    use crate::breaker::Verdict;
    use crate::config::Config;
    use crate::held::Held;
    use crate::member::{Health, Origin, Process};
    use crate::shared::Place;

    #[derive(Clone, Debug)]
    enum Step {
        Arrive(u8),
        FirstByte(usize),
        Finish(usize),
        Fail(usize),
        /// It failed, and another worker is asked for the same request.
        Retry(usize),
        Leave(usize),
        LeaveQueue(usize),
        Call,
        Die(usize),
        Rise(usize),
        Break(usize),
        Reload(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let any = 0_usize..8;
        let step = prop_oneof![
            4 => (0_u8..20).prop_map(Step::Arrive),
            2 => any.clone().prop_map(Step::FirstByte),
            2 => any.clone().prop_map(Step::Finish),
            1 => any.clone().prop_map(Step::Fail),
            1 => any.clone().prop_map(Step::Retry),
            1 => any.clone().prop_map(Step::Leave),
            1 => any.clone().prop_map(Step::LeaveQueue),
            2 => Just(Step::Call),
            1 => any.clone().prop_map(Step::Die),
            1 => any.clone().prop_map(Step::Rise),
            1 => any.clone().prop_map(Step::Break),
            1 => any.prop_map(Step::Reload),
        ];
        prop::collection::vec(step, 0..60)
    }

    struct World {
        shared: Arc<Shared>,
        at_workers: Vec<(WorkerId, InFlight)>,
        held: Vec<Held>,
    }

    impl World {
        fn new() -> Self {
            let yaml = "listen: 127.0.0.1:0\nworkers: [http://a:1, http://b:1, http://c:1]\n\
                        placement: {hold: {tokens: 3000}}\nbreaker: {failures: 2}\n";
            let config = Config::parse(yaml, "test.yaml").unwrap();
            Self {
                shared: Arc::new(Shared::new(config).unwrap()),
                at_workers: Vec::new(),
                held: Vec::new(),
            }
        }

        fn arrive(&mut self, key: u8, excluded: &[WorkerId]) {
            let request = Request {
                signature: None,
                affinity: Some(key.into()),
                key_source: KeySource::Session,
                body_bytes: None,
                excluded,
            };
            match self.shared.place(PoolId::default(), &request) {
                Ok(Place::Now(placed, guard)) => self.at_workers.push((placed.endpoint.id, guard)),
                Ok(Place::Later(held)) => self.held.push(held),
                Err(_) => {}
            }
        }

        /// Everybody whose turn has come goes to a worker, or away.
        async fn call(&mut self) {
            self.shared.release_due();
            let mut waiting = Vec::new();
            for mut held in std::mem::take(&mut self.held) {
                let polled = {
                    let mut turn = pin!(held.turn());
                    poll_fn(|cx| Poll::Ready(turn.as_mut().poll(cx))).await
                };
                match polled {
                    Poll::Ready(Ok((placed, guard))) => {
                        self.at_workers.push((placed.endpoint.id, guard));
                    }
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => waiting.push(held),
                }
            }
            self.held = waiting;
        }

        fn take(&mut self, index: usize) -> Option<(WorkerId, InFlight)> {
            let index = index.checked_rem(self.at_workers.len())?;
            Some(self.at_workers.swap_remove(index))
        }

        async fn step(&mut self, step: Step) {
            let endpoints = self.shared.roster(PoolId::default()).endpoints();
            let endpoint = |index: usize| endpoints.get(index % endpoints.len().max(1));
            match step {
                Step::Arrive(key) => self.arrive(key, &[]),
                Step::FirstByte(index) => {
                    let length = self.at_workers.len().max(1);
                    if let Some((_, guard)) = self.at_workers.get_mut(index % length) {
                        guard.first_byte();
                    }
                }
                Step::Finish(index) => {
                    if let Some((_, mut guard)) = self.take(index) {
                        guard.first_byte();
                        guard.finish();
                        guard.fail();
                    }
                }
                Step::Fail(index) => {
                    if let Some((_, mut guard)) = self.take(index) {
                        guard.fail();
                    }
                }
                Step::Retry(index) => {
                    if let Some((worker, mut guard)) = self.take(index) {
                        guard.fail();
                        self.arrive(7, &[worker]);
                    }
                }
                Step::Leave(index) => drop(self.take(index)),
                Step::LeaveQueue(index) => {
                    if let Some(index) = index.checked_rem(self.held.len()) {
                        drop(self.held.swap_remove(index));
                    }
                }
                Step::Call => self.call().await,
                Step::Die(index) => {
                    if let Some(endpoint) = endpoint(index) {
                        self.shared
                            .set_health(endpoint, Health::Down, Process::Gone, "test");
                    }
                }
                Step::Rise(index) => {
                    if let Some(endpoint) = endpoint(index) {
                        self.shared
                            .set_health(endpoint, Health::Up, Process::AsBefore, "test");
                    }
                }
                Step::Break(index) => {
                    if let Some(endpoint) = endpoint(index) {
                        self.shared.learn(endpoint, Verdict::Failed, "test");
                    }
                }
                Step::Reload(index) => {
                    let workers = &self.shared.config.workers;
                    let left = workers.get(index % 3..).unwrap_or_default();
                    let pool = PoolId::default();
                    self.shared.set_workers(pool, Origin::Config, left);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_happens_nothing_stays_in_flight(steps in steps()) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut world = World::new();
                for step in steps {
                    world.step(step).await;
                }
                // First those who still wait: what ends at a worker calls them.
                world.held.clear();
                for (_, view) in world.shared.roster(PoolId::default()).views() {
                    assert_eq!(view.held, 0);
                }
                world.at_workers.clear();
                for (_, view) in world.shared.roster(PoolId::default()).views() {
                    assert_eq!((view.in_flight, view.uncached_tokens, view.held), (0, 0, 0));
                }
                assert_eq!(world.shared.counters.held.get(), 0);
            });
        }
    }
}
