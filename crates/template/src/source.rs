//! The text of one template and where each of its bytes stands in the file that it came from.

use std::{fmt, sync::Arc};

use headwater_text::{LineTable, Position, Span};

use crate::offset_map::OffsetMap;

/// The largest file that is read, in bytes. A prompt of 8 MiB is some two million tokens.
pub const MAX_SOURCE_BYTES: usize = 8 * 1024 * 1024;

/// A file as UTF-8 text, with its line table.
#[derive(Debug)]
pub struct SourceFile {
    text: String,
    lines: LineTable,
}

impl SourceFile {
    /// Checks size and encoding.
    ///
    /// # Errors
    /// The bytes are more than [`MAX_SOURCE_BYTES`], or not UTF-8; the error names the place.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SourceError> {
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(SourceError {
                kind: SourceErrorKind::TooLarge { bytes: bytes.len() },
                position: Position { line: 1, column: 1 },
            });
        }
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Self {
                text: text.to_owned(),
                lines: LineTable::new(text),
            }),
            Err(error) => Err(not_utf8(bytes, error.valid_up_to())),
        }
    }

    /// The whole text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte of the file, both from 1, the column in characters.
    pub fn position(&self, offset: usize) -> Position {
        self.lines.position(offset)
    }
}

/// The text of one template: a whole file, or what strings inside a file stand for.
///
/// All offsets of the template's API are bytes of [`text`](Self::text). [`in_file`](Self::in_file) and
/// [`position`](Self::position) lead to the file.
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<SourceFile>,
    /// None where the template is the whole file.
    decoded: Option<Arc<Decoded>>,
}

/// Text that is written with escapes or indentation in its file.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// Leads to the file, or to the text of `outer`.
    pub(crate) map: OffsetMap,
    /// The string that it is written in, as JSON in a scalar of YAML is; none if the file itself.
    outer: Option<Arc<Decoded>>,
}

impl Decoded {
    fn in_file(&self, span: Span) -> Span {
        let span = self.map.in_file(span);
        self.outer
            .as_ref()
            .map_or(span, |outer| outer.in_file(span))
    }

    fn in_text(&self, offset: usize) -> Option<usize> {
        let offset = match &self.outer {
            None => offset,
            Some(outer) => outer.in_text(offset)?,
        };
        self.map.in_text(offset)
    }

    fn edit(&self, file: &str, span: Span, replacement: &str) -> Option<(Span, String)> {
        match &self.outer {
            None => self.map.edit(file, span, replacement),
            Some(outer) => {
                let (place, written) = self.map.edit(&outer.text, span, replacement)?;
                outer.edit(file, place, &written)
            }
        }
    }
}

