//! Texts whose lines end in CRLF: made LF in one pass and told in one entry for each run of lines.
//!
//! A file from another system has a change in every line, and an entry for each of them would be
//! larger than the line. So these line ends are taken out ahead of all other steps, which see a
//! text with LF, and what they say of it is put back to the places of the input.

use std::iter::Peekable;
use std::str::MatchIndices;

use crate::position::Cursor;
use crate::steps::Edit;
use crate::{Action, Change, Sighting, Span, Step};

/// One mark for so many line ends.
const MARKED: usize = 64;

const CRLF: &str = "\r\n";

/// A text without its CRs, and the way back to the text with them.
pub(crate) struct Unix<'a> {
    input: &'a str,
    text: String,
    /// Where in `text` every 64th line end is that was a CRLF, from the first one.
    marks: Vec<usize>,
}

impl<'a> Unix<'a> {
    /// None if no line ends in CRLF, or a CR stands elsewhere: without the CRs of the CRLFs that
    /// one could come to stand ahead of a LF.
    pub(crate) fn of(input: &'a str) -> Option<Self> {
        let mut ends = input.match_indices('\r').peekable();
        ends.peek()?;
        if ends.any(|(at, _)| input.as_bytes().get(at + 1) != Some(&b'\n')) {
            return None;
        }
        let mut unix = Self {
            input,
            text: String::with_capacity(input.len()),
            marks: Vec::new(),
        };
        for (index, line) in input.split(CRLF).enumerate() {
            if index > 0 {
                if (index - 1) % MARKED == 0 {
                    unix.marks.push(unix.text.len());
                }
                unix.text.push('\n');
            }
            unix.text.push_str(line);
        }
        Some(unix)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The first `length` bytes of the text.
    pub(crate) fn into_text(mut self, length: usize) -> String {
        self.text.truncate(length);
        self.text
    }

    /// The place in the input of a place in the text.
    fn offset(&self, at: usize) -> usize {
        let passed = self.marks.partition_point(|mark| *mark < at);
        let Some(last) = passed.checked_sub(1) else {
            return at;
        };
        // Line ends before the mark were one byte longer, each of them.
        let mut taken = last * MARKED;
        let mark = self.marks.get(last).copied().unwrap_or_default() + taken;
        let rest = self.input.get(mark..).unwrap_or_default();
        for (found, _) in rest.match_indices(CRLF) {
            if mark + found - taken >= at {
                break;
            }
            taken += 1;
        }
        at + taken
    }

    pub(crate) fn span(&self, span: Span) -> Span {
        Span::new(self.offset(span.start), self.offset(span.end))
    }

    /// A sighting, at its place in the input; line and column are the same in both.
    pub(crate) fn sighting(&self, sighting: Sighting) -> Sighting {
        Sighting {
            span: self.span(sighting.span),
            ..sighting
        }
    }

    /// The account of the line ends and of all other changes, in the order of the input.
    pub(crate) fn changes(&self, edits: Vec<Edit>) -> Vec<Change> {
        let mut account = Account {
            cursor: Cursor::new(self.input),
            ends: self.input.match_indices(CRLF).peekable(),
            changes: Vec::new(),
        };
        for edit in edits {
            let span = self.span(edit.span);
            account.line_ends(Some((span, edit.step)));
            let edit = Edit { span, ..edit };
            account.changes.push(edit.change(&mut account.cursor));
        }
        account.line_ends(None);
        account.changes
    }
}

struct Account<'a> {
    cursor: Cursor<'a>,
    ends: Peekable<MatchIndices<'a, &'static str>>,
    changes: Vec<Change>,
}

impl Account<'_> {
    /// One entry for all line ends ahead of the next change.
    fn line_ends(&mut self, next: Option<(Span, Step)>) {
        let is_ahead = |at: usize| {
            let place = (Span::new(at, at + CRLF.len()), Step::Newline);
            next.is_none_or(|next| place <= next)
        };
        let Some((first, _)) = self.ends.next_if(|(at, _)| is_ahead(*at)) else {
            return;
        };
        let mut repeats = 0;
        while self.ends.next_if(|(at, _)| is_ahead(*at)).is_some() {
            repeats += 1;
        }
        self.changes.push(Change {
            step: Step::Newline,
            span: Span::new(first, first + CRLF.len()),
            position: self.cursor.position(first),
            code_point: Some('\r'),
            action: Action::Replace("\n"),
            repeats,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lone_carriage_return_is_not_hidden() {
        assert!(Unix::of("a\r\r\nb").is_none());
        assert!(Unix::of("a\r\nb\r").is_none());
        assert!(Unix::of("a\nb").is_none());
        assert!(Unix::of("a\r\nb\nc").is_some());
    }

    proptest! {
        /// Every byte of the text is found again at its place, across many marks.
        #[test]
        fn places_are_found_again(lines in prop::collection::vec("[aé]{0,3}\n?", 2..300)) {
            let input = lines.join(CRLF);
            let unix = Unix::of(&input).unwrap();
            prop_assert_eq!(unix.text(), lines.join("\n"));
            let mut place = 0;
            for (at, byte) in unix.text().bytes().enumerate() {
                prop_assert_eq!(unix.offset(at), place);
                let is_crlf = byte == b'\n' && input.as_bytes()[place] == b'\r';
                place += if is_crlf { 2 } else { 1 };
            }
            prop_assert_eq!(unix.offset(unix.text().len()), input.len());
        }
    }
}
