//! Placement and published routing policies in virtual time over a trace.
//!
//! ```text
//! file, set-up ─► Trace ─scale─► Trace ─┐
//!            profile, scenario ─────────┼─ simulate ─► Outcome ─► table, JSON, CSV, page
//!   Policy: headwater-placement | peers ┘
//! ```
//!
//! A [`Trace`](trace::Trace) says who asks when and which prefixes prompts share. [`run::simulate`]
//! lets a [`Policy`](policy::Policy) place its requests on [`Engine`](engine::Engine)s, whose every
//! constant is in a [`Profile`](profile::Profile), and writes down what came of it.
//! [`sweep::Sweep`] does that for many combinations at a time.
//!
//! ```
//! use headwater_simulator::policy::PolicyName;
//! use headwater_simulator::profile::Profile;
//! use headwater_simulator::run::{Conditions, simulate};
//! use headwater_simulator::setup;
//!
//! let trace = setup::shared_prefix_groups(500, 1);
//! let large = Profile::built_in("large").ok_or("a built-in profile")?;
//! let run = |policy| simulate(&trace, &large, policy, &Conditions::of(4), &|_| ());
//! let (ours, turns) = (run(PolicyName::Headwater)?, run(PolicyName::RoundRobin)?);
//! assert_eq!(ours.finished, 500);
//! assert!(ours.hit_rate() > turns.hit_rate());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it will never do
//! No clock, no network and no dice that are not seeded: the same arguments give the same bytes.
//! No copy of our own policy: `headwater` and `ring` are `headwater-placement` itself. It does not
//! predict milliseconds; it compares policies under one set of assumptions, all of them listed.

// What comes in,
pub mod trace;

pub mod read;

mod sessions;

pub mod setup;

pub mod scale;

pub mod profile;

pub mod scenario;

// what happens,
pub mod run;

pub mod engine;

pub mod cache;

// who decides,
pub mod policy;

pub mod view;

pub mod rungs;

// and what came of it.
pub mod outcome;

pub mod sweep;

pub mod summary;

pub mod report;

mod dice;
