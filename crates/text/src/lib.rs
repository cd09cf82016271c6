//! Canonical prompt text.

mod outcome;
mod position;
mod profile;
mod shown;
mod sighting;
mod table;

pub use outcome::{Change, CleanError, Cleaned, Step};
pub use position::{LineTable, Position, Span};
pub use profile::{PROFILE_VERSION, Profile};
pub use shown::shown;
pub use sighting::{Action, Class, Safety, Sighting};
pub use table::name;

/// Everything of the table that a text holds, with the decision of its context.
#[must_use]
pub fn inspect(_text: &str) -> Vec<Sighting> {
    Vec::new()
}

/// Brings a text into canonical form.
///
/// # Errors
/// In the strict profile, when the text holds characters that must not be in it.
pub fn clean(text: &str, _profile: Profile) -> Result<Cleaned, CleanError> {
    Ok(Cleaned {
        text: text.to_owned(),
        ..Cleaned::default()
    })
}

/// [`clean`] for a segment that follows another one: in the strict profile its leading blank
/// lines go as well. Indentation of its first line stays.
///
/// # Errors
/// As [`clean`].
pub fn clean_following(text: &str, profile: Profile) -> Result<Cleaned, CleanError> {
    clean(text, profile)
}
