//! Placement from outside: one story for each reason, what events do, and the laws.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod hold;
mod homecoming;
mod homeless;
mod laws;
mod learned;
mod life;
mod memory;
mod others;
mod popular;
mod reasons;
mod traffic;
mod world;
