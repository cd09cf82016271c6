//! What keeps a hostile template from taking all memory or time.
//!
//! The engine counts instructions. That bounds neither text that doubles in every turn of a loop nor
//! lists that hold themselves, so every value is weighed at the moment it gets a name.

use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::{Error, ErrorKind, Value, value::ValueKind};

/// How deep a value may nest that a template builds.
const MAX_DEPTH: usize = 64;
/// Items in a value, nested ones included.
const MAX_ITEMS: usize = 100_000;
/// Items weighed in one rendering: weighing must not become the work.
const MAX_WEIGHED: usize = 5_000_000;
/// Bytes of text in a value that has a name, and of what one filter or method makes.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Columns to which text may be padded or indented.
const MAX_WIDTH: usize = 10_000;

/// Refuses values that have grown beyond use; `weighed` counts through one rendering.
pub(crate) fn check(values: &[Value], weighed: &AtomicUsize) -> Result<(), Error> {
    let mut weight = Weight { items: 0, bytes: 0 };
    let outcome = values.iter().try_for_each(|value| weight.add(value, 0));
    let before = weighed.fetch_add(weight.items, Ordering::Relaxed);
    outcome?;
    if before > MAX_WEIGHED {
        return Err(too_large("the template builds too many values"));
    }
    Ok(())
}

struct Weight {
    items: usize,
    bytes: usize,
}

impl Weight {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.items += 1;
        if depth > MAX_DEPTH || self.items > MAX_ITEMS {
            return Err(too_large("a value has too many items or nests too deep"));
        }
        if let Some(string) = value.as_str() {
            self.bytes += string.len();
            return check_bytes(self.bytes);
        }
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => {
                for item in value.try_iter()? {
                    self.add(&item, depth + 1)?;
                }
            }
            // What the caller handed in is as large as the caller wants.
            ValueKind::Map if super::values::is_given(value) => {}
            ValueKind::Map => {
                for key in value.try_iter()? {
                    self.add(&value.get_item(&key)?, depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Refuses text that would get too long.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_BYTES {
        return Err(too_large("text in one value is longer than 16 MiB"));
    }
    Ok(())
}

/// Refuses padding without end.
pub(crate) fn check_width(width: usize) -> Result<(), Error> {
    if width > MAX_WIDTH {
        return Err(too_large("a width is more than 10000"));
    }
    Ok(())
}

/// Refuses a format with a width or precision of more than four digits.
pub(crate) fn check_format(format: &str) -> Result<(), Error> {
    let mut digits = 0;
    for c in format.chars() {
        digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > 4 {
            return Err(too_large("a format has a number of more than four digits"));
        }
    }
    Ok(())
}

/// The message by which the error is told from others.
pub(crate) const TOO_LARGE: &str = "over the limit: ";

fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{TOO_LARGE}{what}"))
}
