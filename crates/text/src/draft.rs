//! A text being cleaned, and which bytes of the input each of its bytes comes from.

use std::borrow::Cow;
use std::ops::Range;

use crate::Span;

/// A text with its origins. As long as nothing has changed it is the input itself.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    text: Cow<'a, str>,
    /// In order, without gaps. None: all of it was copied from the same place.
    pieces: Vec<Piece>,
}

/// Where a part of the text comes from. It reaches to the next piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    origin: Span,
    made: Made,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// Byte by byte from its origin.
    Copied,
    /// All of it stands for all of its origin.
    Written,
}

impl Piece {
    /// Where the bytes from `start` to `end` come from, of which some are this piece's.
    fn origin(self, start: usize, end: usize) -> Span {
        if self.made == Made::Written {
            return self.origin;
        }
        let skipped = start.saturating_sub(self.start);
        let length = end - self.start;
        let last = (self.origin.start + length).min(self.origin.end);
        Span::new(self.origin.start + skipped, last)
    }
}

impl<'a> Draft<'a> {
    pub(crate) fn new(input: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(input),
            pieces: Vec::new(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Borrowed only where it is a start of the input.
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        self.text
    }

    /// The bytes of the input that `length` bytes from `at` on come from.
    pub(crate) fn origin(&self, at: usize, length: usize) -> Span {
        let end = at + length;
        if self.pieces.is_empty() {
            return Span::new(at, end);
        }
        let first = self.piece_at(at);
        let last = self.piece_at(end.saturating_sub(1).max(at));
        match (self.pieces.get(first), self.pieces.get(last)) {
            (Some(one), Some(other)) => one.origin(at, end).cover(other.origin(at, end)),
            _ => Span::new(0, 0),
        }
    }

    /// Where the last character ends in the input.
    pub(crate) fn end(&self) -> usize {
        match self.pieces.last() {
            Some(piece) => piece.origin(piece.start, self.text.len()).end,
            None => self.text.len(),
        }
    }

    pub(crate) fn push(&mut self, text: &str, origin: Span) {
        if let Cow::Borrowed(input) = self.text {
            // With room for it, so that nothing is copied twice.
            let mut owned = String::with_capacity(input.len() + text.len());
            owned.push_str(input);
            self.text = Cow::Owned(owned);
        }
        self.own_pieces();
        self.pieces.push(Piece {
            start: self.text.len(),
            origin,
            made: Made::Written,
        });
        self.text.to_mut().push_str(text);
    }

    /// Drops everything from a byte on.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.text {
            Cow::Borrowed(text) => *text = text.get(..length).unwrap_or_default(),
            Cow::Owned(text) => text.truncate(length),
        }
        let kept = self.pieces.partition_point(|piece| piece.start < length);
        self.pieces.truncate(kept);
    }

    fn own_pieces(&mut self) {
        if self.pieces.is_empty() && !self.text.is_empty() {
            self.pieces.push(Piece {
                start: 0,
                origin: Span::new(0, self.text.len()),
                made: Made::Copied,
            });
        }
    }

    fn piece_at(&self, at: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.start <= at);
        after.saturating_sub(1)
    }
}

/// The next draft, made from one by replacing parts of it, from left to right.
pub(crate) struct Rewrite<'d, 'a> {
    from: &'d Draft<'a>,
    text: String,
    pieces: Vec<Piece>,
    /// Bytes of `from` that are done.
    done: usize,
    /// The piece of `from` in which they end.
    piece: usize,
}

impl<'d, 'a> Rewrite<'d, 'a> {
    pub(crate) fn new(from: &'d Draft<'a>) -> Self {
        Self {
            from,
            text: String::new(),
            pieces: Vec::new(),
            done: 0,
            piece: 0,
        }
    }

    /// Puts `with` in the place of a part, which comes behind those replaced before. Tells which
    /// bytes of the input that concerns.
    pub(crate) fn replace(&mut self, part: Range<usize>, with: &str) -> Span {
        if self.text.capacity() == 0 {
            self.text.reserve(self.from.text.len() + with.len());
        }
        self.copy(part.start);
        self.done = part.end;
        let origin = self.from.origin(part.start, part.len());
        if !with.is_empty() {
            self.pieces.push(Piece {
                start: self.text.len(),
                origin,
                made: Made::Written,
            });
            self.text.push_str(with);
        }
        origin
    }

    /// The new draft; none if nothing was replaced.
    pub(crate) fn finish(mut self) -> Option<Draft<'a>> {
        if self.done == 0 {
            return None;
        }
        self.copy(self.from.text.len());
        Some(Draft {
            text: Cow::Owned(self.text),
            pieces: self.pieces,
        })
    }

    /// Takes everything over up to a byte.
    fn copy(&mut self, end: usize) {
        let start = self.done;
        if start == end {
            return;
        }
        let mut put = |at: usize, origin, made| {
            self.pieces.push(Piece {
                start: self.text.len() + at - start,
                origin,
                made,
            });
        };
        let pieces = &self.from.pieces;
        if pieces.is_empty() {
            put(start, Span::new(start, end), Made::Copied);
        }
        while let Some(piece) = pieces.get(self.piece) {
            let next = pieces
                .get(self.piece + 1)
                .map_or(usize::MAX, |next| next.start);
            if next > start {
                put(
                    piece.start.max(start),
                    piece.origin(start, next.min(end)),
                    piece.made,
                );
            }
            if next >= end {
                break;
            }
            self.piece += 1;
        }
        self.text
            .push_str(self.from.text.get(start..end).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Origins agree with carrying one along for each byte.
        #[test]
        fn origins_agree_with_carrying_them_along(
            cuts in prop::collection::vec(prop::collection::vec((0_usize..6, 0_usize..3, 0_usize..3), 0..6), 1..4),
        ) {
            let input = "abcdefghijklmnopqrstuvwxyz";
            let mut draft = Draft::new(input);
            let mut bytes: Vec<(u8, Span)> = input.bytes().zip((0..).map(|at| Span::new(at, at + 1))).collect();
            for round in cuts {
                let mut next = Rewrite::new(&draft);
                let mut expected = Vec::new();
                let mut done = 0;
                for (skip, length, new) in round {
                    let start = (done + skip).min(bytes.len());
                    let end = (start + length).min(bytes.len());
                    if start == end {
                        continue;
                    }
                    let origin = bytes[start..end].iter().map(|byte| byte.1).reduce(Span::cover).unwrap();
                    prop_assert_eq!(next.replace(start..end, &"-+"[..new]), origin);
                    expected.extend_from_slice(&bytes[done..start]);
                    expected.extend("-+"[..new].bytes().map(|byte| (byte, origin)));
                    done = end;
                }
                expected.extend_from_slice(&bytes[done..]);
                if let Some(next) = next.finish() {
                    draft = next;
                }
                bytes = expected;
                let text: String = bytes.iter().map(|byte| char::from(byte.0)).collect();
                prop_assert_eq!(draft.text(), text);
                for (at, byte) in bytes.iter().enumerate() {
                    prop_assert_eq!(draft.origin(at, 1), byte.1);
                }
                prop_assert_eq!(draft.end(), bytes.last().map_or(draft.end(), |byte| byte.1.end));
            }
        }
    }
}
