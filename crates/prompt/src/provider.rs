//! What hosted providers cache: from which length on, how many markers, for how long.
//!
//! The numbers are data, not code: `data/providers.yaml`, one fact a row, each with its source
//! and date, because providers change them without notice. Nothing in it was measured here.
//!
//! ```
//! use headwater::provider::{Provider, limits};
//!
//! let rules = limits()?.rules(Provider::Anthropic, "claude-opus-4-7");
//! assert_eq!(rules.minimum_tokens, Some(2048));
//! assert_eq!((rules.max_markers, rules.lookback_blocks), (Some(4), Some(20)));
//!
//! // What no source says is unknown, not zero.
//! assert_eq!(limits()?.rules(Provider::Gemini, "gemini-9").minimum_tokens, None);
//! # Ok::<(), headwater::provider::LimitsError>(())
//! ```

mod limits;

mod row;

mod error;

pub use error::LimitsError;
pub use limits::{Limits, Rules};
pub use row::{Date, Fact, Lifetime, Provider, Row};

/// The rows that this version of the crate was published with.
///
/// # Errors
/// None that a published version can have: a test reads the same rows.
pub fn limits() -> Result<Limits, LimitsError> {
    Limits::parse(include_str!("../data/providers.yaml"))
}
