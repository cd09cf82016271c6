//! A JSON literal whose objects are put into the order of their keys, with its layout kept.

use headwater_template::Template;

use super::{Change, Plan};
use crate::json_order;

/// A deeper literal is left alone.
const MAX_DEPTH: usize = 64;

/// Sorts every object of static text: one that is reported differs from another one.
pub(super) fn sort(template: &Template) -> Option<Plan> {
    let literals = json_order::outermost(template).into_iter();
    let changes: Vec<Change> = literals
        .filter_map(|span| {
            let sorted = sorted(template.source().slice(span))?;
            Some(Change::new(span, sorted))
        })
        .collect();
    (!changes.is_empty()).then_some(("sort the keys", changes))
}

/// None if nothing changes, or if the text is no JSON.
fn sorted(text: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Value>(text).ok()?;
    let mut reader = Reader { text, at: 0 };
    let sorted = reader.value(0)?;
    (sorted != text && reader.at == text.len()).then_some(sorted)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_move_and_the_layout_stays() {
        let check = |before: &str, after: Option<&str>| {
            assert_eq!(sorted(before).as_deref(), after, "{before}");
        };
        check(
            r#"{"b": 1, "a": [2, {"d": "x,}", "c": {}}]}"#,
            Some(r#"{"a": [2, {"c": {}, "d": "x,}"}], "b": 1}"#),
        );
        check(
            "{\n  \"b\" : 1,\n  \"a\": 2\n}",
            Some("{\n  \"a\": 2,\n  \"b\" : 1\n}"),
        );
        check(
            r#"{"b\"": 1, "\u0061": [ ]}"#,
            Some(r#"{"\u0061": [ ], "b\"": 1}"#),
        );
        check(r#"{"a": 1, "b": 2}"#, None);
        // Which of two equal names counts is the reader's choice.
        check(r#"{"b": 1, "a": 2, "b": 3}"#, None);
        check(r#"{"b": 1, "a": }"#, None);
    }
}
