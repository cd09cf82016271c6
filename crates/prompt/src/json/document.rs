//! What a JSON text says, with the place of everything in it.

use std::borrow::Cow;

use headwater_text::Span;

use super::{JsonError, reader};

/// A value and where it stands.
///
/// Not `non_exhaustive`, like all of this tree: JSON has had these six kinds of value since it
/// has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its bytes in the text, without white space around it.
    pub span: Span,
    /// What it is.
    pub value: Value<'a>,
}

/// The six kinds of value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(&'a str),
    /// A string, its escapes resolved.
    String(Cow<'a, str>),
    /// A list, in the order of the text.
    Array(Vec<Node<'a>>),
    /// An object, in the order of the text. No key occurs twice.
    Object(Vec<Member<'a>>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key, its escapes resolved.
    pub key: Cow<'a, str>,
    /// The key's bytes in the text, with its quotes.
    pub key_span: Span,
    /// What the key names.
    pub node: Node<'a>,
}

/// Reads a JSON text. Borrows whatever needs no change.
///
/// # Errors
/// Text that is not JSON, or that two readers could understand differently, see
/// [`JsonErrorKind`](super::JsonErrorKind).
pub fn parse(text: &str) -> Result<Node<'_>, JsonError> {
    reader::read(text).map_err(|fault| fault.place_in(text))
}

impl<'a> Node<'a> {
    /// The value of `key`, if this is an object that has it.
    pub fn member(&self, key: &str) -> Option<&Self> {
        let Value::Object(members) = &self.value else {
            return None;
        };
        let member = members.iter().find(|member| member.key == key)?;
        Some(&member.node)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        let Value::String(text) = &self.value else {
            return None;
        };
        Some(text)
    }

    /// The elements of a list.
    pub fn as_array(&self) -> Option<&[Node<'a>]> {
        let Value::Array(elements) = &self.value else {
            return None;
        };
        Some(elements)
    }
}
