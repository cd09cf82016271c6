//! The fleet: learns from events, places requests.

use std::collections::BTreeMap;

use crate::event::{Event, Report, WorkerState};
use crate::id::{At, Generation, RequestId, WorkerId};
use crate::reason::{Decision, NoWorker, Reason};
use crate::request::Request;
use crate::settings::{Settings, SettingsError};

/// Every worker, what is known of it, and what is believed to be in its cache.
#[derive(Clone, Debug)]
pub struct Fleet {
    settings: Settings,
    workers: BTreeMap<WorkerId, WorkerView>,
    in_flight: BTreeMap<RequestId, WorkerId>,
}

/// What is known of one worker, for people and metrics.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerView {
    /// Its id.
    pub id: WorkerId,
    /// Its name.
    pub name: String,
    /// Its share of the work.
    pub weight: f64,
    /// Whether it may get requests.
    pub state: WorkerState,
    /// Which life of its process it is in.
    pub generation: Generation,
    /// Whether it is over its watermark, as of the latest event.
    pub hot: bool,
    /// Requests that this fleet sent there and that have not ended.
    pub in_flight: u32,
    /// Those of them that have had no first byte.
    pub waiting: u32,
    /// Uncached prompt tokens of those.
    pub uncached_tokens: u64,
    /// Milliseconds that their prefill is expected to take.
    pub pending_ms: f64,
    /// What the engine said last.
    pub reported: Option<Report>,
    /// When it said so.
    pub reported_at: Option<At>,
    /// Entries of the residency table that name it.
    pub residency: usize,
}

impl Fleet {
    /// An empty fleet.
    ///
    /// # Errors
    /// A setting is outside its range; the error names it.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            settings,
            workers: BTreeMap::new(),
            in_flight: BTreeMap::new(),
        })
    }

    /// Learns from one event; chooses nothing.
    pub fn observe(&mut self, at: At, event: &Event<'_>) {
        match *event {
            Event::Joined {
                worker,
                name,
                weight,
            } => {
                self.workers.entry(worker).or_insert_with(|| WorkerView {
                    id: worker,
                    name: name.to_owned(),
                    weight,
                    state: WorkerState::Starting,
                    generation: Generation::default(),
                    hot: false,
                    in_flight: 0,
                    waiting: 0,
                    uncached_tokens: 0,
                    pending_ms: 0.0,
                    reported: None,
                    reported_at: None,
                    residency: 0,
                });
            }
            Event::Left { worker } => {
                self.workers.remove(&worker);
                self.in_flight.retain(|_, at| *at != worker);
            }
            Event::State { worker, state } => {
                if let Some(w) = self.workers.get_mut(&worker) {
                    w.state = state;
                }
            }
            Event::Generation { worker, generation } => {
                if let Some(w) = self.workers.get_mut(&worker) {
                    w.generation = generation;
                }
            }
            Event::Dispatched {
                worker, request, ..
            } => {
                if let Some(w) = self.workers.get_mut(&worker)
                    && self.in_flight.insert(request, worker).is_none()
                {
                    w.in_flight += 1;
                }
            }
            Event::FirstByte { .. } => {}
            Event::Finished { request, .. } | Event::Failed { request, .. } => {
                if let Some(worker) = self.in_flight.remove(&request)
                    && let Some(w) = self.workers.get_mut(&worker)
                {
                    w.in_flight -= 1;
                }
            }
            Event::Reported { worker, report } => {
                if let Some(w) = self.workers.get_mut(&worker) {
                    w.reported = Some(report);
                    w.reported_at = Some(at);
                }
            }
        }
    }

    /// Chooses a worker for a request; changes nothing.
    ///
    /// # Errors
    /// No worker can get it.
    pub fn place(&self, _at: At, request: &Request<'_>) -> Result<Decision, NoWorker> {
        let mut pool: Vec<&WorkerView> = self
            .workers
            .values()
            .filter(|w| w.state == WorkerState::Ready && !request.excluded.contains(&w.id))
            .collect();
        pool.sort_by_key(|w| (w.in_flight, w.id));
        let Some(chosen) = pool.first() else {
            return Err(NoWorker::NoneReady);
        };
        Ok(Decision {
            worker: chosen.id,
            candidates: pool.iter().map(|w| w.id).collect(),
            reason: Reason::LeastLoaded,
            matched_tokens: 0,
            expected_ms: self
                .settings
                .prefill
                .ms(self.settings.assumed_prompt_tokens, 0),
        })
    }

    /// Every worker, sorted by name.
    pub fn workers(&self) -> impl Iterator<Item = WorkerView> {
        let mut views: Vec<WorkerView> = self.workers.values().cloned().collect();
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views.into_iter()
    }

    /// Entries in the residency table.
    #[must_use]
    pub fn residency_len(&self) -> usize {
        0
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
