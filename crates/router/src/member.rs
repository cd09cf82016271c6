//! One worker of a roster: how it is, who named it, what an operator wants of it.

use std::sync::Arc;

use headwater_placement::{At, Generation, WorkerState};
use headwater_signature::RouteTag;

use crate::breaker::Breaker;
use crate::endpoint::Endpoint;
use crate::engines::Reading;

/// One worker.
pub(crate) struct Member {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) weight: f64,
    pub(crate) origin: Origin,
    pub(crate) service: Service,
    pub(crate) health: Health,
    pub(crate) breaker: Breaker,
    /// When it was last told that its failures leave it in, for want of others.
    pub(crate) kept_told_at: Option<At>,
    /// Until when others are preferred: it said that it has enough.
    pub(crate) pressed_until: Option<At>,
    pub(crate) scrape: Option<Scrape>,
    pub(crate) joined_at: At,
    pub(crate) generation: Generation,
    pub(crate) tag: RouteTag,
}

/// Who named a worker. Each list replaces only the workers that it named itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The configuration.
    Config,
    /// An operator, over the admin port.
    Admin,
    /// A discovery, by its place in the configuration.
    Discovered(usize),
}

/// Whether an operator wants it to get requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    In,
    Drained,
}

/// Whether it can be reached, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Unknown,
    Up,
    Down,
}

/// What the finding about a worker's health says of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// Nobody listens: it has ended, and its cache with it.
    Gone,
    /// It may be the same as before.
    AsBefore,
}

/// The latest scrape that could be read.
pub(crate) struct Scrape {
    pub(crate) at: At,
    pub(crate) reading: Reading,
}

/// What became of a worker's breaker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerChange {
    Opened,
    Closed,
    /// It failed too often, but too few others are left.
    KeptByFloor,
    /// The same, and it was told not long ago.
    StillKept,
}

impl BreakerChange {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::KeptByFloor | Self::StillKept => "kept_by_floor",
        }
    }
}

/// When a worker is added: what is believed of it before it has been asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// With the router itself: it may serve at once, a dead one is found by trying.
    AtStart,
    /// Later: others serve until it has answered.
    Later,
}

impl Member {
    /// Whether it may get requests, if only for want of another.
    pub(crate) fn is_usable(&self) -> bool {
        matches!(self.state(), WorkerState::Ready | WorkerState::Starting)
    }

    /// What placement is told: the operator's word goes before what was found out.
    pub(crate) fn state(&self) -> WorkerState {
        match (self.service, self.health) {
            (_, Health::Down) => WorkerState::Down,
            (Service::In, _) if !self.breaker.lets_through() => WorkerState::Down,
            (Service::Drained, _) => WorkerState::Draining,
            (Service::In, _) if self.pressed_until.is_some() => WorkerState::Starting,
            (Service::In, Health::Unknown) => WorkerState::Starting,
            (Service::In, Health::Up) => WorkerState::Ready,
        }
    }
}
