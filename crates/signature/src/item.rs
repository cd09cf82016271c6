//! Bare items of RFC 9651, read byte by byte without allocation or recursion.

use crate::{ParseError, ParseErrorKind, base64, signature::MAX_HEADER_BYTES};

/// One bare item: all types are checked, those that keys of ours have are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BareItem<'a> {
    Integer(i64),
    Token(&'a [u8]),
    /// Valid by RFC 9651, not necessarily canonical; see [`Cursor::canonical_bytes`].
    Bytes,
    /// A decimal, string, Boolean, date or display string.
    Other,
}

/// A place in a header and the steps that move it on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over `byte` if it comes next.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Steps over `bytes`, or stays here.
    #[inline]
    pub(crate) fn eat_all(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.strip_prefix(bytes)?;
        self.at += bytes.len();
        Some(())
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), ParseError> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    /// The byte here cannot stand here.
    pub(crate) fn syntax(&self) -> ParseError {
        ParseError {
            at: self.at,
            kind: ParseErrorKind::Syntax,
        }
    }

    /// Steps over bytes as long as they are in `set`, and returns them.
    #[inline]
    pub(crate) fn take_while(&mut self, set: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| !set(*byte))
            .unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn skip_spaces(&mut self) {
        while self.eat(b' ') {}
    }

    #[inline]
    pub(crate) fn key(&mut self) -> Result<&'a [u8], ParseError> {
        if !matches!(self.peek(), Some(b'a'..=b'z' | b'*')) {
            return Err(self.syntax());
        }
        Ok(self.take_while(
            |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*'),
        ))
    }

    /// Reads a byte sequence of exactly `N` bytes in canonical base64, or stays here.
    #[inline]
    pub(crate) fn canonical_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let rest = self.bytes.get(self.at..)?.strip_prefix(b":")?;
        let (text, rest) = rest.split_at_checked(N.div_ceil(3) * 4)?;
        let bytes = base64::read_exact(text)?;
        self.at = self.bytes.len() - rest.strip_prefix(b":")?.len();
        Some(bytes)
    }

    #[inline]
    pub(crate) fn bare_item(&mut self) -> Result<BareItem<'a>, ParseError> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b':') => self.byte_sequence(),
            Some(b'A'..=b'Z' | b'a'..=b'z' | b'*') => {
                Ok(BareItem::Token(self.take_while(is_token_letter)))
            }
            Some(b'"') => self.string(),
            Some(b'?') => self.boolean(),
            Some(b'@') => self.date(),
            Some(b'%') => self.display_string(),
            _ => Err(self.syntax()),
        }
    }

    #[inline]
    fn number(&mut self) -> Result<BareItem<'a>, ParseError> {
        let start = self.at;
        let value = self.integer()?;
        let digits = self.at - start - usize::from(self.bytes.get(start) == Some(&b'-'));
        if self.peek() != Some(b'.') {
            return Ok(BareItem::Integer(value));
        }
        if digits > MAX_DECIMAL_WHOLE_DIGITS {
            return Err(self.syntax());
        }
        self.at += 1;
        self.digits(MAX_DECIMAL_FRACTION_DIGITS)?;
        Ok(BareItem::Other)
    }

    #[inline]
    fn integer(&mut self) -> Result<i64, ParseError> {
        let negative = self.eat(b'-');
        let magnitude = self.digits(MAX_INTEGER_DIGITS)?;
        Ok(if negative { -magnitude } else { magnitude })
    }

    /// One to `most` digits, which with 15 at most cannot overflow.
    #[inline]
    fn digits(&mut self, most: usize) -> Result<i64, ParseError> {
        let (start, mut value) = (self.at, 0);
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            if self.at - start == most {
                return Err(self.syntax());
            }
            value = value * 10 + i64::from(digit - b'0');
            self.at += 1;
        }
        if self.at == start {
            Err(self.syntax())
        } else {
            Ok(value)
        }
    }

    fn byte_sequence(&mut self) -> Result<BareItem<'a>, ParseError> {
        self.at += 1;
        let letters = self.take_while(base64::is_letter).len();
        let padding = match letters % 4 {
            0 => 0,
            1 => return Err(self.syntax()),
            left_over => 4 - left_over,
        };
        // RFC 9651 asks parsers to put up with missing padding; the types of our keys do not.
        for _ in 0..padding {
            self.eat(b'=');
        }
        self.expect(b':')?;
        Ok(BareItem::Bytes)
    }

    fn string(&mut self) -> Result<BareItem<'a>, ParseError> {
        self.at += 1;
        loop {
            self.take_while(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
            if self.eat(b'"') {
                return Ok(BareItem::Other);
            }
            self.expect(b'\\')?;
            if !self.eat(b'"') {
                self.expect(b'\\')?;
            }
        }
    }

    fn boolean(&mut self) -> Result<BareItem<'a>, ParseError> {
        self.at += 1;
        if !self.eat(b'0') {
            self.expect(b'1')?;
        }
        Ok(BareItem::Other)
    }

    fn date(&mut self) -> Result<BareItem<'a>, ParseError> {
        self.at += 1;
        self.integer()?;
        if self.peek() == Some(b'.') {
            Err(self.syntax())
        } else {
            Ok(BareItem::Other)
        }
    }

    fn display_string(&mut self) -> Result<BareItem<'a>, ParseError> {
        let opening = self.syntax();
        self.at += 1;
        self.expect(b'"')?;
        let mut text = [0; MAX_HEADER_BYTES];
        let mut length = 0;
        while !self.eat(b'"') {
            let byte = self.display_byte()?;
            *text.get_mut(length).ok_or(opening)? = byte;
            length += 1;
        }
        match text.get(..length).map(str::from_utf8) {
            Some(Ok(_)) => Ok(BareItem::Other),
            _ => Err(opening),
        }
    }

    fn display_byte(&mut self) -> Result<u8, ParseError> {
        let Some(byte @ b' '..=b'~') = self.peek() else {
            return Err(self.syntax());
        };
        self.at += 1;
        if byte != b'%' {
            return Ok(byte);
        }
        Ok(self.lower_hex_digit()? << 4 | self.lower_hex_digit()?)
    }

    fn lower_hex_digit(&mut self) -> Result<u8, ParseError> {
        let value = match self.peek() {
            Some(digit @ b'0'..=b'9') => digit - b'0',
            Some(digit @ b'a'..=b'f') => digit - b'a' + 10,
            _ => return Err(self.syntax()),
        };
        self.at += 1;
        Ok(value)
    }
}

