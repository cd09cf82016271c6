//! Which worker gets a request, and why. Pure: no I/O, no clock, no dice.

mod cost;
mod event;
mod fleet;
mod id;
mod reason;
mod request;
mod settings;

pub use cost::PrefillModel;
pub use event::{Event, Report, WorkerState};
pub use fleet::{Fleet, WorkerView};
pub use id::{At, Generation, RequestId, WorkerId};
pub use reason::{Decision, NoWorker, Reason};
pub use request::{KeySource, Request};
pub use settings::{Policy, Settings, SettingsError};
