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

/// Columns that the line number and the frame take.
const FRAME: usize = 8;
/// Even a narrow terminal gets this much of a line.
const MIN_WIDTH: usize = 24;

/// The first line of a finding, cut to a terminal of `width` columns.
pub(crate) fn source_line(text: &str, span: Span, width: usize) -> SourceLine {
    let start = text[..span.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = text[span.start..]
        .find('\n')
        .map_or(text.len(), |newline| span.start + newline);
    let mark_end = span.end.clamp(span.start, end);
    let room = width.saturating_sub(FRAME).max(MIN_WIDTH);
    let marked = cut(text[span.start..mark_end].chars(), room / 2);
    let left = room.saturating_sub(columns(&marked));
    let (reversed, is_cut) = take(text[start..span.start].chars().rev(), left / 2);
    let before: String = reversed.chars().rev().collect();
    let before = format!("{}{}", if is_cut { "…" } else { "" }, plain(&before));
    let left = left.saturating_sub(columns(&before));
    let after = cut(text[mark_end..end].chars(), left);
    SourceLine {
        mark: before.len()..before.len() + marked.len(),
        text: format!("{before}{marked}{after}"),
    }
}

/// The first characters that fit, shown, with `…` for what is left out.
fn cut(chars: impl Iterator<Item = char>, room: usize) -> String {
    let (taken, is_cut) = take(chars, room);
    let mut shown = plain(&taken);
    if is_cut {
        shown.push('…');
    }
    shown
}

/// Characters that fit in `room` columns with one to spare, and whether any are left.
fn take(chars: impl Iterator<Item = char>, room: usize) -> (String, bool) {
    let mut taken = String::new();
    let mut used = 1;
    for c in chars {
        used += columns(&plain(c.encode_utf8(&mut [0; 4])));
        if used > room {
            return (taken, true);
        }
        taken.push(c);
    }
    (taken, false)
}

/// Columns of a shown text, at most: everything from Hangul on may be wide.
fn columns(text: &str) -> usize {
    let is_wide = |c: char| c >= '\u{1100}' && !('\u{2000}'..'\u{2E80}').contains(&c);
    text.chars().map(|c| 1 + usize::from(is_wide(c))).sum()
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
        let line = source_line(text, Span { start, end }, 100);
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
        let expected = format!("…{}[x]{}…", "あ".repeat(22), "い".repeat(22));
        check(&long, 300, 301, &expected);
    }
}