const MAX_INTEGER_DIGITS: usize = 15;
const MAX_DECIMAL_WHOLE_DIGITS: usize = 12;
const MAX_DECIMAL_FRACTION_DIGITS: usize = 3;

/// Whether `byte` may stand in a token after its first letter.
pub(crate) fn is_token_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}

/// Whether `byte` may be a token's first letter.
pub(crate) fn is_token_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'*'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(BareItem<'_>, usize), usize>) {
        let mut cursor = Cursor::new(text.as_bytes());
        let read = cursor
            .bare_item()
            .map(|item| (item, cursor.at()))
            .map_err(|error| error.at);
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn each_type_ends_where_it_ends_and_fails_where_it_fails() {
        check("42,", Ok((BareItem::Integer(42), 2)));
        check(
            "-999999999999999",
            Ok((BareItem::Integer(-999_999_999_999_999), 16)),
        );
        check("1000000000000000", Err(15));
        check("-", Err(1));
        check("123456789012.345", Ok((BareItem::Other, 16)));
        check("1234567890123.4", Err(13));
        check("1.", Err(2));
        check("1.2345", Err(5));
        check("a/b:c d", Ok((BareItem::Token(b"a/b:c"), 5)));
        check("\"a\\\"b\\\\\" ", Ok((BareItem::Other, 8)));
        check("\"a\\b\"", Err(3));
        check("\"é\"", Err(1));
        check("\"a", Err(2));
        check(":AA==:", Ok((BareItem::Bytes, 6)));
        check(":AA:", Ok((BareItem::Bytes, 4)));
        check("::", Ok((BareItem::Bytes, 2)));
        check(":AAAAA:", Err(6));
        check(":AAA==:", Err(5));
        check(":AA", Err(3));
        check("?1", Ok((BareItem::Other, 2)));
        check("?2", Err(1));
        check("@-1", Ok((BareItem::Other, 3)));
        check("@1.5", Err(2));
        check("%\"caf%c3%a9\"", Ok((BareItem::Other, 12)));
        check("%\"caf%C3%a9\"", Err(6));
        check("%\"%ff\"", Err(0));
        check("%a", Err(1));
        check("=", Err(0));
        check("", Err(0));
    }
}
