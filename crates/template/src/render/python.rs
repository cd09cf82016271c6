//! Values as Python prints them.

use std::fmt::Write;

use minijinja::{Value, value::ValueKind};

/// Deeper than any value can be that came through a binding or from JSON.
const MAX_DEPTH: usize = 300;

/// `str(value)`.
pub(crate) fn str(value: &Value) -> String {
    let mut text = String::new();
    match value.as_str() {
        Some(string) => text.push_str(string),
        None if value.is_undefined() => {}
        None => write_repr(value, &mut text, 0),
    }
    text
}

fn write_repr(value: &Value, text: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return text.push('…');
    }
    match value.kind() {
        ValueKind::String => quote(value.as_str().unwrap_or_default(), text),
        ValueKind::Number => text.push_str(&number(value)),
        ValueKind::Seq | ValueKind::Iterable => {
            text.push('[');
            for (index, item) in value.try_iter().into_iter().flatten().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write_repr(&item, text, depth + 1);
            }
            text.push(']');
        }
        ValueKind::Map => {
            text.push('{');
            for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write_repr(&key, text, depth + 1);
                text.push_str(": ");
                write_repr(&value.get_item(&key).unwrap_or_default(), text, depth + 1);
            }
            text.push('}');
        }
        ValueKind::Undefined => text.push_str("Undefined"),
        // True, False, None; the rest has no Python form.
        _ => write!(text, "{value}").unwrap_or_default(),
    }
}

/// An integer in full, a float as Python's shortest form.
pub(crate) fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    f64::try_from(value.clone()).map_or_else(|_| value.to_string(), float)
}

/// `repr` of a float: the shortest digits that read back, with an exponent beyond 1e16 and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if number == 0.0 || (-4..16).contains(&exponent) {
        let plain = number.to_string();
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A string in quotes, as `repr` chooses and escapes them.
fn quote(string: &str, text: &mut String) {
    let mark = if string.contains('\'') && !string.contains('"') {
        '"'
    } else {
        '\''
    };
    text.push(mark);
    for c in string.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\\' => text.push_str("\\\\"),
            _ if c == mark => {
                text.push('\\');
                text.push(c);
            }
            _ if is_unprintable(c) => escape(c, text),
            _ => text.push(c),
        }
    }
    text.push(mark);
}

fn is_unprintable(c: char) -> bool {
    let is_format = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c != ' ' && (c.is_control() || c.is_whitespace() || is_format)
}

fn escape(c: char, text: &mut String) {
    let code = u32::from(c);
    let written = match code {
        ..0x100 => write!(text, "\\x{code:02x}"),
        0x100..0x1_0000 => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
    written.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_as_in_python() {
        let check = |number: f64, expected: &str| assert_eq!(float(number), expected);
        check(1.0, "1.0");
        check(-0.0, "-0.0");
        check(0.1, "0.1");
        check(1e15, "1000000000000000.0");
        check(1e16, "1e+16");
        check(1.5e-7, "1.5e-07");
        check(0.0001, "0.0001");
        check(1e300, "1e+300");
    }

    #[test]
    fn strings_choose_their_quotes() {
        let check = |string: &str, expected: &str| {
            assert_eq!(str(&Value::from(vec![string.to_owned()])), expected);
        };
        check("a", "['a']");
        check("it's", "[\"it's\"]");
        check("'\"", "['\\'\"']");
        check("a\n\u{1}", "['a\\n\\x01']");
    }
}
