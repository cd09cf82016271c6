//! What happens next.

use std::cmp::Ordering;

use crate::policy::Status;

/// Something that is planned.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A worker comes to the end of something, if this is still the valid plan.
    Wake { worker: usize, wake: u64 },
    /// An incident of the scenario.
    Incident(usize),
    /// The workers say how they are.
    Sample,
    /// The routers hear it.
    Delivery(Vec<(usize, Status)>),
    /// A router has held a request for as long as it may.
    Patience(usize),
    /// A request that has a fixed time; the next of these is planned when it is handled.
    Fixed(usize),
    /// A request that waited for another.
    Arrival(usize),
    /// A request for which there was no worker.
    Again { request: usize, tries: u32 },
}

impl Event {
    /// What goes first at the same moment.
    const fn rank(&self) -> u8 {
        match self {
            Self::Wake { .. } => 0,
            Self::Incident(_) => 1,
            Self::Sample | Self::Delivery(_) | Self::Patience(_) => 2,
            Self::Fixed(_) | Self::Arrival(_) | Self::Again { .. } => 3,
        }
    }
}

/// An event with its time; the greatest is the earliest, for a heap that gives the greatest.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) at_ms: f64,
    pub(super) order: u64,
    pub(super) event: Event,
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_time = other.at_ms.total_cmp(&self.at_ms);
        let by_rank = || other.event.rank().cmp(&self.event.rank());
        by_time
            .then_with(by_rank)
            .then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timed {}
