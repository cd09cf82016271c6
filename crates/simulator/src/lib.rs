//! x

pub mod cache;
mod dice;
pub mod engine;
pub mod outcome;
pub mod policy;
pub mod profile;
pub mod read;
pub mod report;
pub mod run;
pub mod rungs;
pub mod scale;
pub mod scenario;
mod sessions;
pub mod setup;
pub mod summary;
pub mod sweep;
pub mod trace;
pub mod view;
