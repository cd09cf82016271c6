//! The lines of a text, and which of them are inside fenced code.

use std::ops::Range;

use crate::Class;
use crate::table;

/// One line, in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: usize,
    /// Behind the last character, the newline not included.
    pub(crate) end: usize,
    /// Where the next line starts; equal to `end` for the last line.
    pub(crate) next: usize,
    /// Inside fenced code. The lines with the fences themselves are not.
    pub(crate) fenced: bool,
}

/// Walks over the lines of a text, which end at any form of newline.
///
/// A fence is recognised at any indentation, so that fences in lists are. An open fence
/// reaches to the end of the text.
pub(crate) struct Layout<'a> {
    text: &'a str,
    line: Line,
    open: Option<Fence>,
    /// Not known before it matters.
    code: Option<Code>,
}

/// Whether a text can have fenced code at all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    Possible,
    /// Nothing in it is the mark of a fence or becomes one.
    Impossible,
}

impl Code {
    fn of(text: &str) -> Self {
        let (chunks, rest) = text.as_bytes().as_chunks::<16>();
        // U+1FEF begins with 0xE1.
        let is_mark = |byte: &u8| (*byte == b'`') | (*byte == b'~') | (*byte == 0xE1);
        let has_mark = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(false, |found, byte| found | is_mark(byte))
        };
        if has_mark(rest) || chunks.iter().any(|chunk| has_mark(chunk)) {
            Self::Possible
        } else {
            Self::Impossible
        }
    }
}

impl<'a> Layout<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let line = Line {
            start: 0,
            end: 0,
            next: 0,
            fenced: false,
        };
        let mut layout = Self {
            text,
            line,
            open: None,
            code: None,
        };
        layout.read();
        layout
    }

    /// The line that a byte stands in, which must not be before the line asked for last. A newline
    /// belongs to the line that it ends; its first byte stands for it.
    pub(crate) fn line_at(&mut self, at: usize) -> Line {
        if at < self.line.next {
            return self.line;
        }
        let code = *self.code.get_or_insert_with(|| Code::of(self.text));
        if code == Code::Impossible {
            // No line before it matters.
            let passed = self.text.get(self.line.next..at).unwrap_or_default();
            let words = passed.rsplit(is_newline).next().unwrap_or_default();
            self.line.next = at - words.len();
            self.read();
        }
        while at >= self.line.next && self.line.next > self.line.end {
            self.read();
        }
        self.line
    }

    /// Goes on to the next line.
    fn read(&mut self) {
        let start = self.line.next;
        let newline = newline(self.text, start);
        let fence = fence(&self.text[start..newline.start]);
        let closes = match (self.open, fence) {
            (Some(open), Some(fence)) => fence.closes(open),
            _ => false,
        };
        self.line = Line {
            start,
            end: newline.start,
            next: newline.end,
            fenced: self.open.is_some() && !closes,
        };
        self.open = match self.open {
            Some(_) if closes => None,
            Some(open) => Some(open),
            None => fence.filter(|fence| fence.opens()),
        };
    }
}

/// Whether a character ends a line, alone or as a part of CRLF.
pub(crate) fn is_newline(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// How many bytes the newline at the start of `rest` has; 0 if there is none.
pub(crate) fn newline_length(rest: &[u8]) -> usize {
    match rest {
        [b'\r', b'\n', ..] | [0xC2, 0x85, ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
        _ => 0,
    }
}

/// The first newline from a byte on; empty, behind the text, if there is none.
fn newline(text: &str, from: usize) -> Range<usize> {
    let mut at = from;
    loop {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        at += candidate(rest);
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let length = newline_length(rest);
        if length > 0 || rest.is_empty() {
            return at..at + length;
        }
        at += 1;
    }
}

/// Where the first byte stands that can begin a newline.
fn candidate(bytes: &[u8]) -> usize {
    let begins =
        |byte: &u8| (*byte == b'\n') | (*byte == b'\r') | (*byte == 0xC2) | (*byte == 0xE2);
    let (chunks, _) = bytes.as_chunks::<16>();
    let without = chunks
        .iter()
        .take_while(|chunk| !chunk.iter().fold(false, |found, byte| found | begins(byte)));
    let passed = 16 * without.count();
    let rest = bytes.get(passed..).unwrap_or_default();
    passed + rest.iter().position(begins).unwrap_or(rest.len())
}

/// A line that starts with three or more backticks or tildes.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    info: Info,
}

/// What follows the marks of a fence on its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Info {
    Empty,
    Words,
    /// Words with a backtick in them: then a line of backticks is code within a paragraph.
    Backtick,
}

