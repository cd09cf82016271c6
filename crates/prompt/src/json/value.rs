//! Canonical text of a value that another reader has read.

use serde_json::Value;

use super::error::Fault;
use super::{JsonError, JsonErrorKind as Kind, MAX_DEPTH, Style, canonical};

/// The canonical text of a value of `serde_json`.
///
/// The value is taken as it is: its numbers have been through that reader already. Unless the
/// feature `arbitrary_precision` of `serde_json` is on, `1e2` has become `100.0`, an integer of
/// more than 64 bits a rounded float, and of a key that occurred twice one is gone, so that
/// nothing here can find it. Where the text is at hand, give it to [`canonical`].
///
/// # Errors
/// A value that is too deep or too large. There is no text, so an error of depth says byte 0,
/// and other errors count in the value's compact text.
pub fn from_value(value: &Value, style: Style) -> Result<String, JsonError> {
    // Before printing, which recurses without a limit.
    check_depth(value, 0).map_err(|fault| fault.place_in(""))?;
    canonical(&value.to_string(), style)
}

fn check_depth(value: &Value, depth: usize) -> Result<(), Fault> {
    let inside = matches!(value, Value::Array(_) | Value::Object(_));
    if inside && depth >= MAX_DEPTH {
        return Err(Fault::new(Kind::TooDeep, 0));
    }
    match value {
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .try_for_each(|(index, element)| {
                check_depth(element, depth + 1).map_err(|fault| fault.inside(index))
            }),
        Value::Object(members) => members.iter().try_for_each(|(key, member)| {
            check_depth(member, depth + 1).map_err(|fault| fault.inside(key))
        }),
        _ => Ok(()),
    }
}
