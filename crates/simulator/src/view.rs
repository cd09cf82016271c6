//! What a router sees when it must place a request.

use crate::engine::Engine;
use crate::profile::Profile;
use crate::trace::{Call, Node, Trace, hit_tokens};

/// What one router knows of one worker by itself: its own requests there, and what the worker
/// reported of others'.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Seat {
    /// Whether it may get requests.
    pub ready: bool,
    /// Own requests there that have not ended.
    pub own_active: u32,
    /// Those of them without a first token.
    pub own_waiting: u32,
    /// Requests beyond the own ones when it last reported.
    pub others_active: u32,
    /// Those of them that waited.
    pub others_waiting: u32,
    /// Tokens that the own waiting requests have to compute, by the policy's own estimate.
    pub pending_tokens: u64,
    /// The same in milliseconds.
    pub pending_ms: f64,
    /// Prompt tokens of the own requests there.
    pub kv_tokens: u64,
}

impl Seat {
    /// Requests there, as far as is known.
    #[must_use]
    pub const fn active(&self) -> u32 {
        self.own_active.saturating_add(self.others_active)
    }

    /// Requests there without a first token, as far as is known.
    #[must_use]
    pub const fn waiting(&self) -> u32 {
        self.own_waiting.saturating_add(self.others_waiting)
    }
}

/// Where the last answer of a thread came from, as its client brings it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Echo {
    /// The worker.
    pub worker: usize,
    /// Which life of its process it was.
    pub life: u64,
    /// Tokens of the prompt that it answered.
    pub tokens: u32,
}

/// The moment of a decision.
#[derive(Clone, Copy, Debug)]
pub struct View<'v> {
    pub(crate) now_ms: f64,
    pub(crate) seats: &'v [Seat],
    pub(crate) engines: &'v [Engine<'v>],
    pub(crate) trace: &'v Trace,
    pub(crate) profile: &'v Profile,
    pub(crate) echoes: &'v [Option<Echo>],
}

impl<'v> View<'v> {
    /// Milliseconds since the start.
    #[must_use]
    pub fn now_ms(&self) -> f64 {
        self.now_ms
    }

    /// What the router knows of each worker.
    #[must_use]
    pub fn seats(&self) -> &'v [Seat] {
        self.seats
    }

    /// The workers that may get requests, with what is known of them.
    pub fn ready(&self) -> impl DoubleEndedIterator<Item = (usize, &'v Seat)> + Clone + use<'v> {
        self.seats.iter().enumerate().filter(|(_, seat)| seat.ready)
    }

    /// Whether a worker may get requests.
    #[must_use]
    pub fn is_ready(&self, worker: usize) -> bool {
        self.seats.get(worker).is_some_and(|seat| seat.ready)
    }

    /// The request in the trace. An unknown one is empty.
    #[must_use]
    pub fn call(&self, request: usize) -> &'v Call {
        const NONE: &Call = &Call {
            arrival: crate::trace::Arrival::AtMs(0.0),
            input_tokens: 1,
            output_tokens: 0,
            session: 0,
            turn: 0,
        };
        self.trace.calls().get(request).unwrap_or(NONE)
    }

    /// The prefixes of its prompt.
    #[must_use]
    pub fn path(&self, request: usize) -> &'v [Node] {
        self.trace.path(request)
    }

    /// Where segments of its prompt end.
    #[must_use]
    pub fn borders(&self, request: usize) -> &'v [u32] {
        self.trace.borders(request)
    }

    /// Tokens in a block.
    #[must_use]
    pub fn block_tokens(&self) -> u32 {
        self.trace.block_tokens()
    }

    /// The constants of the workers' service.
    #[must_use]
    pub fn profile(&self) -> &'v Profile {
        self.profile
    }

    /// Tokens that a worker's cache has room for, as its engine tells.
    #[must_use]
    pub fn cache_tokens(&self, worker: usize) -> u64 {
        self.engines.get(worker).map_or(1, Engine::cache_tokens)
    }

    /// Blocks of a prompt that a worker's cache holds at this moment: for policies that read the
    /// engines' own events, and only for them.
    #[must_use]
    pub fn resident_blocks(&self, worker: usize, request: usize) -> usize {
        self.engines
            .get(worker)
            .map_or(0, |engine| engine.held_blocks(self.path(request)))
    }

    /// Tokens that so many blocks of a prompt save.
    #[must_use]
    pub fn tokens_of(&self, blocks: usize, request: usize) -> u32 {
        hit_tokens(blocks, self.block_tokens(), self.call(request).input_tokens)
    }

    /// What the request's client brings back of the last answer in its thread.
    #[must_use]
    pub fn echo(&self, request: usize) -> Option<Echo> {
        self.echoes.get(request).copied().flatten()
    }
}
