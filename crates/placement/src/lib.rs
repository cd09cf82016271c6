//! Which worker gets a request, and why. Pure: no I/O, no clock, no dice.

mod belief;
mod cost;
mod event;
mod fleet;
mod id;
mod learn;
mod prospect;
mod reason;
mod rendezvous;
mod request;
mod residency;
mod settings;
mod sought;
mod spill;
mod view;
mod watermark;
mod worker;

pub use cost::PrefillModel;
pub use event::{Event, Report, WorkerState};
pub use fleet::Fleet;
pub use id::{At, Generation, RequestId, WorkerId};
pub use reason::{Decision, NoWorker, Reason};
pub use request::{KeySource, Request};
pub use settings::{Policy, Settings, SettingsError};
pub use view::WorkerView;
