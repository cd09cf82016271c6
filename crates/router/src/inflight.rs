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
        if self.stage != Stage::Waiting {
            return;
        }
        self.stage = Stage::Streaming;
        let (worker, request) = (self.worker, self.request);
        self.shared
            .observe(self.pool, &Event::FirstByte { worker, request });
        let histogram = &self.shared.counters.first_byte_time;
        histogram.add(self.began.elapsed(), &FIRST_BYTE_BOUNDS_MICROS);
    }

    /// The answer ended well.
    pub(crate) fn finish(&mut self) {
        let (worker, request) = (self.worker, self.request);
        self.end(&Event::Finished { worker, request });
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
