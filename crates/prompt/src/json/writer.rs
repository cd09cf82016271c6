//! The canonical text of a value.

use std::fmt::Write as _;

use super::{Member, Node, Value};

/// What stands between the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// `", "` and `": "`, as Python's `json.dumps` prints, and with it most chat templates.
    #[default]
    Spaced,
    /// `","` and `":"`, as JavaScript's `JSON.stringify` prints.
    Compact,
}

impl Style {
    /// The style's name, which belongs into whatever names the text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spaced => "spaced",
            Self::Compact => "compact",
        }
    }

    pub(super) fn comma(self) -> &'static str {
        match self {
            Self::Spaced => ", ",
            Self::Compact => ",",
        }
    }

    fn colon(self) -> &'static str {
        match self {
            Self::Spaced => ": ",
            Self::Compact => ":",
        }
    }
}

/// Appends the canonical text of `node`. Recursion is as deep as the reader allowed.
pub(super) fn write(node: &Node<'_>, style: Style, out: &mut String) {
    match &node.value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(written) => out.push_str(written),
        Value::String(text) => write_string(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { style.comma() });
                write(element, style, out);
            }
            out.push(']');
        }
        Value::Object(members) => write_object(members, style, out),
    }
}

fn write_object(members: &[Member<'_>], style: Style, out: &mut String) {
    let mut sorted: Vec<&Member<'_>> = members.iter().collect();
    // UTF-8 sorts by bytes as it does by code points.
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    out.push('{');
    for (index, member) in sorted.into_iter().enumerate() {
        out.push_str(if index == 0 { "" } else { style.comma() });
        write_string(&member.key, out);
        out.push_str(style.colon());
        write(&member.node, style, out);
    }
    out.push('}');
}

/// Appends `text` as a JSON string with the fewest escapes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(needs_escape) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = from.chars();
        if let Some(character) = characters.next() {
            write_escape(character, out);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn needs_escape(character: char) -> bool {
    matches!(character, '"' | '\\' | '\0'..='\u{1F}')
}

fn write_escape(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{C}' => out.push_str("\\f"),
        other => {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(other));
        }
    }
}