impl Fence {
    fn opens(self) -> bool {
        self.mark == '~' || self.info != Info::Backtick
    }

    fn closes(self, open: Self) -> bool {
        self.mark == open.mark && self.length >= open.length && self.info == Info::Empty
    }
}

fn fence(line: &str) -> Option<Fence> {
    let first = *line.as_bytes().first()?;
    if first.is_ascii_graphic() && !matches!(first, b'`' | b'~') {
        return None;
    }
    let mut rest = line
        .chars()
        .filter_map(bare)
        .skip_while(|c| *c == ' ')
        .peekable();
    let mark = *rest.peek().filter(|c| matches!(c, '`' | '~'))?;
    let mut length = 0;
    while rest.next_if_eq(&mark).is_some() {
        length += 1;
    }
    if length < 3 {
        return None;
    }
    let mut info = Info::Empty;
    for c in rest {
        info = match c {
            '`' => Info::Backtick,
            ' ' => info,
            _ if info == Info::Backtick => info,
            _ => Info::Words,
        };
    }
    Some(Fence { mark, length, info })
}

/// The character as cleaning may leave it, for recognising fences.
///
/// Cleaning must never turn a line into a fence or a fence into a line: then a second run
/// would see other code than the first one did.
fn bare(c: char) -> Option<char> {
    match table::class(c) {
        // Its canonical equivalent is the backtick.
        None if c == '\u{1FEF}' => Some('`'),
        None
        | Some(
            Class::PrependedMark
            | Class::PrivateUse
            | Class::LostData
            | Class::BrailleBlank
            | Class::Typography,
        ) => Some(c),
        Some(Class::Space | Class::Tab) => Some(' '),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter a line: `.` outside, `#` inside fenced code.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut layout = Layout::new(text);
        let mut found = String::new();
        loop {
            let line = layout.line;
            found.push(if line.fenced { '#' } else { '.' });
            if line.next == line.end {
                break;
            }
            layout.read();
        }
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn fences() {
        check("", ".");
        check("a\nb", "..");
        check("```\ncode\n```\nafter", ".#..");
        check("~~~ sh\ncode\n```\n~~~\nafter", ".##..");
        check("````\n```\n````\n", ".#..");
        check("```\nnever closed\n", ".##");
        check("``` not ` one\nx", "..");
        check("~~~ one ` more\nx", ".#");
        check("- list\n    ```\n    code\n    ```\n", "..#..");
        check("```\n``` rust\n```\n", ".#..");
        check("``\nx", "..");
    }

    #[test]
    fn fences_behind_characters_that_cleaning_takes_away() {
        check("\u{FEFF}```\ncode\n\u{200B}```\nafter", ".#..");
        check("\u{1FEF}``\ncode", ".#");
        check("\u{A0}```\u{A0}\ncode\n```\u{2003}\nafter", ".#..");
    }

    #[test]
    fn every_newline_form_ends_a_line() {
        for c in '\0'..=char::MAX {
            let listed = c == '\n' || table::class(c) == Some(Class::Newline);
            assert_eq!(is_newline(c), listed, "{c:?}");
            let text = format!("{}{c}", "a".repeat(u32::from(c) as usize % 40));
            let found = newline(&text, 0);
            assert_eq!(listed, !found.is_empty(), "{c:?}");
            assert!(!listed || found == (text.len() - c.len_utf8()..text.len()));
        }
        check("a\r\nb\rc\u{85}d\u{2028}e\u{2029}f", "......");
    }

    #[test]
    fn a_newline_belongs_to_the_line_that_it_ends() {
        for text in ["a\r\n\nb", "a\r\n\n`"] {
            let mut layout = Layout::new(text);
            let starts: Vec<usize> = (0..5).map(|at| layout.line_at(at).start).collect();
            assert_eq!(starts, [0, 0, 0, 3, 4]);
            assert_eq!(Layout::new(text).line_at(4).start, 4);
        }
    }
}
