//! A text being cleaned: its characters, each with the bytes of the input that it comes from.

use crate::Span;

/// Characters with their origins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    chars: Vec<char>,
    /// As long as `chars`.
    origins: Vec<Span>,
}

impl Draft {
    pub(crate) fn new(text: &str) -> Self {
        let mut draft = Self::default();
        for (start, c) in text.char_indices() {
            draft.push(c, Span::new(start, start + c.len_utf8()));
        }
        draft
    }

    pub(crate) fn chars(&self) -> &[char] {
        &self.chars
    }

    pub(crate) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// The bytes of the input that `length` characters from `at` on come from.
    pub(crate) fn origin(&self, at: usize, length: usize) -> Span {
        match &self.origins[at..at + length] {
            [first, .., last] => first.cover(*last),
            [one] => *one,
            [] => Span::new(self.end(), self.end()),
        }
    }

    /// Where the last character ends in the input.
    pub(crate) fn end(&self) -> usize {
        self.origins.last().map_or(0, |span| span.end)
    }

    pub(crate) fn push(&mut self, c: char, origin: Span) {
        self.chars.push(c);
        self.origins.push(origin);
    }

    /// Takes over characters of another draft unchanged.
    pub(crate) fn copy(&mut self, from: &Self, start: usize, end: usize) {
        self.chars.extend_from_slice(&from.chars[start..end]);
        self.origins.extend_from_slice(&from.origins[start..end]);
    }

    /// Drops everything from a position on.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.chars.truncate(length);
        self.origins.truncate(length);
    }

    /// Drops the first characters.
    pub(crate) fn drop_first(&mut self, count: usize) {
        self.chars.drain(..count);
        self.origins.drain(..count);
    }
}
