//! Places as editors name them: lines from 0, columns in UTF-16 code units.

use headwater_lint::Span;
use lsp_types::{Position, Range};

/// The lines of a text. LF, CRLF and CR end one.
pub(super) struct Place<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Place<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let ends = (0..bytes.len()).filter(|at| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|at| at + 1)).collect();
        Self { text, starts }
    }

    /// The range of a span of bytes.
    pub(super) fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        Position::new(narrow(line), narrow(before.encode_utf16().count()))
    }

    /// The byte at a position; the end of the line or of the text if it lies behind it.
    pub(super) fn offset(&self, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(line).copied() else {
            return self.text.len();
        };
        let end = self.starts.get(line + 1).copied();
        let line = &self.text[start..end.unwrap_or(self.text.len())];
        let line = line.trim_end_matches(['\r', '\n']);
        let wanted = usize::try_from(position.character).unwrap_or(usize::MAX);
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= wanted {
                return start + at;
            }
            units += c.len_utf16();
        }
        start + line.len()
    }
}

fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16() {
        let text = "a\u{1F600}b\r\né\rx\n";
        let place = Place::new(text);
        for (offset, line, character) in [
            (0, 0, 0),
            (1, 0, 1),
            (5, 0, 3),
            (6, 0, 4),
            (8, 1, 0),
            (10, 1, 1),
            (11, 2, 0),
            (13, 3, 0),
        ] {
            let position = Position::new(line, character);
            assert_eq!(place.position(offset), position, "{offset}");
            assert_eq!(place.offset(position), offset, "{offset}");
        }
        assert_eq!(place.offset(Position::new(0, 99)), 6);
        assert_eq!(place.offset(Position::new(9, 0)), text.len());
    }
}
