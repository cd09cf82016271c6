//! Reads RFC 8259 and nothing beyond. Recursion ends at [`MAX_DEPTH`].

use std::borrow::Cow;

use headwater_text::Span;

use super::error::Fault;
use super::number::{is_not_finite, is_number};
use super::{JsonErrorKind as Kind, Member, Node, Value, string};

/// So many lists and objects may be inside each other.
pub const MAX_DEPTH: usize = 128;

/// A text of more bytes is refused unread: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The value that `text` spells, and nothing but white space around it.
pub(super) fn read(text: &str) -> Result<Node<'_>, Fault> {
    if text.len() > MAX_BYTES {
        return Err(Fault::new(Kind::TooLarge, 0));
    }
    if text.starts_with('\u{FEFF}') {
        return Err(Fault::new(Kind::ByteOrderMark, 0));
    }
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.fault(Kind::TrailingData));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    /// The next byte. Always at the start of a character.
    at: usize,
}

/// What follows an element or a member.
enum Next {
    Another,
    End,
}

impl<'a> Reader<'a> {
    /// A value inside `depth` lists and objects.
    fn value(&mut self, depth: usize) -> Result<Node<'a>, Fault> {
        self.skip_space();
        let start = self.at;
        let value = match self.peek() {
            None => return Err(self.fault(Kind::UnexpectedEnd)),
            Some(b'{') => Value::Object(self.object(depth)?),
            Some(b'[') => Value::Array(self.array(depth)?),
            Some(b'"') => Value::String(self.string()?),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => Value::Number(self.number()?),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.word()?,
            Some(b'\'') => return Err(self.fault(Kind::SingleQuote)),
            Some(_) => return Err(self.fault(Kind::ExpectedValue)),
        };
        let span = Span {
            start,
            end: self.at,
        };
        Ok(Node { span, value })
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node<'a>>, Fault> {
        let mut elements = Vec::new();
        let Next::Another = self.open(depth, b']')? else {
            return Ok(elements);
        };
        loop {
            let element = self.value(depth + 1);
            elements.push(element.map_err(|fault| fault.inside(elements.len()))?);
            let Next::Another = self.next(b']')? else {
                return Ok(elements);
            };
        }
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member<'a>>, Fault> {
        let mut members = Vec::new();
        let Next::Another = self.open(depth, b'}')? else {
            return Ok(members);
        };
        loop {
            members.push(self.member(depth)?);
            let Next::Another = self.next(b'}')? else {
                refuse_duplicates(&members)?;
                return Ok(members);
            };
        }
    }

    fn member(&mut self, depth: usize) -> Result<Member<'a>, Fault> {
        let start = self.at;
        let key = self.key()?;
        let key_span = Span {
            start,
            end: self.at,
        };
        let node = self
            .named_value(depth)
            .map_err(|fault| fault.inside(&key))?;
        Ok(Member {
            key,
            key_span,
            node,
        })
    }

    fn key(&mut self) -> Result<Cow<'a, str>, Fault> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'\'') => Err(self.fault(Kind::SingleQuote)),
            Some(_) => Err(self.fault(Kind::ExpectedKey)),
            None => Err(self.fault(Kind::UnexpectedEnd)),
        }
    }

    /// The colon and what follows it.
    fn named_value(&mut self, depth: usize) -> Result<Node<'a>, Fault> {
        self.skip_space();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(self.fault(Kind::ExpectedColon)),
            None => return Err(self.fault(Kind::UnexpectedEnd)),
        }
        self.value(depth + 1)
    }

    /// The opening bracket, and whether anything is inside.
    fn open(&mut self, depth: usize, close: u8) -> Result<Next, Fault> {
        if depth >= MAX_DEPTH {
            return Err(self.fault(Kind::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        match self.peek() {
            None => Err(self.fault(Kind::UnexpectedEnd)),
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(Next::End)
            }
            Some(_) => Ok(Next::Another),
        }
    }

    /// The comma before another element, or the closing bracket.
    fn next(&mut self, close: u8) -> Result<Next, Fault> {
        self.skip_space();
        let comma = self.at;
        match self.peek() {
            None => Err(self.fault(Kind::UnexpectedEnd)),
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(Next::End)
            }
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                if self.peek() == Some(close) {
                    return Err(Fault::new(Kind::TrailingComma, comma));
                }
                Ok(Next::Another)
            }
            Some(_) => Err(self.fault(Kind::ExpectedComma)),
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let (decoded, end) = string::read(self.text, self.at)?;
        self.at = end;
        Ok(decoded)
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        let run = self.run(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte));
        if is_number(run) {
            return Ok(run);
        }
        let kind = if is_not_finite(run) {
            Kind::NotFinite
        } else {
            Kind::BadNumber
        };
        Err(Fault::new(kind, start))
    }

    fn word(&mut self) -> Result<Value<'a>, Fault> {
        let start = self.at;
        match self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            run if is_not_finite(run) => Err(Fault::new(Kind::NotFinite, start)),
            _ => Err(Fault::new(Kind::BadWord, start)),
        }
    }

    /// The bytes from here on that belong, all of them ASCII.
    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|byte| !belongs(byte));
        let run = &rest[..end.unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    fn skip_space(&mut self) {
        self.run(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, kind: Kind) -> Fault {
        Fault::new(kind, self.at)
    }
}

/// Points at the first key of the text that an earlier one equals.
fn refuse_duplicates(members: &[Member<'_>]) -> Result<(), Fault> {
    let mut sorted: Vec<&Member<'_>> = members.iter().collect();
    // Stable, so that of two equal keys the second is the later one.
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    let repeated = sorted
        .windows(2)
        .filter(|pair| pair[0].key == pair[1].key)
        .map(|pair| pair[1])
        .min_by_key(|member| member.key_span.start);
    let Some(member) = repeated else {
        return Ok(());
    };
    Err(Fault::new(Kind::DuplicateKey, member.key_span.start).inside(&member.key))
}
