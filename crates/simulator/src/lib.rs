//! x

pub mod cache;
mod dice;
pub mod engine;
pub mod profile;
pub mod read;
mod sessions;
pub mod trace;
