//! One line of source, made safe to print, with the place of a finding in it.

use std::ops::Range;

use headwater_text::{Span, shown};

/// A line for an excerpt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    /// The line with invisible characters written out, and cut if it is long.
    pub(crate) text: String,
    /// Where the finding stands in it, in bytes of [`text`](Self::text).
    pub(crate) mark: Range<usize>,
}

/// Characters shown before and behind a mark, and of the mark.
const CONTEXT_BEFORE: usize = 40;
const CONTEXT_AFTER: usize = 60;
const MAX_MARK: usize = 60;

/// The first line of a finding.
pub(crate) fn source_line(text: &str, span: Span) -> SourceLine {
    let start = text[..span.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = text[span.start..]
        .find('\n')
        .map_or(text.len(), |newline| span.start + newline);
    let before = last(&text[start..span.start], CONTEXT_BEFORE);
    let marked = first(&text[span.start..span.end.clamp(span.start, end)], MAX_MARK);
    let after = first(&text[span.end.clamp(span.start, end)..end], CONTEXT_AFTER);
    let line = format!("{before}{marked}{after}");
    SourceLine {
        mark: before.len()..before.len() + marked.len(),
        text: line,
    }
}

/// The first characters of a text, shown, with `…` for what is left out.
fn first(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}…", plain(&text[..cut])),
        None => plain(text),
    }
}

fn last(text: &str, limit: usize) -> String {
    match text.char_indices().rev().nth(limit) {
        Some((cut, c)) => format!("…{}", plain(&text[cut + c.len_utf8()..])),
        None => plain(text),
    }
}

/// Invisible characters written out; tabs as four spaces, so that carets stay under their mark.
fn plain(text: &str) -> String {
    shown(text).replace('\t', "    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, start: usize, end: usize, expected: &str) {
        let line = source_line(text, Span { start, end });
        let marked = format!(
            "{}[{}]{}",
            &line.text[..line.mark.start],
            &line.text[line.mark.clone()],
            &line.text[line.mark.end..]
        );
        assert_eq!(marked, expected);
    }

    #[test]
    fn lines_are_safe_and_short() {
        check("ab\ncd\nef", 4, 5, "c[d]");
        check("a\u{200B}b\u{202E}c", 1, 4, "a[⟨U+200B⟩]b⟨U+202E⟩c");
        check("a\r\nb", 1, 3, "a[⟨U+000D⟩]");
        check("", 0, 0, "[]");
        check("a\nb", 1, 1, "a[]");
        let long = format!("{}x{}", "あ".repeat(100), "い".repeat(100));
        let expected = format!("…{}[x]{}…", "あ".repeat(40), "い".repeat(60));
        check(&long, 300, 301, &expected);
    }
}
