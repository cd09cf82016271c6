//! How a request is placed: one trait, ours through `headwater-placement` itself, and the others as
//! published, each with its source and its constants.
//!
//! The others were written anew from what their sources and documents say; numbers that could not
//! be checked are marked as such. What a policy may know is what its router can know: its own
//! requests, and the engines' cache events only where the published router reads them.

use crate::view::View;

pub use name::{Kind, PolicyName, Setting, UnknownPolicy};
pub use ours::{Corrections, Headwater, HeadwaterOptions};

mod name;

// Ours.
mod ours;

// Blind to prefixes.
mod load;
mod round_robin;

// One key, hashed.
mod chwbl;
mod hashed;
mod ring;
mod session_ring;

// Trees and caches.
mod dynamo;
mod llm_d;
mod preble;
mod ray;
mod sglang;
mod tree;

// Bounds.
mod full_knowledge;
mod oracle;

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Route {
    /// The worker's number.
    pub worker: usize,
    /// Tokens of the prompt that the policy takes to be cached there.
    pub cached_tokens: u32,
    /// Why, as a word of a closed set of this policy.
    pub reason: &'static str,
}

impl Route {
    /// To this worker, which is not known to hold anything.
    #[must_use]
    pub const fn cold(worker: usize, reason: &'static str) -> Self {
        Self {
            worker,
            cached_tokens: 0,
            reason,
        }
    }

    /// To this worker, which is taken to hold so many tokens.
    #[must_use]
    pub const fn warm(worker: usize, cached_tokens: u32, reason: &'static str) -> Self {
        Self {
            worker,
            cached_tokens,
            reason,
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the loop of the simulation handles each"
)]
pub enum Verdict {
    /// It is sent now.
    Send(Route),
    /// The router keeps it and will tell.
    Hold,
    /// There is no worker for it.
    Nobody,
}

impl From<Option<Route>> for Verdict {
    fn from(route: Option<Route>) -> Self {
        route.map_or(Self::Nobody, Self::Send)
    }
}

/// What a router hears.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a policy that translates news should see a new kind"
)]
pub enum News {
    /// A worker may (not) get requests from now on.
    Worker {
        /// Its number.
        worker: usize,
        /// Whether it may.
        standing: Standing,
        /// Which life of its process it is in; another one means an empty cache.
        life: u64,
    },
    /// An answer begins.
    FirstToken {
        /// Who answers.
        worker: usize,
        /// Which request.
        request: usize,
        /// Tokens that the engine says it had cached.
        hit_tokens: u32,
    },
    /// An answer has ended.
    Finished {
        /// Who answered.
        worker: usize,
        /// Which request.
        request: usize,
    },
    /// A worker was lost with a request.
    Failed {
        /// Who failed.
        worker: usize,
        /// Which request.
        request: usize,
    },
    /// A worker says how it is.
    Reported {
        /// Which one.
        worker: usize,
        /// What it says.
        report: Status,
    },
}

/// Whether a worker may get requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "three, by design")]
pub enum Standing {
    /// It may.
    Ready,
    /// It finishes what it has.
    Draining,
    /// It is gone.
    Down,
}

/// What a worker says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// Requests that it works on and that wait there, where load is reported.
    pub load: Option<(u32, u32)>,
    /// Prompt tokens that it has yet to compute, where load is reported.
    pub pending_tokens: Option<u64>,
    /// Prompt tokens that it has computed since it began, where load is reported.
    pub computed_tokens: Option<u64>,
    /// Share of its cache that running requests take; unknown at the start.
    pub kv_use: Option<f64>,
    /// Tokens that its cache has room for.
    pub cache_tokens: u64,
}

/// Places requests.
pub trait Policy: Send {
    /// Chooses for a request that has just arrived. Whoever it says is sent is sent.
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict;

    /// Learns.
    fn hear(&mut self, _view: &View<'_>, _news: &News) {}

    /// A request that was held and goes now, if there is one; asked until there is none.
    fn release(&mut self, _view: &View<'_>) -> Option<(usize, Route)> {
        None
    }

    /// When a held request has waited for as long as it may, in milliseconds from the start.
    fn next_release_ms(&self) -> Option<f64> {
        None
    }

    /// A held request that no worker may get any more, which it forgets.
    fn stranded(&mut self, _: &View<'_>) -> Option<usize> {
        None
    }

    /// Every request that is still held, given back; its router is going away.
    fn give_back(&mut self) -> Vec<usize> {
        Vec::new()
    }

    /// Whether the workers are given one endless cache that all share.
    fn has_endless_cache(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
