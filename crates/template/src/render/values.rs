//! The values that a template is rendered with.

use std::{fmt, sync::Arc};

use minijinja::{
    Error, State, Value,
    value::{Enumerator, Object, ValueKind},
};

use super::methods;

/// Values by name, in the order in which they were given: that order is what `tojson` prints.
#[derive(Clone, Debug, Default)]
pub struct Values(pub(crate) Vec<(String, Value)>);

impl Values {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The members of a JSON object. Integers beyond 64 bits may be read as floats.
    ///
    /// # Errors
    /// The text is not JSON, or not an object; the error names line and column.
    pub fn from_json(json: &str) -> Result<Self, ValuesError> {
        let value: Value = serde_json::from_str(json).map_err(|error| ValuesError {
            message: format!("the values are not JSON: {error}"),
        })?;
        if value.kind() != ValueKind::Map {
            return Err(ValuesError {
                message: format!(
                    "expected a JSON object of values by name, found {}",
                    value.kind()
                ),
            });
        }
        let mut values = Self::new();
        for key in value.try_iter().into_iter().flatten() {
            let item = value.get_item(&key).unwrap_or_default();
            values.0.push((key.to_string(), given(&item)));
        }
        Ok(values)
    }

    /// The same with one more value, which may be anything that serde can write; a value of the
    /// same name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl serde::Serialize) -> Self {
        self.0.retain(|(known, _)| known != name);
        self.0
            .push((name.to_owned(), given(&Value::from_serialize(&value))));
        self
    }

    /// As one object for the engine.
    pub(crate) fn root(&self) -> Value {
        Value::from_iter(self.0.iter().cloned())
    }
}

/// Why values cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesError {
    message: String,
}

impl fmt::Display for ValuesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValuesError {}

/// A value with its maps made [`Given`].
fn given(value: &Value) -> Value {
    match value.kind() {
        ValueKind::Seq => value
            .try_iter()
            .into_iter()
            .flatten()
            .map(|item| given(&item))
            .collect(),
        ValueKind::Map if written_number(value).is_some() => {
            written_number(value).unwrap_or_default()
        }
        ValueKind::Map => {
            let keys = value.try_iter().into_iter().flatten();
            let entries = keys.map(|key| {
                let item = value.get_item(&key).unwrap_or_default();
                (key, given(&item))
            });
            Value::from_object(Given(Value::from_iter(entries)))
        }
        _ => value.clone(),
    }
}

/// A number as `serde_json` hands it on where another crate of the build has asked it to keep
/// numbers as text: a map of one member with this name.
fn written_number(value: &Value) -> Option<Value> {
    if value.len() != Some(1) {
        return None;
    }
    let found = value.get_attr("$serde_json::private::Number").ok()?;
    let digits = found.as_str()?;
    let integer = digits.parse::<i128>().map(Value::from);
    integer
        .or_else(|_| digits.parse::<f64>().map(Value::from))
        .ok()
}

/// Whether a value is a map that the caller handed in.
pub(crate) fn is_given(value: &Value) -> bool {
    value.downcast_object_ref::<Given>().is_some()
}

/// A map that the caller handed in.
///
/// In the engine's own map a member named `items`, which every JSON schema of a list has, hides the
/// method of that name. Here, as in Python, a call means the method.
#[derive(Debug)]
struct Given(Value);

impl Object for Given {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let found = self.0.get_item(key).ok()?;
        (!found.is_undefined()).then_some(found)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.try_iter().into_iter().flatten().collect())
    }

    fn call_method(
        self: &Arc<Self>,
        _: &State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        methods::of_map(&self.0, method, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_kept_as_text_are_numbers() {
        let check = |digits: &str, expected: &str| {
            let member = [("$serde_json::private::Number", digits)];
            let map = std::collections::BTreeMap::from(member);
            let values = Values::new().with("n", map);
            assert_eq!(values.0[0].1.to_string(), expected);
        };
        check("7", "7");
        check(
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        );
        check("1.50", "1.5");
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        let check = |json, expected| {
            assert_eq!(Values::from_json(json).unwrap_err().to_string(), expected);
        };
        check(
            "[1]",
            "expected a JSON object of values by name, found sequence",
        );
        check(
            "{\n\"a\": }",
            "the values are not JSON: expected value at line 2 column 6",
        );
    }
}
