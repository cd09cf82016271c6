//! The members of an RFC 9651 dictionary, one after the other, with our limits on top.

use crate::item::{BareItem, Cursor};
use crate::signature::MAX_HEADER_BYTES;
use crate::{ParseError, ParseErrorKind};

/// The key of a member or of a parameter. Its value is still to be read, by exactly one of
/// [`Dictionary`]'s readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
    value: Value,
}

/// What can follow a key.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// No value is written: the Boolean true, found where its key starts.
    Implied,
    /// A parameter's value.
    Item,
    /// A member's value.
    ItemOrList,
}

/// A value with its place, if it is of its key's type and range; else why not.
///
/// This is not an error yet, as only the whole header tells which version's keys these are.
/// Errors of syntax are: they stop the reading at once.
pub(crate) type Meaning<T> = Result<(usize, T), ParseError>;

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

    /// The next member's key, or `None` at the end of the header. The parameters of the member
    /// before, which nobody asks for, are read over.
    #[inline]
    pub(crate) fn next_member(&mut self) -> Result<Option<Key<'a>>, ParseError> {
        if !self.step_to_member()? {
            return Ok(None);
        }
        let key = self.key(Value::ItemOrList)?;
        self.keys
            .insert(key.text)
            .map_err(|kind| ParseError { at: key.at, kind })?;
        Ok(Some(key))
    }

    /// Reads a value of no interest, whatever its type.
    pub(crate) fn ignore(&mut self, key: Key<'a>) -> Result<(), ParseError> {
        self.value(key).map(|_| ())
    }

    /// Reads an integer.
    #[inline]
    pub(crate) fn integer(&mut self, key: Key<'a>) -> Result<Meaning<i64>, ParseError> {
        Ok(match self.value(key)? {
            (at, Some(BareItem::Integer(value))) => Ok((at, value)),
            (at, _) => Err(ParseError {
                at,
                kind: ParseErrorKind::WrongType,
            }),
        })
    }

    /// Reads an integer from 0 to 4,294,967,295.
    #[inline]
    pub(crate) fn number(&mut self, key: Key<'a>) -> Result<Meaning<u32>, ParseError> {
        Ok(self
            .integer(key)?
            .and_then(|(at, value)| match u32::try_from(value) {
                Ok(value) => Ok((at, value)),
                Err(_) => Err(ParseError {
                    at,
                    kind: ParseErrorKind::OutOfRange,
                }),
            }))
    }

    /// Reads the `N` bytes of a name.
    #[inline]
    pub(crate) fn name<const N: usize>(
        &mut self,
        key: Key<'a>,
    ) -> Result<Meaning<[u8; N]>, ParseError> {
        let at = self.cursor.at();
        if !matches!(key.value, Value::Implied)
            && let Some(bytes) = self.cursor.canonical_bytes()
        {
            return Ok(Ok((at, bytes)));
        }
        // It is something else, then; but is it anything at all?
        let (at, kind) = match self.value(key)? {
            (at, Some(BareItem::Bytes)) => (at, ParseErrorKind::WrongBytes),
            (at, _) => (at, ParseErrorKind::WrongType),
        };
        Ok(Err(ParseError { at, kind }))
    }

    /// Reads a token.
    pub(crate) fn token(&mut self, key: Key<'a>) -> Result<Meaning<&'a str>, ParseError> {
        let (at, item) = self.value(key)?;
        let token = match item {
            Some(BareItem::Token(letters)) => str::from_utf8(letters).ok(),
            _ => None,
        };
        Ok(token.map(|token| (at, token)).ok_or(ParseError {
            at,
            kind: ParseErrorKind::WrongType,
        }))
    }

    /// Enters an inner list if the value is one, and reads over it if it is not.
    ///
    /// Inside, take items by [`next_item`](Self::next_item), and after each all its parameters by
    /// [`next_parameter`](Self::next_parameter), until there is none.
    pub(crate) fn enter_list(&mut self, key: Key<'a>) -> Result<Meaning<()>, ParseError> {
        let at = self.cursor.at();
        if matches!(key.value, Value::ItemOrList) && self.cursor.eat(b'(') {
            return Ok(Ok((at, ())));
        }
        let (at, _) = self.value(key)?;
        Ok(Err(ParseError {
            at,
            kind: ParseErrorKind::WrongType,
        }))
    }

    /// The next item of the inner list and where it stands.
    #[inline]
    pub(crate) fn next_item(&mut self) -> Result<Option<(usize, BareItem<'a>)>, ParseError> {
        self.cursor.skip_spaces();
        if self.cursor.eat(b')') {
            return Ok(None);
        }
        let at = self.cursor.at();
        Ok(Some((at, self.cursor.bare_item()?)))
    }

    /// The key of the next parameter of the list's latest item.
    #[inline]
    pub(crate) fn next_parameter(&mut self) -> Result<Option<Key<'a>>, ParseError> {
        let parameter = self.parameter()?;
        if parameter.is_none() && !matches!(self.cursor.peek(), Some(b' ' | b')')) {
            return Err(self.cursor.syntax());
        }
        Ok(parameter)
    }

    /// The name behind `start`, if it is the only parameter of the list's latest item and all is
    /// written as we write it; else nothing has been read.
    ///
    /// Nearly all parameters that come are such: this is what makes reading fast.
    #[inline]
    pub(crate) fn plain_name<const N: usize>(&mut self, start: &[u8]) -> Option<[u8; N]> {
        let mut cursor = self.cursor;
        cursor.eat_all(start)?;
        let bytes = cursor.canonical_bytes()?;
        if !matches!(cursor.peek(), Some(b' ' | b')')) {
            return None;
        }
        self.cursor = cursor;
        Some(bytes)
    }

    /// Moves to the next key; `false` at the end of the header.
    fn step_to_member(&mut self) -> Result<bool, ParseError> {
        if self.keys.is_empty() {
            return Ok(self.cursor.peek().is_some());
        }
        self.ignore_parameters()?;
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

    /// Reads a value and says where it stood; `None` stands for an inner list.
    #[inline]
    fn value(&mut self, key: Key<'a>) -> Result<(usize, Option<BareItem<'a>>), ParseError> {
        let at = self.cursor.at();
        if matches!(key.value, Value::ItemOrList) && self.cursor.eat(b'(') {
            self.ignore_items()?;
            return Ok((at, None));
        }
        let (at, item) = self.bare_value(key)?;
        Ok((at, Some(item)))
    }

    /// Reads a value that is no list.
    #[inline]
    fn bare_value(&mut self, key: Key<'a>) -> Result<(usize, BareItem<'a>), ParseError> {
        match key.value {
            Value::Implied => Ok((key.at, BareItem::Other)),
            Value::Item | Value::ItemOrList => Ok((self.cursor.at(), self.cursor.bare_item()?)),
        }
    }

    fn ignore_items(&mut self) -> Result<(), ParseError> {
        while self.next_item()?.is_some() {
            while let Some(parameter) = self.next_parameter()? {
                self.bare_value(parameter)?;
            }
        }
        Ok(())
    }

    fn ignore_parameters(&mut self) -> Result<(), ParseError> {
        while let Some(parameter) = self.parameter()? {
            self.bare_value(parameter)?;
        }
        Ok(())
    }

    #[inline]
    fn parameter(&mut self) -> Result<Option<Key<'a>>, ParseError> {
        if !self.cursor.eat(b';') {
            return Ok(None);
        }
        self.cursor.skip_spaces();
        self.key(Value::Item).map(Some)
    }

    #[inline]
    fn key(&mut self, written: Value) -> Result<Key<'a>, ParseError> {
        let at = self.cursor.at();
        let text = self.cursor.key()?;
        let value = if self.cursor.eat(b'=') {
            written
        } else {
            Value::Implied
        };
        Ok(Key { text, at, value })
    }
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

    #[inline]
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
