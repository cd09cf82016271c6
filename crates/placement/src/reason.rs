//! Why a decision fell as it did, as closed sets: the caller counts and logs them.

use std::error::Error;
use std::fmt;

use crate::id::{RequestId, WorkerId};

/// Where a request goes.
///
/// Who is next if this worker fails, the caller finds by placing the request again with the
/// worker among [`Request::excluded`](crate::Request::excluded); for people,
/// [`Fleet::candidates`](crate::Fleet::candidates) lists them all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The worker that gets it.
    pub worker: WorkerId,
    /// Why this one.
    pub reason: Reason,
    /// Tokens of the prompt that the worker is believed to hold; 0 if the prompt has no names.
    pub matched_tokens: u32,
    /// Milliseconds until the first byte, as far as the model knows.
    pub expected_ms: f64,
    /// Whether the worker can take it now.
    pub handover: Handover,
}

/// When a worker gets the request that was placed on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handover {
    /// At once: tell [`Event::Dispatched`](crate::Event::Dispatched) and send it.
    Now,
    /// When [`Fleet::release`](crate::Fleet::release) names it: tell
    /// [`Event::Held`](crate::Event::Held) and wait.
    Wait,
}

impl Handover {
    /// The name in output and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Wait => "wait",
        }
    }
}

/// A held request whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Release {
    /// Which one.
    pub request: RequestId,
    /// Where it goes now, not always where it was placed first.
    pub decision: Decision,
}

/// Why a worker was chosen.
///
/// Closed on purpose, as [`NoWorker`] is: each is a label of a metric, and a new one should be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is believed to hold a prefix of the prompt.
    Resident,
    /// The client says that it answered the conversation's last turn.
    Echo,
    /// Nothing names the prompt's prefixes, but the key's last request went there.
    Session,
    /// It is the home of the key, and nobody is believed to hold anything or it has come back and
    /// draws what went elsewhere meanwhile.
    Home,
    /// Nobody is believed to hold anything, and it costs least.
    Cold,
    /// The worker that holds most of the prompt was over its queue limit.
    SpillQueue,
    /// The worker that holds most of the prompt was over its watermark and does not hold enough.
    SpillHot,
    /// The worker that holds most of the prompt was within its limits, but waiting there would
    /// have taken longer than computing the rest here.
    SpillCost,
    /// The request failed elsewhere before.
    Retry,
    /// It waited for another worker, and this one became free.
    Rebound,
    /// The request has nothing to be found by, or the policy looks at load alone.
    LeastLoaded,
    /// It was its turn.
    RoundRobin,
}

impl Reason {
    /// Every reason, in the order of declaration.
    pub const ALL: [Self; 12] = [
        Self::Resident,
        Self::Echo,
        Self::Session,
        Self::Home,
        Self::Cold,
        Self::SpillQueue,
        Self::SpillHot,
        Self::SpillCost,
        Self::Retry,
        Self::Rebound,
        Self::LeastLoaded,
        Self::RoundRobin,
    ];

    /// The name in headers, output and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::Echo => "echo",
            Self::Session => "session",
            Self::Home => "home",
            Self::Cold => "cold",
            Self::SpillQueue => "spill_queue",
            Self::SpillHot => "spill_hot",
            Self::SpillCost => "spill_cost",
            Self::Retry => "retry",
            Self::Rebound => "rebound",
            Self::LeastLoaded => "least_loaded",
            Self::RoundRobin => "round_robin",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why no worker can get a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoWorker {
    /// The fleet is empty.
    Empty,
    /// Every worker is draining or down.
    NoneReady,
    /// The request has been tried on every worker that may get requests.
    AllTried,
    /// Every worker that is left is at its hard cap.
    Full,
}

impl NoWorker {
    /// Every member, in the order of declaration.
    pub const ALL: [Self; 4] = [Self::Empty, Self::NoneReady, Self::AllTried, Self::Full];

    /// The name in output and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NoneReady => "none_ready",
            Self::AllTried => "all_tried",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for NoWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "there are no workers: add one to the configuration",
            Self::NoneReady => {
                "every worker is draining or down: see the state of each on the admin port"
            }
            Self::AllTried => "every worker that may get requests has failed this one",
            Self::Full => "every worker is at its hard cap: try again later or raise `hard_cap`",
        })
    }
}

impl Error for NoWorker {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Reason::ALL.iter().map(|r| r.as_str()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
        let names: BTreeSet<_> = NoWorker::ALL.iter().map(|n| n.as_str()).collect();
        assert_eq!(names.len(), NoWorker::ALL.len());
    }
}
