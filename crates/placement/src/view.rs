//! What the fleet knows of its workers, for people and metrics.

use headwater_signature::RouteTag;

use crate::cost::PrefillModel;
use crate::event::{Report, WorkerState};
use crate::fleet::Fleet;
use crate::id::{At, Generation, WorkerId};
use crate::worker::Worker;

/// What is known of one worker.
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
    /// What names it, in this generation, in the route header.
    pub route_tag: RouteTag,
    /// Whether it is over its watermark, as of the latest event of the fleet.
    pub hot: bool,
    /// Requests that this fleet sent there and that have not ended.
    pub in_flight: u32,
    /// Those of them that have had no first byte.
    pub waiting: u32,
    /// Uncached prompt tokens of those that have had none.
    pub uncached_tokens: u64,
    /// Requests that wait for it at the caller.
    pub held: u32,
    /// What prefill costs there, as far as it has been learned.
    pub prefill: PrefillModel,
    /// Milliseconds until all prefill there is done, as far as is known.
    pub pending_ms: f64,
    /// What its engine said last, without values that cannot be.
    pub reported: Option<Report>,
    /// When it said so.
    pub reported_at: Option<At>,
    /// Entries of the residency table that name it.
    pub residency: usize,
}

impl Fleet {
    /// Every worker, sorted by name.
    pub fn workers(&self) -> impl Iterator<Item = WorkerView> {
        let mut views: Vec<_> = self
            .workers
            .iter()
            .map(|worker| self.view(worker))
            .collect();
        views.sort_by(|a, b| a.name.cmp(&b.name).then(a.id.cmp(&b.id)));
        views.into_iter()
    }

    /// One worker, if it is there.
    #[must_use]
    pub fn worker(&self, id: WorkerId) -> Option<WorkerView> {
        self.workers.get(id).map(|worker| self.view(worker))
    }

    /// Names in the residency table.
    #[must_use]
    pub fn residency_len(&self) -> usize {
        self.residency.len()
    }

    fn view(&self, worker: &Worker) -> WorkerView {
        WorkerView {
            id: worker.id,
            name: worker.name.clone(),
            weight: worker.weight,
            state: worker.state,
            generation: worker.generation,
            route_tag: worker.tag,
            hot: worker.watermark.is_hot(self.latest, &self.settings),
            in_flight: worker.own.in_flight,
            waiting: worker.own.waiting,
            uncached_tokens: worker.own.uncached_tokens,
            held: worker.own.held.requests(),
            prefill: worker.prefill,
            pending_ms: worker.pending_ms(self.latest),
            reported: worker.report.map(|(_, report)| report),
            reported_at: worker.report.map(|(at, _)| at),
            residency: self.residency.held_by(worker.slot),
        }
    }
}
