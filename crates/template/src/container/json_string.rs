//! A JSON string, character by character.

use std::borrow::Cow;

use headwater_text::Span;

use crate::{notation::Notation, offset_map::Decoder};

/// Decodes a string with its quotes, which begins at byte `base` of the file.
pub(crate) fn decode(raw: &str, base: usize, decoder: &mut Decoder) {
    decoder.begin(Notation::Json);
    each(raw, |piece, at, length| match piece {
        Piece::Copied(text) => decoder.copy(text, base + at),
        Piece::Escape(c) => {
            let mut buffer = [0; 4];
            let span = Span::new(base + at, base + at + length);
            decoder.stand_for(c.encode_utf8(&mut buffer), span);
        }
    });
}

/// What a string with its quotes says.
pub(crate) fn unescape(raw: &str) -> Cow<'_, str> {
    let inner = inside(raw);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    each(raw, |piece, _, _| match piece {
        Piece::Copied(copied) => text.push_str(copied),
        Piece::Escape(c) => text.push(c),
    });
    Cow::Owned(text)
}

enum Piece<'r> {
    Copied(&'r str),
    Escape(char),
}

fn inside(raw: &str) -> &str {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// Hands over every piece with its offset in `raw` and its length there.
fn each<'r>(raw: &'r str, mut take: impl FnMut(Piece<'r>, usize, usize)) {
    let inner = inside(raw);
    let mut at = 0;
    while at < inner.len() {
        let rest = &inner[at..];
        let copied = rest.find('\\').unwrap_or(rest.len());
        if copied > 0 {
            take(Piece::Copied(&rest[..copied]), at + 1, copied);
            at += copied;
            continue;
        }
        let (c, length) = escape(rest);
        take(Piece::Escape(c), at + 1, length);
        at += length;
    }
}

/// The character of the escape at the start, and the bytes of the escape.
fn escape(rest: &str) -> (char, usize) {
    let simple = match rest.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode(rest),
        // A quote, a backslash, a slash; nothing else passed the reader.
        _ => {
            let c = rest.chars().nth(1).unwrap_or('\\');
            return (c, (1 + c.len_utf8()).min(rest.len()));
        }
    };
    (simple, 2)
}

/// `\u00e9`, and two of them for a character beyond the first plane. Half of such a pair is U+FFFD.
fn unicode(rest: &str) -> (char, usize) {
    let Some(high) = unit(rest) else {
        return ('\u{FFFD}', rest.len().min(6));
    };
    if let Some(c) = char::from_u32(high) {
        return (c, 6);
    }
    let low = rest.get(6..).and_then(unit);
    match low {
        Some(low) if (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low) => {
            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code).unwrap_or('\u{FFFD}'), 12)
        }
        _ => ('\u{FFFD}', 6),
    }
}

fn unit(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}
