//! The filter `tojson`, byte for byte as Python's `json.dumps` prints.

use std::fmt::Write;

use minijinja::{
    Error, ErrorKind, Value,
    value::{Kwargs, Rest, ValueKind},
};

use super::python;

/// Deeper than this is no JSON that anybody reads.
const MAX_DEPTH: usize = 200;
/// A wider indentation is an attack on memory.
const MAX_INDENT: usize = 64;

/// `value | tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`
pub(crate) fn tojson(
    value: &Value,
    positional: Rest<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    let style = Style::read(&positional, &named)?;
    named.assert_all_used()?;
    let mut text = String::new();
    style.write(value, &mut text, 0)?;
    Ok(Value::from_safe_string(text))
}

struct Style {
    ascii: Ascii,
    indent: Option<String>,
    between_items: String,
    behind_key: String,
    keys: Keys,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ascii {
    Only,
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Given,
    Sorted,
}

impl Style {
    fn read(positional: &[Value], named: &Kwargs) -> Result<Self, Error> {
        let option = |index: usize, name: &str| -> Result<Value, Error> {
            match positional.get(index) {
                Some(value) => Ok(value.clone()),
                None => Ok(named.get::<Option<Value>>(name)?.unwrap_or_default()),
            }
        };
        let ascii = if option(0, "ensure_ascii")?.is_true() {
            Ascii::Only
        } else {
            Ascii::Any
        };
        let indent = indent(&option(1, "indent")?)?;
        let separators = option(2, "separators")?;
        let keys = if option(3, "sort_keys")?.is_true() {
            Keys::Sorted
        } else {
            Keys::Given
        };
        // With an indentation Python leaves the space behind the comma away.
        let comma = if indent.is_some() { "," } else { ", " };
        let (between_items, behind_key) = if separators.is_none() || separators.is_undefined() {
            (comma.to_owned(), ": ".to_owned())
        } else {
            let part = |index| {
                separators
                    .get_item_by_index(index)
                    .map(|part| part.to_string())
            };
            (part(0)?, part(1)?)
        };
        Ok(Self {
            ascii,
            indent,
            between_items,
            behind_key,
            keys,
        })
    }

    fn write(&self, value: &Value, text: &mut String, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(invalid(format!(
                "tojson: the value nests deeper than {MAX_DEPTH}"
            )));
        }
        match value.kind() {
            ValueKind::None => text.push_str("null"),
            ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => text.push_str(&number(value)),
            ValueKind::String => self.quote(value.as_str().unwrap_or_default(), text),
            ValueKind::Seq | ValueKind::Iterable => self.list(value, text, depth)?,
            ValueKind::Map => self.map(value, text, depth)?,
            kind => {
                return Err(invalid(format!(
                    "tojson: a value of kind {kind} is not JSON"
                )));
            }
        }
        Ok(())
    }

    fn list(&self, value: &Value, text: &mut String, depth: usize) -> Result<(), Error> {
        text.push('[');
        let mut is_empty = true;
        for item in value.try_iter()? {
            self.next(text, is_empty, depth + 1);
            is_empty = false;
            self.write(&item, text, depth + 1)?;
        }
        self.close(text, is_empty, depth);
        text.push(']');
        Ok(())
    }

    fn map(&self, value: &Value, text: &mut String, depth: usize) -> Result<(), Error> {
        let mut entries = Vec::new();
        for key in value.try_iter()? {
            entries.push((key_text(&key)?, value.get_item(&key)?));
        }
        if self.keys == Keys::Sorted {
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        text.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            self.next(text, index == 0, depth + 1);
            self.quote(key, text);
            text.push_str(&self.behind_key);
            self.write(value, text, depth + 1)?;
        }
        self.close(text, entries.is_empty(), depth);
        text.push('}');
        Ok(())
    }

    fn next(&self, text: &mut String, is_first: bool, depth: usize) {
        if !is_first {
            text.push_str(&self.between_items);
        }
        self.new_line(text, depth);
    }

    fn close(&self, text: &mut String, is_empty: bool, depth: usize) {
        if !is_empty {
            self.new_line(text, depth);
        }
    }

    fn new_line(&self, text: &mut String, depth: usize) {
        if let Some(indent) = &self.indent {
            text.push('\n');
            text.extend(std::iter::repeat_n(indent.as_str(), depth));
        }
    }

    fn quote(&self, string: &str, text: &mut String) {
        text.push('"');
        for c in string.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                _ if u32::from(c) < 0x20 || self.ascii == Ascii::Only && u32::from(c) > 0x7e => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(text, "\\u{unit:04x}").unwrap_or_default();
                    }
                }
                _ => text.push(c),
            }
        }
        text.push('"');
    }
}

fn indent(value: &Value) -> Result<Option<String>, Error> {
    if value.is_none() || value.is_undefined() {
        return Ok(None);
    }
    if let Some(string) = value.as_str() {
        return Ok(Some(string.chars().take(MAX_INDENT).collect()));
    }
    // Python takes True for 1, and a negative number for 0.
    let width = match value.as_i64() {
        Some(width) => usize::try_from(width).unwrap_or_default(),
        None => usize::from(value.is_true()),
    };
    if width > MAX_INDENT {
        return Err(invalid(format!(
            "tojson: an indentation of more than {MAX_INDENT}"
        )));
    }
    Ok(Some(" ".repeat(width)))
}

fn number(value: &Value) -> String {
    match python::number(value).as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        number => number.to_owned(),
    }
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::Number => Ok(number(key)),
        ValueKind::None => Ok("null".to_owned()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_owned()),
        kind => Err(invalid(format!("tojson: a key of kind {kind} is not JSON"))),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
