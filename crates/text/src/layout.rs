//! The lines of a text, and which of them are inside fenced code.

use crate::Class;
use crate::table;

/// One line, as positions in a slice of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: usize,
    /// One past the last character, the newline not included.
    pub(crate) end: usize,
    /// Inside fenced code. The lines with the fences themselves are not.
    pub(crate) fenced: bool,
}

/// Splits into lines at any form of newline.
///
/// A fence is recognised at any indentation, so that fences in lists are. An open fence
/// reaches to the end of the text.
pub(crate) fn lines(chars: &[char]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut open: Option<Fence> = None;
    let mut start = 0;
    loop {
        let end = chars[start..]
            .iter()
            .position(|c| is_newline(*c))
            .map_or(chars.len(), |length| start + length);
        let closes = match (open, fence(&chars[start..end])) {
            (Some(open), Some(fence)) => fence.closes(open),
            _ => false,
        };
        lines.push(Line {
            start,
            end,
            fenced: open.is_some() && !closes,
        });
        open = match open {
            Some(_) if closes => None,
            Some(fence) => Some(fence),
            None => fence(&chars[start..end]).filter(|fence| fence.opens()),
        };
        if end == chars.len() {
            return lines;
        }
        start = end + newline_length(&chars[end..]);
    }
}

/// Whether a character ends a line, alone or as a part of CRLF.
pub(crate) fn is_newline(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// How many characters the newline at the start of `rest` has.
pub(crate) fn newline_length(rest: &[char]) -> usize {
    match rest {
        ['\r', '\n', ..] => 2,
        _ => 1,
    }
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

fn fence(line: &[char]) -> Option<Fence> {
    let mut rest = line
        .iter()
        .filter_map(|c| bare(*c))
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
        let chars: Vec<char> = text.chars().collect();
        let found: String = lines(&chars)
            .iter()
            .map(|line| if line.fenced { '#' } else { '.' })
            .collect();
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
        }
        check("a\r\nb\rc\u{85}d\u{2028}e\u{2029}f", "......");
    }
}
