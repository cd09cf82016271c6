//! Strings: their escapes on the way in.

use std::borrow::Cow;

use super::JsonErrorKind as Kind;
use super::error::Fault;

/// The string whose opening quote is at byte `open`, and the byte after its closing quote.
pub(super) fn read(text: &str, open: usize) -> Result<(Cow<'_, str>, usize), Fault> {
    // Owned once there is an escape.
    let mut decoded = Cow::Borrowed("");
    let mut from = open + 1;
    loop {
        let plain = text[from..]
            .bytes()
            .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F));
        let Some(plain) = plain else {
            return Err(Fault::new(Kind::UnterminatedString, open));
        };
        let at = from + plain;
        decoded += &text[from..at];
        match text.as_bytes()[at] {
            b'"' => return Ok((decoded, at + 1)),
            b'\\' => {
                let (character, end) = escape(text, at)?;
                decoded.to_mut().push(character);
                from = end;
            }
            _ => return Err(Fault::new(Kind::ControlCharacter, at)),
        }
    }
}

/// The character of the escape whose backslash is at `at`, and the byte after it.
fn escape(text: &str, at: usize) -> Result<(char, usize), Fault> {
    let character = match text.as_bytes().get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{C}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return code_point(text, at),
        Some(_) | None => return Err(Fault::new(Kind::BadEscape, at)),
    };
    Ok((character, at + 2))
}

/// A `\uXXXX`, or the two that make a surrogate pair.
fn code_point(text: &str, at: usize) -> Result<(char, usize), Fault> {
    let Some(first) = unit(text, at) else {
        return Err(Fault::new(Kind::BadEscape, at));
    };
    if let Some(character) = char::from_u32(first) {
        return Ok((character, at + 6));
    }
    // No character, so a surrogate. Two low ones would be beyond the last code point.
    let low = unit(text, at + 6).filter(|low| (0xDC00..0xE000).contains(low));
    let pair =
        low.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00)));
    match pair {
        Some(character) => Ok((character, at + 12)),
        None => Err(Fault::new(Kind::LoneSurrogate, at)),
    }
}

/// The UTF-16 unit that a `\uXXXX` at `at` stands for.
fn unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    // The number parser of the standard library would take a sign.
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}
