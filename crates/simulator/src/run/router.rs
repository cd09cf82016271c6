//! One router: a policy with its memory, and what it has where.

use crate::engine::Engine;
use crate::policy::{News, Policy, Route, Verdict};
use crate::profile::Profile;
use crate::trace::Trace;
use crate::view::{Echo, Seat, View};

pub(super) struct Router {
    pub(super) policy: Box<dyn Policy>,
    pub(super) seats: Vec<Seat>,
    /// Requests that it holds.
    pub(super) held: usize,
    /// When it looks again without a reason, in milliseconds.
    pub(super) patience_ms: f64,
}

/// What all routers see alike.
#[derive(Clone, Copy)]
pub(super) struct World<'w> {
    pub(super) now_ms: f64,
    pub(super) engines: &'w [Engine<'w>],
    pub(super) trace: &'w Trace,
    pub(super) profile: &'w Profile,
    pub(super) echoes: &'w [Option<Echo>],
}

impl<'w> World<'w> {
    fn seen_from(self, seats: &'w [Seat]) -> View<'w> {
        let Self {
            now_ms,
            engines,
            trace,
            profile,
            echoes,
        } = self;
        View {
            now_ms,
            seats,
            engines,
            trace,
            profile,
            echoes,
        }
    }
}

impl Router {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self {
            policy,
            seats: Vec::new(),
            held: 0,
            patience_ms: 0.0,
        }
    }

    pub(super) fn route(&mut self, world: World<'_>, request: usize) -> Verdict {
        self.policy.route(&world.seen_from(&self.seats), request)
    }

    pub(super) fn hear(&mut self, world: World<'_>, news: &News) {
        self.policy.hear(&world.seen_from(&self.seats), news);
    }

    pub(super) fn release(&mut self, world: World<'_>) -> Option<(usize, Route)> {
        self.policy.release(&world.seen_from(&self.seats))
    }

    pub(super) fn stranded(&mut self, world: World<'_>) -> Option<usize> {
        self.policy.stranded(&world.seen_from(&self.seats))
    }

    pub(super) fn seat(&mut self, worker: usize) -> Option<&mut Seat> {
        if self.seats.len() <= worker {
            self.seats.resize(worker + 1, Seat::default());
        }
        self.seats.get_mut(worker)
    }

    /// A request was sent: so many tokens to compute, and so many milliseconds.
    pub(super) fn sent(&mut self, worker: usize, input_tokens: u32, tokens: u32, ms: f64) {
        if let Some(seat) = self.seat(worker) {
            seat.own_active += 1;
            seat.own_waiting += 1;
            seat.pending_tokens += u64::from(tokens);
            seat.pending_ms += ms;
            seat.kv_tokens += u64::from(input_tokens);
        }
    }

    /// Its prompt has been prefilled, or never will be.
    pub(super) fn prefilled(&mut self, worker: usize, tokens: u32, ms: f64) {
        if let Some(seat) = self.seat(worker) {
            seat.own_waiting = seat.own_waiting.saturating_sub(1);
            seat.pending_tokens = seat.pending_tokens.saturating_sub(u64::from(tokens));
            // What rounding leaves must not add up.
            seat.pending_ms = if seat.own_waiting == 0 {
                0.0
            } else {
                (seat.pending_ms - ms).max(0.0)
            };
        }
    }

    /// It is over.
    pub(super) fn ended(&mut self, worker: usize, input_tokens: u32) {
        if let Some(seat) = self.seat(worker) {
            seat.own_active = seat.own_active.saturating_sub(1);
            seat.kv_tokens = seat.kv_tokens.saturating_sub(u64::from(input_tokens));
        }
    }
}
