//! x

pub mod cache;
mod dice;
pub mod engine;
pub mod profile;
pub mod trace;
