//! A value of JSON or YAML with its place in the file.

use std::borrow::Cow;

use headwater_text::Span;

use super::{json_string, yaml_block, yaml_flow};
use crate::{notation::Notation, offset_map::Decoder};

/// A value and where it stands in the file.
#[derive(Clone, Debug)]
pub(crate) struct Value<'t> {
    pub(crate) span: Span,
    pub(crate) data: Data<'t>,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Data<'t> {
    /// A number, truth value or nothing.
    Other,
    Text(Text<'t>),
    List(Vec<Value<'t>>),
    /// In order of the file; keys may repeat.
    Map(Vec<(Text<'t>, Value<'t>)>),
}

/// A string of the file.
#[derive(Clone, Debug)]
pub(crate) struct Text<'t> {
    /// What it says.
    pub(crate) value: Cow<'t, str>,
    /// Where it is written, with its quotes or header.
    pub(crate) span: Span,
    pub(crate) style: Style,
}

/// How a string is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Json,
    YamlDouble,
    YamlSingle,
    YamlPlain,
    YamlLiteral,
    YamlFolded,
}

impl<'t> Value<'t> {
    /// The value of a key of a map; of keys that repeat the last, as most readers take it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let pairs = self.pairs().iter().rev();
        pairs
            .into_iter()
            .find_map(|(name, value)| (name.value == key).then_some(value))
    }

    pub(crate) fn text(&self) -> Option<&Text<'t>> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn str(&self) -> Option<&str> {
        self.text().map(|text| text.value.as_ref())
    }

    /// The string under a key.
    pub(crate) fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.str()
    }

    /// The items of a list; none of anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }

    /// The pairs of a map; none of anything else.
    pub(crate) fn pairs(&self) -> &[(Text<'t>, Self)] {
        match &self.data {
            Data::Map(pairs) => pairs,
            _ => &[],
        }
    }
}

impl Text<'_> {
    /// What it says, with a map into the file.
    pub(crate) fn decode(&self, file: &str) -> Decoder {
        let raw = &file[self.span.start..self.span.end];
        let mut decoder = Decoder::default();
        match self.style {
            Style::Json => json_string::decode(raw, self.span.start, &mut decoder),
            Style::YamlDouble | Style::YamlSingle | Style::YamlPlain => {
                yaml_flow::decode(raw, self.span.start, self.style, &mut decoder);
            }
            Style::YamlLiteral | Style::YamlFolded => {
                yaml_block::decode(raw, self.span.start, self, &mut decoder);
            }
        }
        if decoder.text == self.value {
            return decoder;
        }
        // Written in a way that is not understood: the whole string stands for the whole text.
        let mut opaque = Decoder::default();
        opaque.begin(Notation::Opaque);
        opaque.stand_for(&self.value, self.span);
        opaque
    }
}
