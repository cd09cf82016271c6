//! Proof that a prompt keeps every byte of the one before it, or the first byte where it does not.

use std::fmt;

use headwater_text::{LineTable, Position};

use crate::{SegmentLabel, SignedPrompt, render::Rendered};

/// Characters of each prompt that a [`Divergence`] quotes.
const EXCERPT: usize = 40;

/// Checks that `next` begins with all messages of `previous`, byte for byte. Everything behind the
/// first difference has to be computed again.
///
/// A check for tests and for a development server: it costs one comparison of the two texts.
///
/// # Errors
/// The first difference.
///
/// ```
/// use headwater::{BytesTokenizer, Chat, SignOptions, SignedPrompt, Turn, assert_extends};
///
/// let sign = |chat: Chat| chat.prompt()?.sign(&BytesTokenizer, &SignOptions::default()).map_err(headwater::Error::from);
/// let monday = Chat::new().system("Be brief.\nToday is Monday.").turn(Turn::user("Hello"));
/// let tuesday = Chat::new().system("Be brief.\nToday is Tuesday.").turn(Turn::user("Hello"));
///
/// let divergence = assert_extends(&sign(monday)?, &sign(tuesday)?).unwrap_err();
/// assert_eq!(
///     divergence.to_string(),
///     "the prompts part in segment 0 (system, static), line 2, column 10 (byte 38 of the text); \
///      keep what was sent and put what changes into the newest turn",
/// );
/// assert_eq!((&*divergence.previous, &*divergence.next),
///     ("Monday.\\n<|im_end|>\\n<|im_start|>user\\nH", "Tuesday.\\n<|im_end|>\\n<|im_start|>user\\n"));
/// # Ok::<(), headwater::Error>(())
/// ```
pub fn assert_extends(previous: &SignedPrompt, next: &SignedPrompt) -> Result<(), Divergence> {
    let end = previous.rendered.end();
    let before = previous.text().get(..end).unwrap_or_default();
    let after = next.text();
    if after.as_bytes().starts_with(before.as_bytes()) {
        return Ok(());
    }
    let same = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(before, after)| before == after)
        .count();
    Err(Divergence::at(
        before.floor_char_boundary(same),
        &previous.rendered,
        after,
    ))
}

/// The first place where two prompts differ.
///
/// The excerpts are prompt text: for a developer's eyes, not for a log. `Display` leaves them out,
/// `Debug` shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// The segment of the earlier prompt that holds the place, or comes next after it.
    pub segment: Option<SegmentLabel>,
    /// The byte of the canonical text.
    pub byte: usize,
    /// Line and column in the segment's canonical text; 1:1 for a place ahead of it.
    pub position: Position,
    /// What the earlier prompt has there: at most 40 characters, escaped.
    pub previous: String,
    /// What the later prompt has there: at most 40 characters, escaped.
    pub next: String,
}

impl Divergence {
    fn at(byte: usize, previous: &Rendered, next: &str) -> Self {
        let place = previous
            .pieces
            .partition_point(|piece| piece.range.end <= byte);
        let piece = previous.pieces.get(place).or(previous.pieces.last());
        let position = piece.map_or(Position { line: 1, column: 1 }, |piece| {
            let text = previous.text.get(piece.range.clone()).unwrap_or_default();
            let offset = byte.saturating_sub(piece.range.start).min(text.len());
            LineTable::new(text).position(offset)
        });
        Self {
            segment: piece.map(|piece| piece.label.clone()),
            byte,
            position,
            previous: excerpt(&previous.text, byte),
            next: excerpt(next, byte),
        }
    }
}

fn excerpt(text: &str, from: usize) -> String {
    let text = text
        .get(text.floor_char_boundary(from)..)
        .unwrap_or_default();
    let escaped = text.escape_debug();
    escaped.take(EXCERPT).collect()
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the prompts part in ")?;
        match &self.segment {
            Some(segment) => write!(f, "{segment}")?,
            None => f.write_str("the text")?,
        }
        let Position { line, column } = self.position;
        write!(
            f,
            ", line {line}, column {column} (byte {} of the text); \
             keep what was sent and put what changes into the newest turn",
            self.byte
        )
    }
}

impl std::error::Error for Divergence {}