impl Source {
    /// Makes a template of a whole file; checks size and encoding.
    ///
    /// # Errors
    /// As [`SourceFile::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SourceError> {
        SourceFile::from_bytes(bytes).map(|file| Self::whole(Arc::new(file)))
    }

    /// The whole of a file.
    pub fn whole(file: Arc<SourceFile>) -> Self {
        Self {
            file,
            decoded: None,
        }
    }

    /// Text that is written in this source; `map` leads from it to the text of this source.
    pub(crate) fn within(&self, text: String, map: OffsetMap) -> Self {
        let outer = self.decoded.clone();
        Self {
            file: Arc::clone(&self.file),
            decoded: Some(Arc::new(Decoded { text, map, outer })),
        }
    }

    /// The file.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// The template is the whole file, so that its offsets are the file's.
    pub fn is_whole_file(&self) -> bool {
        self.decoded.is_none()
    }

    /// The whole text of the template.
    pub fn text(&self) -> &str {
        match &self.decoded {
            None => &self.file.text,
            Some(decoded) => &decoded.text,
        }
    }

    /// The text of a span; empty if the span is not one of this source.
    pub fn slice(&self, span: Span) -> &str {
        self.text().get(span.start..span.end).unwrap_or_default()
    }

    /// Where a span of the template stands in the file, in bytes.
    ///
    /// A character that is written as an escape has the whole escape. A span over several strings has
    /// the part in the string in which it begins.
    pub fn in_file(&self, span: Span) -> Span {
        match &self.decoded {
            None => span,
            Some(decoded) => decoded.in_file(span),
        }
    }

    /// Line and column in the file of a byte of the template, both from 1, the column in characters.
    pub fn position(&self, offset: usize) -> Position {
        let at = self.in_file(Span::new(offset, offset)).start;
        self.file.position(at)
    }

    /// The bytes of the file that the text is written in, in order and without gaps between what
    /// touches. Many questions about places are cheaper with it than with [`in_text`](Self::in_text).
    pub fn places(&self) -> Vec<Span> {
        let Some(decoded) = &self.decoded else {
            return vec![Span::new(0, self.file.text.len())];
        };
        let mut spans = decoded.map.places();
        if let Some(outer) = &decoded.outer {
            for span in &mut spans {
                *span = outer.in_file(*span);
            }
        }
        spans.sort();
        spans.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = last.end.max(next.end);
            }
            touches
        });
        spans
    }

    /// The byte of the template that stands at a byte of the file; none if it is not of the template.
    pub fn in_text(&self, offset: usize) -> Option<usize> {
        match &self.decoded {
            None => (offset <= self.file.text.len()).then_some(offset),
            Some(decoded) => decoded.in_text(offset),
        }
    }

    /// How to write `replacement` in the file so that the template reads it in the place of `span`;
    /// it takes the place of [`in_file`](Self::in_file) of the span.
    ///
    /// None where that cannot be said safely: in folded YAML, across strings, or for characters that
    /// the notation cannot hold. [`edit`](Self::edit) can say more.
    pub fn encode(&self, span: Span, replacement: &str) -> Option<String> {
        let (place, written) = self.edit(span, replacement)?;
        (place == self.in_file(span)).then_some(written)
    }

    /// What to write, and in the place of which bytes of the file, so that the template reads
    /// `replacement` in the place of `span`. Whole lines of a YAML block go with their indentation.
    ///
    /// None where that cannot be said safely.
    pub fn edit(&self, span: Span, replacement: &str) -> Option<(Span, String)> {
        match &self.decoded {
            None => Some((span, replacement.to_owned())),
            Some(decoded) => decoded.edit(&self.file.text, span, replacement),
        }
    }
}

fn not_utf8(bytes: &[u8], valid: usize) -> SourceError {
    let before = String::from_utf8_lossy(&bytes[..valid]);
    SourceError {
        kind: SourceErrorKind::NotUtf8 { byte: bytes[valid] },
        position: LineTable::new(&before).position(valid),
    }
}

/// Why bytes are not the source of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What is wrong.
    pub kind: SourceErrorKind,
    /// Where, in the bytes before it read as text.
    pub position: Position,
}

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// A byte that cannot stand there in UTF-8.
    NotUtf8 {
        /// The first bad byte.
        byte: u8,
    },
    /// More than [`MAX_SOURCE_BYTES`].
    TooLarge {
        /// The size that was handed in.
        bytes: usize,
    },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        match self.kind {
            SourceErrorKind::NotUtf8 { byte } => write!(
                f,
                "{line}:{column}: not UTF-8 (byte 0x{byte:02X}); save the file as UTF-8"
            ),
            SourceErrorKind::TooLarge { bytes } => write!(
                f,
                "{bytes} bytes, more than the {MAX_SOURCE_BYTES} that are read; split the template"
            ),
        }
    }
}

impl std::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_byte_has_a_place() {
        let error = Source::from_bytes(b"one\nt\xC3\xA9o \xFF").unwrap_err();
        assert_eq!(
            error.to_string(),
            "2:5: not UTF-8 (byte 0xFF); save the file as UTF-8"
        );
    }

    #[test]
    fn size_has_a_limit() {
        assert!(Source::from_bytes(&vec![b'a'; MAX_SOURCE_BYTES]).is_ok());
        let error = Source::from_bytes(&vec![b'a'; MAX_SOURCE_BYTES + 1]).unwrap_err();
        assert!(error.to_string().starts_with("8388609 bytes"));
    }
}
