//! A JSON literal whose objects are put into the order of their keys, with its layout kept.

use headwater_template::Template;
use headwater_text::Span;

use super::{Change, Plan};

/// A deeper literal is left alone.
const MAX_DEPTH: usize = 64;

/// Sorts every object of the literal at the span.
pub(super) fn sort(template: &Template, span: Span) -> Option<Plan> {
    let text = template.source().text().get(span.start..span.end)?;
    // Two members of one name make another value in another order.
    serde_json::from_str::<serde_json::Value>(text).ok()?;
    let mut reader = Reader { text, at: 0 };
    let sorted = reader.value(0)?;
    (sorted != text && reader.at == text.len())
        .then(|| ("sort the keys", vec![Change::new(span, sorted)]))
}

/// Reads JSON that is known to be right.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    /// A value with the white space around it.
    fn value(&mut self, depth: usize) -> Option<String> {
        let before = self.space();
        let value = match self.text[self.at..].chars().next()? {
            _ if depth > MAX_DEPTH => return None,
            '{' => self.members(depth)?,
            '[' => self.items(depth)?,
            '"' => self.string()?.to_owned(),
            _ => self.word().to_owned(),
        };
        Some(format!("{before}{value}{}", self.space()))
    }

    /// Members move; what stands before each place stays at the place.
    fn members(&mut self, depth: usize) -> Option<String> {
        let mut members: Vec<(String, String)> = Vec::new();
        let mut spaces = Vec::new();
        self.at += 1;
        loop {
            spaces.push(self.space());
            if !self.text[self.at..].starts_with('"') {
                break;
            }
            let key = self.string()?.to_owned();
            let between = self.space();
            self.at += 1;
            let value = self.value(depth + 1)?;
            let end = value.trim_end().len();
            let name: String = serde_json::from_str(&key).ok()?;
            if members.iter().any(|(other, _)| *other == name) {
                return None;
            }
            members.push((name, format!("{key}{between}:{}", &value[..end])));
            spaces.push(value[end..].to_owned());
            match self.next()? {
                ',' => {}
                _ => return Some(join(members, &spaces)),
            }
        }
        (self.next()? == '}').then(|| join(members, &spaces))
    }

    fn items(&mut self, depth: usize) -> Option<String> {
        let start = self.at;
        self.at += 1;
        if self.text[self.at..].trim_start().starts_with(']') {
            self.space();
            self.at += 1;
            return Some(self.text[start..self.at].to_owned());
        }
        let mut out = String::from("[");
        loop {
            out.push_str(&self.value(depth + 1)?);
            let c = self.next()?;
            out.push(c);
            if c == ']' {
                return Some(out);
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn string(&mut self) -> Option<&str> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while *bytes.get(self.at)? != b'"' {
            self.at += 1 + usize::from(bytes[self.at] == b'\\');
        }
        self.at += 1;
        self.text.get(start..self.at)
    }

    fn word(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let length = rest
            .find([',', '}', ']', ' ', '\t', '\r', '\n'])
            .unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn space(&mut self) -> String {
        let rest = &self.text[self.at..];
        let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        self.at += length;
        rest[..length].to_owned()
    }
}

/// `spaces` holds what stands before and behind each member, or one white space if there is none.
fn join(mut members: Vec<(String, String)>, spaces: &[String]) -> String {
    members.sort();
    let mut out = String::from("{");
    for (index, (_, member)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&spaces[2 * index]);
        out.push_str(member);
        out.push_str(&spaces[2 * index + 1]);
    }
    if members.is_empty() {
        out.push_str(&spaces[0]);
    }
    out.push('}');
    out
}
