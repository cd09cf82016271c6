//! JSON as values with places. Strict, as RFC 8259 has it, so that an error has the right place.

use headwater_text::Span;

use super::{
    MAX_DEPTH,
    json_string::unescape,
    value::{Data, Style, Text, Value},
};
use crate::problem::Problem;

/// Reads a JSON text, which a byte order mark may precede.
pub(crate) fn read_json(text: &str) -> Result<Value<'_>, Problem> {
    let mut reader = Reader {
        text,
        at: text.len() - text.trim_start_matches('\u{FEFF}').len(),
    };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.error("expected the end of the file"));
    }
    Ok(value)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn value(&mut self, depth: usize) -> Result<Value<'t>, Problem> {
        if depth > MAX_DEPTH {
            return Err(self.error("values nest too deep to be read"));
        }
        let start = self.at;
        let data = match self.peek() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Data::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Value {
            span: Span::new(start, self.at),
            data,
        })
    }

    fn map(&mut self, depth: usize) -> Result<Data<'t>, Problem> {
        let mut pairs = Vec::new();
        self.at += 1;
        self.space();
        if self.take(b'}') {
            return Ok(Data::Map(pairs));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.space();
            if !self.take(b':') {
                return Err(self.error("expected `:` behind the key"));
            }
            self.space();
            pairs.push((key, self.value(depth + 1)?));
            self.space();
            if self.take(b'}') {
                return Ok(Data::Map(pairs));
            }
            if !self.take(b',') {
                return Err(self.error("expected `,` or `}`"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Data<'t>, Problem> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        if self.take(b']') {
            return Ok(Data::List(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(b']') {
                return Ok(Data::List(items));
            }
            if !self.take(b',') {
                return Err(self.error("expected `,` or `]`"));
            }
        }
    }

    fn string(&mut self) -> Result<Text<'t>, Problem> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => {
                    self.at = start;
                    return Err(self.error("this string is never closed; expected `\"`"));
                }
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => {
                    return Err(
                        self.error("a control character in a string; write it as an escape")
                    );
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let span = Span::new(start, self.at);
        Ok(Text {
            value: unescape(&self.text[span.start..span.end]),
            span,
            style: Style::Json,
        })
    }

    fn escape(&mut self) -> Result<(), Problem> {
        let bytes = self.text.as_bytes();
        match bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = bytes.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.error("expected four hexadecimal digits behind `\\u`"));
                }
                self.at += 6;
            }
            _ => return Err(self.error("an escape that JSON does not have")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Data<'t>, Problem> {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        // A number too large to be one of ours is still a number.
        if serde_json::from_str::<serde::de::IgnoredAny>(&rest[..length]).is_err() {
            return Err(self.error("not a number"));
        }
        self.at += length;
        Ok(Data::Other)
    }

    fn word(&mut self) -> Result<Data<'t>, Problem> {
        for word in ["true", "false", "null"] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(Data::Other);
            }
        }
        Err(self.error("expected a value"))
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, message: &str) -> Problem {
        let mut at = self.at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        Problem::new(Span::new(at, at), format!("not valid JSON: {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_places() {
        let text = "\u{FEFF} {\"a\": [1, \"x\\ny\", {}], \"b\" : null}";
        let value = read_json(text).unwrap();
        let list = value.get("a").unwrap();
        assert_eq!(&text[list.span.start..list.span.end], "[1, \"x\\ny\", {}]");
        assert_eq!(list.items()[1].str(), Some("x\ny"));
        assert!(value.get("c").is_none());
    }

    #[test]
    fn errors_have_a_place() {
        let check = |text: &str, at, message: &str| {
            let problem = read_json(text).unwrap_err();
            assert_eq!(problem.span.start, at, "{text}: {problem:?}");
            assert!(problem.message.contains(message), "{text}: {problem:?}");
        };
        check("", 0, "expected a value");
        check("{\"a\" 1}", 5, "expected `:`");
        check("[1 2]", 3, "expected `,` or `]`");
        check("[\"a]", 1, "never closed");
        check("[\"\\x\"]", 2, "an escape that JSON");
        check("[\"\\u12g4\"]", 2, "four hexadecimal");
        check("{} x", 3, "the end of the file");
        check("[-]", 1, "not a number");
        check("[\"a\nb\"]", 3, "a control character");
        check(&"[".repeat(100_000), MAX_DEPTH + 1, "too deep");
    }
}
