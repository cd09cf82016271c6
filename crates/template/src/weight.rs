//! How much of a static text is worth caching.

use std::borrow::Cow;

use crate::role::RoleMark;

/// Static bytes, and those of them that say something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    /// All of them, without marks of roles and surrounding white space.
    pub(crate) bytes: usize,
    /// Without markup and labels.
    pub(crate) prose: usize,
}

impl Weight {
    /// Both in a row.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            prose: self.prose + other.prose,
        }
    }

    /// The longer way of two.
    pub(crate) fn longer(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            prose: self.prose.max(other.prose),
        }
    }
}

/// A heading or a line with a colon at its end is a label up to this length: `Question:`.
const MAX_LABEL_BYTES: usize = 32;

/// Weighs a static text with its role marks.
pub(crate) fn weigh(text: &str, marks: &[RoleMark]) -> Weight {
    let mut at = 0;
    let mut weight = Weight::default();
    for mark in marks {
        weight = weight.and(weigh_between(&text[at..mark.span.start]));
        at = mark.span.end;
    }
    weight.and(weigh_between(&text[at..]))
}

fn weigh_between(text: &str) -> Weight {
    Weight {
        bytes: text.trim().len(),
        prose: text.lines().map(prose).sum(),
    }
}

/// Bytes of a line that are more than tags, marks of a list or heading, and labels.
fn prose(line: &str) -> usize {
    let words = without_tags(line);
    let words = words.trim();
    let is_heading = words.starts_with('#');
    let words = words.trim_start_matches(['#', '*', '-', '>', ' ']);
    let is_label = (is_heading || words.ends_with(':')) && words.len() <= MAX_LABEL_BYTES;
    if is_label || !words.contains(char::is_alphabetic) {
        return 0;
    }
    words.len()
}

fn without_tags(line: &str) -> Cow<'_, str> {
    if !line.contains('<') {
        return Cow::Borrowed(line);
    }
    let mut words = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('<') {
        words.push_str(&rest[..open]);
        let tag = &rest[open..];
        match tag.find('>') {
            Some(close) if is_tag(&tag[1..close]) => rest = &tag[close + 1..],
            _ => {
                words.push('<');
                rest = &tag[1..];
            }
        }
    }
    words.push_str(rest);
    Cow::Owned(words)
}

fn is_tag(inside: &str) -> bool {
    inside.len() <= 64
        && inside
            .trim_start_matches(['/', '|'])
            .starts_with(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_labels_are_no_prose() {
        let check = |line, expected| assert_eq!(prose(line), expected, "{line}");
        check("", 0);
        check("</context>", 0);
        check("Question:", 0);
        check("## Documents:", 0);
        check("# Question", 0);
        check("---", 0);
        check("- Be kind.", 8);
        check("a < b and b > c", 15);
        check("回答は短く。", 18);
        check("Answer the following question with one word only:", 49);
    }
}
