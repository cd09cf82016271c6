//! JSON with the key order that it was made with, whatever features another crate turns on.

use std::borrow::Cow;

use crate::json::write_string;

/// A value on its way into a body. Objects keep the order of their members.
#[derive(Clone, Debug)]
pub(super) enum Ordered<'a> {
    /// JSON text that is taken as it stands.
    Raw(Cow<'a, str>),
    /// A string.
    Text(Cow<'a, str>),
    List(Vec<Ordered<'a>>),
    Object(Members<'a>),
}

pub(super) type Members<'a> = Vec<(Cow<'a, str>, Ordered<'a>)>;

pub(super) fn raw<'a>(json: impl Into<Cow<'a, str>>) -> Ordered<'a> {
    Ordered::Raw(json.into())
}

pub(super) fn text<'a>(text: impl Into<Cow<'a, str>>) -> Ordered<'a> {
    Ordered::Text(text.into())
}

pub(super) fn object<'a, const N: usize>(members: [(&'a str, Ordered<'a>); N]) -> Ordered<'a> {
    Ordered::Object(members.map(|(key, value)| (Cow::from(key), value)).into())
}

impl<'a> Ordered<'a> {
    /// The same with a member behind the others. Only an object has members, be it raw.
    pub(super) fn with(mut self, key: impl Into<Cow<'a, str>>, value: Self) -> Self {
        match &mut self {
            Self::Object(members) => members.push((key.into(), value)),
            Self::Raw(json) => {
                let Some(open) = json.strip_suffix('}') else {
                    return self;
                };
                let comma = if open.trim_end().ends_with('{') {
                    ""
                } else {
                    ","
                };
                let mut longer = format!("{open}{comma}");
                write_string(&key.into(), &mut longer);
                longer.push(':');
                value.write(&mut longer);
                longer.push('}');
                *json = longer.into();
            }
            Self::Text(_) | Self::List(_) => {}
        }
        self
    }

    /// The same with the member, if there is one.
    pub(super) fn with_some(self, member: Option<(Cow<'a, str>, Self)>) -> Self {
        match member {
            Some((key, value)) => self.with(key, value),
            None => self,
        }
    }

    /// Appends the compact text. Values are as deep as this crate nests them.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Raw(json) => out.push_str(json),
            Self::Text(text) => write_string(text, out),
            Self::List(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => write_members(members, out),
        }
    }
}

/// Appends an object of these members.
pub(super) fn write_members(members: &Members<'_>, out: &mut String) {
    out.push('{');
    for (index, (key, value)) in members.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        write_string(key, out);
        out.push(':');
        value.write(out);
    }
    out.push('}');
}
