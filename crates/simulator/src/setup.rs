//! Workloads that are made, not recorded: two published set-ups, and two shapes of shared prefixes.

use crate::dice::{Dice, Zipf};
use crate::profile::Profile;
use crate::trace::{Arrival, Call, Node, Trace};

mod chat;
mod shared;

pub use chat::{Fleet100, Users1000};

/// A workload with the fleet that it was described for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// What users do.
    pub trace: Trace,
    /// How many workers there are.
    pub workers: usize,
    /// What a worker takes for its work.
    pub profile: Profile,
}

/// Tenants with a long prefix of their own each, one turn with a long tail: retrieval.
///
/// 200 tenants by Zipf's law (0.9), a prefix of 16 to 64 blocks of 64 tokens, a tail of 64 to 190
/// blocks, an answer of 50 to 400 tokens, over 30 minutes.
#[must_use]
pub fn rag_like(requests: usize, seed: u64) -> Trace {
    shared::rag_like(requests, seed)
}

/// Groups that share a prefix of 2,048 tokens, each request with a question of 128 tokens behind
/// it and an answer of 256: the shape of SGLang's generated-shared-prefix benchmark, 64 groups,
/// over 20 minutes.
#[must_use]
pub fn shared_prefix_groups(requests: usize, seed: u64) -> Trace {
    shared::groups(requests, seed)
}

/// Gives out nodes that nobody has had.
#[derive(Default)]
struct Fresh(u32);

impl Fresh {
    fn take(&mut self, count: u32) -> impl Iterator<Item = Node> + use<> {
        let first = self.0;
        self.0 = self.0.saturating_add(count);
        (first..self.0).map(Node)
    }
}
