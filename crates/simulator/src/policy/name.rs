//! The policies' names, as on the command line.

use std::fmt;
use std::str::FromStr;

use headwater_placement::{Order, Policy as Placement, Settings, SettingsError};

use super::Policy;
use super::chwbl::Chwbl;
use super::dynamo::Dynamo;
use super::full_knowledge::FullKnowledge;
use super::hashed::Hashed;
use super::llm_d::LlmD;
use super::load::{LeastRequests, PowerOfTwo, Random};
use super::oracle::Oracle;
use super::ours::{Headwater, HeadwaterOptions};
use super::preble::Preble;
use super::ray::Ray;
use super::round_robin::RoundRobin;
use super::session_ring::SessionRing;
use super::sglang::Sglang;
use crate::dice::{Dice, mix_two};
use crate::trace::Trace;

/// A policy that can be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a closed choice of the command line"
)]
pub enum PolicyName {
    /// Ours: least cost, with hold-and-order.
    Headwater,
    /// Ours without hold-and-order: every request is sent at once.
    HeadwaterNoHold,
    /// Ours: a ring over keys.
    Ring,
    /// One after the other.
    RoundRobin,
    /// Any.
    Random,
    /// Fewest requests in flight.
    LeastRequests,
    /// The better of two drawn ones.
    PowerOfTwo,
    /// Consistent hashing by session.
    SessionHash,
    /// Consistent hashing by system prompt.
    SystemHash,
    /// Consistent hashing by session, spill at 16.
    SessionRing16,
    /// Consistent hashing with bounded loads, as KubeAI.
    Chwbl,
    /// SGLang's cache_aware.
    Sglang,
    /// Ray's PrefixCacheAffinityRouter.
    Ray,
    /// Dynamo's KV router as published.
    Dynamo,
    /// Dynamo's KV router with its best weight.
    DynamoTuned,
    /// llm-d's scorers.
    LlmD,
    /// Preble's E2.
    Preble,
    /// vLLM router's consistent_hash.
    VllmConsistentHash,
    /// One endless cache for all: a bound.
    Oracle,
    /// The cost formula with perfect knowledge of every block: a bound.
    FullKnowledge,
}

/// What a policy is compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "three kinds, by design")]
pub enum Kind {
    /// Ours.
    Ours,
    /// Somebody else's.
    Peer,
    /// Not a router that could be built.
    Bound,
}

impl PolicyName {
    /// Every policy, in the order of tables.
    pub const ALL: [Self; 20] = [
        Self::Headwater,
        Self::HeadwaterNoHold,
        Self::Ring,
        Self::RoundRobin,
        Self::Random,
        Self::LeastRequests,
        Self::PowerOfTwo,
        Self::SessionHash,
        Self::SystemHash,
        Self::SessionRing16,
        Self::Chwbl,
        Self::Sglang,
        Self::Ray,
        Self::Dynamo,
        Self::DynamoTuned,
        Self::LlmD,
        Self::Preble,
        Self::VllmConsistentHash,
        Self::Oracle,
        Self::FullKnowledge,
    ];

    /// The name on the command line and in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Headwater => "headwater",
            Self::HeadwaterNoHold => "headwater-no-hold",
            Self::Ring => "ring",
            Self::RoundRobin => "round-robin",
            Self::Random => "random",
            Self::LeastRequests => "least-requests",
            Self::PowerOfTwo => "power-of-two",
            Self::SessionHash => "session-hash",
            Self::SystemHash => "system-hash",
            Self::SessionRing16 => "session-ring-16",
            Self::Chwbl => "chwbl",
            Self::Sglang => "sglang",
            Self::Ray => "ray",
            Self::Dynamo => "dynamo",
            Self::DynamoTuned => "dynamo-tuned",
            Self::LlmD => "llm-d",
            Self::Preble => "preble",
            Self::VllmConsistentHash => "vllm-consistent-hash",
            Self::Oracle => "oracle",
            Self::FullKnowledge => "full-knowledge",
        }
    }

    /// What it is compared as.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Headwater | Self::HeadwaterNoHold | Self::Ring => Kind::Ours,
            Self::Oracle | Self::FullKnowledge => Kind::Bound,
            _ => Kind::Peer,
        }
    }

    /// A router with an empty memory.
    ///
    /// # Errors
    /// It is ours, and placement refuses the settings.
    pub fn build(self, setting: &Setting<'_>) -> Result<Box<dyn Policy>, SettingsError> {
        let dice = Dice::new(mix_two(setting.seed, setting.router as u64));
        let (nodes, workers) = (setting.trace.node_count(), setting.workers);
        let ours = |policy, order| {
            let (settings, options) = setting.ours;
            let settings = Settings {
                policy,
                order,
                ..settings.clone()
            };
            Headwater::new(settings, options)
        };
        let (settings, _) = setting.ours;
        Ok(match self {
            Self::Headwater => Box::new(ours(settings.policy, settings.order)?),
            Self::HeadwaterNoHold => Box::new(ours(settings.policy, Order::Off)?),
            Self::Ring => Box::new(ours(Placement::Ring, settings.order)?),
            Self::RoundRobin => Box::new(RoundRobin::default()),
            Self::Random => Box::new(Random(dice)),
            Self::LeastRequests => Box::new(LeastRequests(dice)),
            Self::PowerOfTwo => Box::new(PowerOfTwo(dice)),
            Self::SessionHash => Box::new(Hashed::by_session()),
            Self::SystemHash => Box::new(Hashed::by_system_prompt()),
            Self::SessionRing16 => Box::new(SessionRing::new(dice)),
            Self::Chwbl => Box::new(Chwbl::default()),
            Self::Sglang => Box::new(Sglang::new(nodes, workers, dice)),
            Self::Ray => Box::new(Ray::new(nodes, workers, dice)),
            Self::Dynamo => Box::new(Dynamo::published()),
            Self::DynamoTuned => Box::new(Dynamo::tuned()),
            Self::LlmD => Box::new(LlmD::default()),
            Self::Preble => Box::new(Preble::default()),
            Self::VllmConsistentHash => Box::new(Hashed::of_vllm()),
            Self::Oracle => Box::new(Oracle::new(setting.trace.ideal_hits())),
            Self::FullKnowledge => Box::new(FullKnowledge::default()),
        })
    }
}

/// What a policy is built for.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers name all of it")]
pub struct Setting<'s> {
    /// What will come; used for the sizes of tables, and by the oracle.
    pub trace: &'s Trace,
    /// Workers that there may be at most.
    pub workers: usize,
    /// The number of the router.
    pub router: usize,
    /// What its draws come from.
    pub seed: u64,
    /// Settings of ours.
    pub ours: (&'s Settings, HeadwaterOptions),
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// No policy has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownPolicy {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = PolicyName::ALL.iter().map(|name| name.as_str()).collect();
        write!(
            f,
            "no policy is called `{}`; there are: {}",
            self.name,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for PolicyName {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
        found.ok_or_else(|| UnknownPolicy {
            name: text.to_owned(),
        })
    }
}
