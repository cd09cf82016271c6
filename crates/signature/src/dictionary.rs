//! The members of an RFC 9651 dictionary, one after the other, with our limits on top.

use crate::item::{BareItem, Cursor};
use crate::signature::MAX_HEADER_BYTES;
use crate::{ParseError, ParseErrorKind, base64};

/// A key and where its value starts. The value is still to be read, by exactly one of
/// [`Dictionary`]'s readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) key: &'a [u8],
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    /// No value is written: the Boolean true, found where its key starts.
    Implied(usize),
    Written,
}

/// A parameter of an inner list's item. A value that is not written is the Boolean true, found
/// where its key starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) key_at: usize,
    pub(crate) value_at: usize,
    pub(crate) value: BareItem<'a>,
}

/// What a value means to us: a value of its key's type and range, or why not. Apart from syntax
/// errors, which stop the reading at once, because only whole headers tell their version.
pub(crate) type Meaning<T> = Result<T, ParseError>;

/// Walks over the members of a header.
pub(crate) struct Dictionary<'a> {
    cursor: Cursor<'a>,
    keys: Keys<'a>,
}

impl<'a> Dictionary<'a> {
    pub(crate) fn new(header: &'a [u8]) -> Result<Self, ParseError> {
        if header.len() > MAX_HEADER_BYTES {
            return Err(ParseError {
                at: MAX_HEADER_BYTES,
                kind: ParseErrorKind::TooLong,
            });
        }
        let mut cursor = Cursor::new(header);
        cursor.skip_spaces();
        Ok(Self {
            cursor,
            keys: Keys::new(),
        })
    }

    /// The next key, or `None` at the end of the header.
    pub(crate) fn next_member(&mut self) -> Result<Option<Member<'a>>, ParseError> {
        if !self.step_to_member()? {
            return Ok(None);
        }
        let at = self.cursor.at();
        let key = self.cursor.key()?;
        self.keys
            .insert(key)
            .map_err(|kind| ParseError { at, kind })?;
        let value = if self.cursor.eat(b'=') {
            Value::Written
        } else {
            Value::Implied(at)
        };
        Ok(Some(Member { key, value }))
    }

    /// Reads a value of no interest, whatever its type.
    pub(crate) fn ignore(&mut self, member: Member<'a>) -> Result<(), ParseError> {
        self.item(member).map(|_| ())
    }

    /// Reads an integer from 0 to 4,294,967,295 and says where it stood.
    pub(crate) fn number(
        &mut self,
        member: Member<'a>,
    ) -> Result<Meaning<(usize, u32)>, ParseError> {
        Ok(self
            .integer(member)?
            .and_then(|(at, value)| match u32::try_from(value) {
                Ok(value) => Ok((at, value)),
                Err(_) => Err(ParseError {
                    at,
                    kind: ParseErrorKind::OutOfRange,
                }),
            }))
    }

    /// Reads an integer and says where it stood.
    pub(crate) fn integer(
        &mut self,
        member: Member<'a>,
    ) -> Result<Meaning<(usize, i64)>, ParseError> {
        Ok(match self.item(member)? {
            (at, Some(BareItem::Integer(value))) => Ok((at, value)),
            (at, _) => Err(ParseError {
                at,
                kind: ParseErrorKind::WrongType,
            }),
        })
    }

    /// Reads the `N` bytes of a name, and says where they stood.
    pub(crate) fn name<const N: usize>(
        &mut self,
        member: Member<'a>,
    ) -> Result<Meaning<(usize, [u8; N])>, ParseError> {
        let (at, item) = self.item(member)?;
        Ok(name_of(at, item))
    }

    /// Reads a token.
    pub(crate) fn token(&mut self, member: Member<'a>) -> Result<Meaning<&'a str>, ParseError> {
        let (at, item) = self.item(member)?;
        let wrong = ParseError {
            at,
            kind: ParseErrorKind::WrongType,
        };
        let Some(BareItem::Token(letters)) = item else {
            return Ok(Err(wrong));
        };
        Ok(str::from_utf8(letters).map_err(|_| wrong))
    }

    /// Enters an inner list if the value is one; if it is not, reads over it and says where it
    /// stood. Inside, alternate [`next_item`](Self::next_item) and
    /// [`next_parameter`](Self::next_parameter), each until `None`.
    pub(crate) fn enter_list(&mut self, member: Member<'a>) -> Result<Meaning<()>, ParseError> {
        if matches!(member.value, Value::Written) && self.cursor.eat(b'(') {
            return Ok(Ok(()));
        }
        let (at, _) = self.item(member)?;
        Ok(Err(ParseError {
            at,
            kind: ParseErrorKind::WrongType,
        }))
    }

    /// The next item of the inner list and where it stands; after the last one the list's own
    /// parameters are read over.
    pub(crate) fn next_item(&mut self) -> Result<Option<(usize, BareItem<'a>)>, ParseError> {
        self.cursor.skip_spaces();
        if self.cursor.eat(b')') {
            self.ignore_parameters()?;
            return Ok(None);
        }
        let at = self.cursor.at();
        Ok(Some((at, self.cursor.bare_item()?)))
    }

    /// The next parameter of the list's latest item.
    pub(crate) fn next_parameter(&mut self) -> Result<Option<Parameter<'a>>, ParseError> {
        let parameter = self.parameter()?;
        if parameter.is_none() && !matches!(self.cursor.peek(), Some(b' ' | b')')) {
            return Err(self.cursor.syntax());
        }
        Ok(parameter)
    }

    /// Moves to the next key; `false` at the end of the header.
    fn step_to_member(&mut self) -> Result<bool, ParseError> {
        if self.keys.is_empty() {
            return Ok(self.cursor.peek().is_some());
        }
        self.skip_white_space();
        if self.cursor.peek().is_none() {
            return Ok(false);
        }
        self.cursor.expect(b',')?;
        self.skip_white_space();
        Ok(true)
    }

    /// Only around commas may there be tabs.
    fn skip_white_space(&mut self) {
        while self.cursor.eat(b' ') || self.cursor.eat(b'\t') {}
    }

    /// Reads the value with its parameters; `None` stands for an inner list.
    fn item(&mut self, member: Member<'a>) -> Result<(usize, Option<BareItem<'a>>), ParseError> {
        let (at, item) = match member.value {
            Value::Implied(at) => (at, Some(BareItem::Boolean)),
            Value::Written if self.cursor.peek() == Some(b'(') => {
                let at = self.cursor.at();
                self.ignore_list()?;
                return Ok((at, None));
            }
            Value::Written => (self.cursor.at(), Some(self.cursor.bare_item()?)),
        };
        self.ignore_parameters()?;
        Ok((at, item))
    }

    fn ignore_list(&mut self) -> Result<(), ParseError> {
        self.cursor.expect(b'(')?;
        while self.next_item()?.is_some() {
            while self.next_parameter()?.is_some() {}
        }
        Ok(())
    }

    fn ignore_parameters(&mut self) -> Result<(), ParseError> {
        while self.parameter()?.is_some() {}
        Ok(())
    }

    fn parameter(&mut self) -> Result<Option<Parameter<'a>>, ParseError> {
        if !self.cursor.eat(b';') {
            return Ok(None);
        }
        self.cursor.skip_spaces();
        let key_at = self.cursor.at();
        let key = self.cursor.key()?;
        let (value_at, value) = match self.cursor.eat(b'=') {
            true => (self.cursor.at(), self.cursor.bare_item()?),
            false => (key_at, BareItem::Boolean),
        };
        Ok(Some(Parameter {
            key,
            key_at,
            value_at,
            value,
        }))
    }
}

