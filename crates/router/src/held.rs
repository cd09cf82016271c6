//! Requests that wait here for a worker that is busy, without a connection to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_placement::{KeySource, NoWorker, Request, RequestId, WorkerId};
use headwater_signature::Signature;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::counters::HELD_BOUNDS_MICROS;
use crate::inflight::InFlight;
use crate::model_pool::PoolId;
use crate::roster::Placed;
use crate::shared::Shared;

/// A request that owns what placement is told of it.
pub(crate) struct Asked {
    signature: Option<Signature>,
    affinity: Option<u64>,
    source: KeySource,
    body_bytes: Option<u64>,
    excluded: Vec<WorkerId>,
}

impl Asked {
    pub(crate) fn of(request: &Request<'_>) -> Self {
        Self {
            signature: request.signature.copied(),
            affinity: request.affinity,
            source: request.key_source,
            body_bytes: request.body_bytes,
            excluded: request.excluded.to_vec(),
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            signature: self.signature.as_ref(),
            affinity: self.affinity,
            key_source: self.source,
            body_bytes: self.body_bytes,
            excluded: &self.excluded,
        }
    }
}

/// Whom to tell when a request's turn has come.
pub(crate) struct Waiter {
    pub(crate) asked: Asked,
    pub(crate) turn: oneshot::Sender<Placed>,
}

/// Everybody who waits for workers of one roster.
pub(crate) type Waiters = BTreeMap<RequestId, Waiter>;

/// A place in the waiting room. Dropped, its client has left.
pub(crate) struct Held {
    shared: Arc<Shared>,
    pool: PoolId,
    request: RequestId,
    began: Instant,
    turn: oneshot::Receiver<Placed>,
    stage: Stage,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Waiting,
    Called,
    /// There is no worker to wait for.
    Refused,
}

impl Held {
    pub(crate) fn new(
        shared: Arc<Shared>,
        pool: PoolId,
        request: RequestId,
        began: Instant,
        turn: oneshot::Receiver<Placed>,
    ) -> Self {
        shared.counters.held_total.add(1);
        shared.counters.held.enter();
        Self {
            shared,
            pool,
            request,
            began,
            turn,
            stage: Stage::Waiting,
        }
    }

    /// Waits until the request's turn has come; from then on it counts as being at its worker.
    pub(crate) async fn turn(&mut self) -> Result<(Placed, InFlight), NoWorker> {
        /// Placement lets go of it at the limit; whoever waits beyond has no worker at all.
        const GRACE: Duration = Duration::from_secs(1);
        let most = self.shared.config.placement.hold.time() + GRACE;
        let placed = timeout(most, &mut self.turn).await;
        // Nobody calls any more when no worker is left.
        let Ok(Ok(placed)) = placed else {
            self.stage = Stage::Refused;
            return Err(NoWorker::NoneReady);
        };
        self.stage = Stage::Called;
        let shared = &self.shared;
        let waited = self.began.elapsed();
        shared.counters.held_time.add(waited, &HELD_BOUNDS_MICROS);
        let at_worker = (self.pool, placed.endpoint.id);
        let guard = InFlight::new(Arc::clone(shared), at_worker, self.request, self.began);
        Ok((placed, guard))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.counters.held.leave();
        if self.stage == Stage::Called {
            return;
        }
        self.turn.close();
        match self.turn.try_recv() {
            // Its turn came while nobody listened any more: it never got to the worker.
            Ok(placed) => {
                let at_worker = (self.pool, placed.endpoint.id);
                let shared = Arc::clone(&self.shared);
                drop(InFlight::new(shared, at_worker, self.request, self.began));
            }
            Err(_) => {
                if self.stage == Stage::Waiting {
                    self.shared.counters.cancelled_held.add(1);
                }
                let at = self.shared.now();
                self.shared.roster(self.pool).abandon(at, self.request);
            }
        }
    }
}
