//! The text of one template with its line table; made from bytes that may be anything.

use std::fmt;

use headwater_text::{LineTable, Position, Span};

/// The largest template that is read, in bytes. A prompt of 8 MiB is some two million tokens.
pub const MAX_SOURCE_BYTES: usize = 8 * 1024 * 1024;

/// UTF-8 text of a template, and where its lines begin.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    lines: LineTable,
}

impl Source {
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

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty if the span is not one of this source.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Line and column of a byte offset, both from 1, the column in characters.
    pub fn position(&self, offset: usize) -> Position {
        self.lines.position(offset)
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
