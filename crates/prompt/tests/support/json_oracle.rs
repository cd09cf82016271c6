//! Holds Headwater's JSON reader and writer to `serde_json`, which shares no code with them.
//!
//! `serde_json` is asked for raw texts only, so that numbers stay as they are written. Used by
//! the property tests here and by the fuzz target in `tests/fuzz`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::{self, JsonErrorKind, Node, Style, Value};

/// What a text says, whoever has read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    Word(String),
    Number(String),
    Text(String),
    List(Vec<Reading>),
    Map(BTreeMap<String, Reading>),
}

/// Panics if the two readers disagree about `text`, if its canonical text says something else,
/// or if canonical text is not its own canonical text.
pub(crate) fn check(text: &str) {
    let node = match json::parse(text) {
        Ok(node) => node,
        Err(error) => {
            assert!(text.is_char_boundary(error.byte), "{error}");
            assert!(error.pointer.is_empty() || error.pointer.starts_with('/'));
            assert!(ours_alone(error.kind) || read(text).is_none(), "{error}");
            return;
        }
    };
    let ours = of_node(&node);
    let theirs = read(text).unwrap_or_else(|| panic!("serde_json refuses `{text}`"));
    assert_eq!(ours, theirs);

    let [spaced, compact] =
        [Style::Spaced, Style::Compact].map(|style| json::canonical(text, style).unwrap());
    assert_eq!(read(&spaced).as_ref(), Some(&theirs), "{spaced}");
    for written in [&spaced, &compact] {
        assert_eq!(json::canonical(written, Style::Spaced), Ok(spaced.clone()));
        assert_eq!(
            json::canonical(written, Style::Compact),
            Ok(compact.clone())
        );
    }
}

/// What only our reader refuses.
fn ours_alone(kind: JsonErrorKind) -> bool {
    matches!(
        kind,
        JsonErrorKind::DuplicateKey | JsonErrorKind::TooDeep | JsonErrorKind::TooLarge
    )
}

/// `serde_json`'s reading.
pub(crate) fn read(text: &str) -> Option<Reading> {
    read_within(text, 2 * json::MAX_DEPTH)
}

fn read_within(text: &str, depth: usize) -> Option<Reading> {
    // Deeper than any text that our reader takes: not worth the stack.
    let depth = depth.checked_sub(1)?;
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let text = raw.get();
    Some(match text.as_bytes().first()? {
        b'{' => {
            let Members(members) = serde_json::from_str(text).ok()?;
            let members = members
                .into_iter()
                .map(|(key, value)| Some((key, read_within(value.get(), depth)?)));
            Reading::Map(members.collect::<Option<_>>()?)
        }
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let elements = elements
                .into_iter()
                .map(|element| read_within(element.get(), depth));
            Reading::List(elements.collect::<Option<_>>()?)
        }
        b'"' => Reading::Text(serde_json::from_str(text).ok()?),
        b't' | b'f' | b'n' => Reading::Word(text.to_owned()),
        _ => Reading::Number(text.to_owned()),
    })
}

/// All members of an object: a map would drop the first of two with one key before anyone has
/// looked into it.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Collect).map(Self)
    }
}

/// Our reading. A key that occurred twice would be missing here.
fn of_node(node: &Node<'_>) -> Reading {
    match &node.value {
        Value::Null => Reading::Word("null".to_owned()),
        Value::Bool(value) => Reading::Word(value.to_string()),
        Value::Number(written) => Reading::Number((*written).to_owned()),
        Value::String(text) => Reading::Text(text.clone().into_owned()),
        Value::Array(elements) => Reading::List(elements.iter().map(of_node).collect()),
        Value::Object(members) => {
            let map: BTreeMap<String, Reading> = members
                .iter()
                .map(|member| (member.key.clone().into_owned(), of_node(&member.node)))
                .collect();
            assert_eq!(map.len(), members.len(), "a key occurs twice");
            Reading::Map(map)
        }
    }
}
