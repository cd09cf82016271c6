//! Where something is: byte spans for machines, line and column for people.

use std::fmt;

/// A range of bytes in a text, half open.
///
/// Not `non_exhaustive`: it is a plain pair and will stay one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte; equal to `start` for a point between two characters.
    pub end: usize,
}

impl Span {
    /// A span from `start` to `end`, both in bytes.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn cover(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// A place as an editor shows it. Displays as `line:column`.
///
/// Not `non_exhaustive`: it is a plain pair and will stay one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters (not bytes, not screen cells), counted from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Turns byte offsets of one text into [`Position`]s; owns no text.
///
/// A line ends at LF, CRLF or a lone CR, as in editors. The characters of a line's end
/// belong to the line that they end.
#[derive(Clone, Debug)]
pub struct LineTable {
    /// First byte of each line; never empty.
    starts: Vec<usize>,
    /// Every character of more than one byte, in order.
    wide: Vec<WideChar>,
    len: usize,
}

/// A character of more than one byte.
#[derive(Clone, Copy, Debug)]
struct WideChar {
    start: usize,
    end: usize,
    /// Bytes beyond one a character, from the start of the text up to `end`.
    extra: usize,
}

impl LineTable {
    /// Reads the text once.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut table = Self {
            starts: vec![0],
            wide: Vec::new(),
            len: text.len(),
        };
        let bytes = text.as_bytes();
        let ends = memchr::memchr2_iter(b'\r', b'\n', bytes).map(|at| at + 1);
        let is_end = |end: &usize| bytes[end - 1] == b'\n' || bytes.get(*end) != Some(&b'\n');
        table.starts.extend(ends.filter(is_end));
        if !text.is_ascii() {
            let mut extra = 0;
            for (start, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                let end = start + c.len_utf8();
                extra += end - start - 1;
                table.wide.push(WideChar { start, end, extra });
            }
        }
        table
    }

    /// The position of the character at (or around) a byte offset.
    ///
    /// An offset beyond the text counts as its end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.snap(offset.min(self.len));
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.line_start(line).unwrap_or(0);
        let characters = offset - start + self.extra(start) - self.extra(offset);
        Position {
            line,
            column: characters + 1,
        }
    }

    /// How many lines there are; a text that ends with a newline has an empty last line.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The byte offset at which a line (counted from 1) starts.
    #[must_use]
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.starts.get(line.checked_sub(1)?).copied()
    }

    /// Moves an offset inside a character back to the character's first byte.
    fn snap(&self, offset: usize) -> usize {
        let after = self.wide.partition_point(|wide| wide.end <= offset);
        match self.wide.get(after) {
            Some(wide) if wide.start < offset => wide.start,
            _ => offset,
        }
    }

    /// Bytes beyond one a character before an offset.
    fn extra(&self, offset: usize) -> usize {
        let before = self.wide.partition_point(|wide| wide.end <= offset);
        before
            .checked_sub(1)
            .and_then(|index| self.wide.get(index))
            .map_or(0, |wide| wide.extra)
    }
}

/// Finds the positions of rising offsets in one walk, and keeps nothing of the text.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    position: Position,
}

impl<'a> Cursor<'a> {
    const START: Position = Position { line: 1, column: 1 };

    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            position: Self::START,
        }
    }

    /// As [`LineTable::position`]. An offset before the one asked for last starts a new walk.
    pub(crate) fn position(&mut self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        if offset < self.at {
            *self = Self::new(self.text);
        }
        let passed = &self.text.as_bytes()[self.at..offset];
        let (chunks, rest) = passed.as_chunks::<16>();
        for chunk in chunks {
            let ends_line = |byte: u8| (byte == b'\n') | (byte == b'\r');
            if chunk
                .iter()
                .fold(false, |found, byte| found | ends_line(*byte))
            {
                self.pass_one_by_one(chunk);
            } else {
                let begun: u8 = chunk.iter().map(|byte| u8::from(begins(*byte))).sum();
                self.position.column += usize::from(begun);
                self.at += chunk.len();
            }
        }
        self.pass_one_by_one(rest);
        self.position
    }

    fn pass_one_by_one(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.at += 1;
            let next = self.text.as_bytes().get(self.at);
            if *byte == b'\n' || (*byte == b'\r' && next != Some(&b'\n')) {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += usize::from(begins(*byte));
            }
        }
    }
}

/// Whether a character begins with this byte.
fn begins(byte: u8) -> bool {
    !(0x80..0xC0).contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, offset: usize, expected: &str) {
        assert_eq!(
            LineTable::new(text).position(offset).to_string(),
            expected,
            "{text:?} at {offset}"
        );
    }

    #[test]
    fn columns_count_characters() {
        check("", 0, "1:1");
        check("abc", 2, "1:3");
        check("é한x", 5, "1:3");
        check("a\néb", 4, "2:2");
        check("a\n😀😀b", 10, "2:3");
    }

    #[test]
    fn lines_end_in_three_ways() {
        check("a\r\nb", 1, "1:2");
        check("a\r\nb", 2, "1:3");
        check("a\r\nb", 3, "2:1");
        check("a\rb", 2, "2:1");
        check("a\n\nb", 3, "3:1");
        check("a\n", 2, "2:1");
        check("a\r\r\nb", 4, "3:1");
    }

    #[test]
    fn odd_offsets_are_places_too() {
        check("é", 1, "1:1");
        check("xé", 2, "1:2");
        check("abc", 99, "1:4");
    }

    #[test]
    fn line_starts() {
        let table = LineTable::new("ab\r\ncd\n");
        assert_eq!(table.lines(), 3);
        assert_eq!(table.line_start(2), Some(4));
        assert_eq!(table.line_start(0), None);
        assert_eq!(table.line_start(4), None);
    }

    proptest! {
        /// The table agrees with counting by hand.
        #[test]
        fn agrees_with_counting(text in "[a\né\r한😀]{0,40}(abcd efgh 한 ijkl mnop é qrst uvwx){0,2}\r?\n?z?", pick in 0usize..200) {
            let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let offset = offsets[pick % offsets.len()];
            let mut expected = Position { line: 1, column: 1 };
            for (at, c) in text[..offset].char_indices() {
                let crlf = c == '\r' && text[at + 1..].starts_with('\n');
                if c == '\n' || (c == '\r' && !crlf) {
                    expected = Position { line: expected.line + 1, column: 1 };
                } else {
                    expected.column += 1;
                }
            }
            prop_assert_eq!(LineTable::new(&text).position(offset), expected);
            let mut cursor = Cursor::new(&text);
            cursor.position(offset / 2);
            prop_assert_eq!(cursor.position(offset), expected);
        }
    }
}
