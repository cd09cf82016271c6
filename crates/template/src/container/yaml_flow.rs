//! A YAML scalar without quotes or in quotes: escapes, and lines that are folded.

use headwater_text::Span;

use super::value::Style;
use crate::{notation::Notation, offset_map::Decoder};

/// Decodes a scalar with its quotes, which begins at byte `base` of the file.
pub(crate) fn decode(raw: &str, base: usize, style: Style, decoder: &mut Decoder) {
    let (notation, quotes) = match style {
        Style::YamlDouble => (Notation::YamlDouble, 1),
        Style::YamlSingle => (Notation::YamlSingle, 1),
        _ => (Notation::YamlPlain, 0),
    };
    decoder.begin(notation);
    let end = raw.len().saturating_sub(quotes);
    let Some(inner) = raw.get(quotes..end) else {
        return;
    };
    let mut reader = Reader {
        inner,
        base: base + quotes,
        at: 0,
        decoder,
    };
    while reader.at < inner.len() {
        reader.piece(style);
    }
}

struct Reader<'a> {
    inner: &'a str,
    base: usize,
    at: usize,
    decoder: &'a mut Decoder,
}

impl Reader<'_> {
    fn piece(&mut self, style: Style) {
        let rest = &self.inner[self.at..];
        let special = |c: char| {
            matches!(c, ' ' | '\t' | '\n' | '\r')
                || c == '\\' && style == Style::YamlDouble
                || c == '\'' && style == Style::YamlSingle
        };
        let copied = rest.find(special).unwrap_or(rest.len());
        if copied > 0 {
            return self.copy(copied);
        }
        match rest.as_bytes()[0] {
            b'\\' => self.escape(),
            b'\'' => self.stand_for("'", 2),
            _ => self.space(),
        }
    }

    fn copy(&mut self, length: usize) {
        let text = &self.inner[self.at..self.at + length];
        self.decoder.copy(text, self.base + self.at);
        self.at += length;
    }

    fn stand_for(&mut self, text: &str, length: usize) {
        let end = (self.at + length).min(self.inner.len());
        let span = Span::new(self.base + self.at, self.base + end);
        self.decoder.stand_for(text, span);
        self.at = end;
    }

    /// White space: itself, or a line end with what is folded around it.
    fn space(&mut self) {
        let rest = &self.inner[self.at..];
        let run = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let run = &rest[..rest.len() - run.len()];
        match run.matches('\n').count() {
            0 => self.copy(run.len()),
            1 => self.stand_for(" ", run.len()),
            breaks => self.stand_for(&"\n".repeat(breaks - 1), run.len()),
        }
    }

    fn escape(&mut self) {
        let rest = &self.inner[self.at + 1..];
        let Some(c) = rest.chars().next() else {
            self.at = self.inner.len();
            return;
        };
        let simple = match c {
            'n' => "\n",
            't' | '\t' => "\t",
            'r' => "\r",
            '0' => "\0",
            'a' => "\u{7}",
            'b' => "\u{8}",
            'v' => "\u{b}",
            'f' => "\u{c}",
            'e' => "\u{1b}",
            ' ' => " ",
            '"' => "\"",
            '/' => "/",
            '\\' => "\\",
            'N' => "\u{85}",
            '_' => "\u{a0}",
            'L' => "\u{2028}",
            'P' => "\u{2029}",
            'x' => return self.code(2),
            'u' => return self.code(4),
            'U' => return self.code(8),
            // The line goes on without a space.
            _ => {
                let joined = rest.trim_start_matches([' ', '\t', '\n', '\r']);
                self.at = self.inner.len() - joined.len();
                return;
            }
        };
        self.stand_for(simple, 2);
    }

    fn code(&mut self, digits: usize) {
        let code = self.inner.get(self.at + 2..self.at + 2 + digits);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        let c = code.and_then(char::from_u32).unwrap_or('\u{FFFD}');
        self.stand_for(c.encode_utf8(&mut [0; 4]), 2 + digits);
    }
}