/// The `N` bytes of a name out of a byte sequence that stands at `at`.
pub(crate) fn name_of<const N: usize>(
    at: usize,
    item: Option<BareItem<'_>>,
) -> Meaning<(usize, [u8; N])> {
    let Some(BareItem::Bytes(text)) = item else {
        return Err(ParseError {
            at,
            kind: ParseErrorKind::WrongType,
        });
    };
    let mut bytes = [0; N];
    base64::read_exact(text, &mut bytes)
        .map(|()| (at, bytes))
        .ok_or(ParseError {
            at,
            kind: ParseErrorKind::WrongBytes,
        })
}

/// The most keys that a header may have, those that are ignored included.
const MAX_KEYS: usize = 32;

/// The keys seen so far, to find one that comes again.
struct Keys<'a> {
    seen: [&'a [u8]; MAX_KEYS],
    count: usize,
    /// A bit for each (first letter, length) seen: the comparison is rarely needed.
    sketch: u64,
}

impl<'a> Keys<'a> {
    fn new() -> Self {
        Self {
            seen: [&[]; MAX_KEYS],
            count: 0,
            sketch: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn insert(&mut self, key: &'a [u8]) -> Result<(), ParseErrorKind> {
        let first = key.first().copied().unwrap_or_default();
        let bit = 1 << ((usize::from(first) ^ (key.len() << 4)) % 64);
        let seen = self.seen.get(..self.count).unwrap_or_default();
        if self.sketch & bit != 0 && seen.contains(&key) {
            return Err(ParseErrorKind::DuplicateKey);
        }
        *self
            .seen
            .get_mut(self.count)
            .ok_or(ParseErrorKind::TooManyKeys)? = key;
        self.count += 1;
        self.sketch |= bit;
        Ok(())
    }
}
