//! What a fleet learns from: workers come and go, requests wait, start and end, engines report.

use headwater_signature::{Fingerprint, PrefixHash};

use crate::id::{Generation, RequestId, WorkerId};
use crate::request::Request;

/// One thing that happened; see [`Fleet::observe`](crate::Fleet::observe).
///
/// An event about a worker or a request that the fleet does not know changes nothing.
/// Closed on purpose: a caller that translates events should not compile when one is added.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A worker was configured or discovered; of a known one, its weight changed.
    ///
    /// It begins as [`WorkerState::Starting`] and in the default generation.
    Joined {
        /// `WorkerId::of(name)`.
        worker: WorkerId,
        /// The name that its route tag is made of.
        name: &'a str,
        /// Its share of the work, 1 for an ordinary worker. Anything but a positive, finite
        /// number counts as 1.
        weight: f64,
    },
    /// A worker is gone for good; all that was known of it goes too.
    Left {
        /// Which one.
        worker: WorkerId,
    },
    /// A worker may or may not get requests from now on.
    State {
        /// Which one.
        worker: WorkerId,
        /// How it is now.
        state: WorkerState,
    },
    /// A worker's process was seen in this generation; another one voids its residency.
    Generation {
        /// Which one.
        worker: WorkerId,
        /// What it is in now.
        generation: Generation,
    },
    /// A request was placed on a worker and waits at the caller until
    /// [`Fleet::release`](crate::Fleet::release) names it; see [`Handover`](crate::Handover).
    Held {
        /// Where it was placed.
        worker: WorkerId,
        /// What later events call it.
        request: RequestId,
        /// The request as it was placed.
        of: &'a Request<'a>,
    },
    /// A held request is wanted no more: its client left, or its time is over.
    Abandoned {
        /// Which request.
        request: RequestId,
    },
    /// A request was sent to a worker: the caller followed a decision (or did not). A held one
    /// is held no more.
    Dispatched {
        /// Where it went.
        worker: WorkerId,
        /// What later events call it.
        request: RequestId,
        /// The request as it was placed.
        of: &'a Request<'a>,
    },
    /// The first byte of the answer came: the prompt has been prefilled.
    FirstByte {
        /// Who answered.
        worker: WorkerId,
        /// Which request.
        request: RequestId,
    },
    /// The answer ended well.
    Finished {
        /// Who answered.
        worker: WorkerId,
        /// Which request.
        request: RequestId,
    },
    /// The request ended badly. Before the first byte this takes back what its dispatch had
    /// made the fleet believe; after it, the prompt has been prefilled all the same.
    Failed {
        /// Who failed.
        worker: WorkerId,
        /// Which request.
        request: RequestId,
    },
    /// The engine said how many tokens of a request's prompt it had found in its cache.
    Cached {
        /// Whose engine.
        worker: WorkerId,
        /// Which request; known until it ends.
        request: RequestId,
        /// Tokens that were cached.
        tokens: u32,
    },
    /// The engine said that its cache holds these prefixes now.
    Stored {
        /// Whose engine.
        worker: WorkerId,
        /// What it holds, as clients name it.
        prefixes: &'a [PrefixName],
    },
    /// The engine said that its cache holds these prefixes no more.
    Removed {
        /// Whose engine.
        worker: WorkerId,
        /// What it dropped, as clients name it.
        prefixes: &'a [PrefixName],
    },
    /// The engine said that its cache is empty.
    Cleared {
        /// Whose engine.
        worker: WorkerId,
    },
    /// A worker's engine said how it is.
    Reported {
        /// Which one.
        worker: WorkerId,
        /// What it said.
        report: Report,
    },
}

/// What a client calls one prefix: its hash, and the scheme that the hash was made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a prefix is named by these two and callers build it"
)]
pub struct PrefixName {
    /// Of the scheme.
    pub fingerprint: Fingerprint,
    /// Of the prefix.
    pub hash: PrefixHash,
}

/// Whether a worker may get requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerState {
    /// Not seen healthy yet: gets requests only when no ready worker can.
    Starting,
    /// Healthy.
    Ready,
    /// Finishes what it has, gets nothing new.
    Draining,
    /// Not reachable, gets nothing.
    Down,
}

impl WorkerState {
    /// The name in output and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Down => "down",
        }
    }
}

/// What an engine says about itself. A missing value is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests that it is working on.
    pub running: Option<u32>,
    /// Requests that wait in its queue.
    pub waiting: Option<u32>,
    /// Prompt tokens that it has yet to prefill, whoever sent them.
    pub pending_tokens: Option<u64>,
    /// Prompt tokens that it has computed since it began, whoever sent them, cached ones not
    /// counted. Tells how far other routers' requests have overwritten its cache.
    pub computed_tokens: Option<u64>,
    /// Share of its cache blocks in use, 0..=1; any other value counts as unknown.
    ///
    /// NOTE: vLLM counts the blocks of running requests only, so a warm idle worker says 0.
    /// It measures pressure, not what is resident.
    pub kv_use: Option<f64>,
    /// Tokens that its prefix cache can hold, where the engine tells; 0 counts as unknown.
    pub cache_tokens: Option<u64>,
}
