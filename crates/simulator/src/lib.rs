//! x

pub mod cache;
mod dice;
pub mod engine;
pub mod profile;
pub mod read;
pub mod rungs;
pub mod scale;
mod sessions;
pub mod setup;
pub mod trace;
