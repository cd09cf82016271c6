//! How a string is written in a file, and how to write another text in its place.

use headwater_text::Span;

/// How the text of a template is written in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// Just so.
    Verbatim,
    /// Between double quotes, with the escapes of JSON.
    Json,
    /// YAML between double quotes.
    YamlDouble,
    /// YAML between single quotes.
    YamlSingle,
    /// YAML without quotes.
    YamlPlain,
    /// YAML behind `|`, with this many spaces at the start of each line.
    YamlLiteral { indent: usize },
    /// YAML behind `>`.
    YamlFolded,
    /// Part of the file, written in a way that was not understood.
    Opaque,
}

/// Where a replacement goes.
pub(crate) struct Place<'f> {
    pub(crate) file: &'f str,
    /// What it replaces, in bytes of the file.
    pub(crate) span: Span,
    /// It is the first text of its string.
    pub(crate) at_start: bool,
    /// It is the last text of its string.
    pub(crate) at_end: bool,
    /// It is whole lines of a literal block, with indentation and line ends.
    pub(crate) whole_lines: bool,
}

impl Place<'_> {
    /// A place that begins at the start of a line's text and ends with a line's end takes the indentation
    /// with it, so that nothing of the line is left.
    pub(crate) fn take_whole_lines(&mut self, indent: usize) {
        let start = self.span.start.saturating_sub(indent);
        let margin = &self.file.as_bytes()[start..self.span.start];
        if self.at_end && self.span.start == self.span.end {
            // Behind the last line end stands no indentation yet.
            self.whole_lines = self.file[..start + indent].ends_with('\n');
            return;
        }
        // From the text back: most places have text before them, and are done at once.
        let begins_line = margin.iter().rev().all(|byte| *byte == b' ')
            && (start == 0 || self.file.as_bytes()[start - 1] == b'\n');
        if begins_line && self.file[self.span.start..self.span.end].ends_with('\n') {
            self.span.start = start;
            self.whole_lines = true;
        }
    }
}

/// Writes a text in a notation; none if that is not safe there.
pub(crate) fn write(notation: Notation, place: &Place<'_>, text: &str) -> Option<String> {
    match notation {
        Notation::Verbatim => Some(text.to_owned()),
        Notation::Json => Some(escaped(text, json_escape)),
        Notation::YamlDouble => on_one_line(place).then(|| escaped(text, yaml_escape)),
        Notation::YamlSingle => {
            let fits = on_one_line(place) && is_printable(text) && !at_a_border_of_a_line(place);
            fits.then(|| text.replace('\'', "''"))
        }
        Notation::YamlPlain | Notation::YamlFolded => {
            let fits = on_one_line(place)
                && is_printable(text)
                && is_harmless(text)
                && !at_a_border_of_a_line(place);
            fits.then(|| text.to_owned())
        }
        Notation::YamlLiteral { indent } => literal(place, indent, text),
        Notation::Opaque => None,
    }
}

fn escaped(text: &str, escape: impl Fn(char) -> Option<String>) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match escape(c) {
            Some(escape) => written.push_str(&escape),
            None => written.push(c),
        }
    }
    written
}

fn json_escape(c: char) -> Option<String> {
    match c {
        '"' => Some("\\\"".to_owned()),
        '\\' => Some("\\\\".to_owned()),
        '\n' => Some("\\n".to_owned()),
        '\r' => Some("\\r".to_owned()),
        '\t' => Some("\\t".to_owned()),
        c if u32::from(c) < 0x20 => Some(format!("\\u{:04x}", u32::from(c))),
        _ => None,
    }
}

fn yaml_escape(c: char) -> Option<String> {
    match c {
        '\u{85}' => Some("\\N".to_owned()),
        '\u{2028}' => Some("\\L".to_owned()),
        '\u{2029}' => Some("\\P".to_owned()),
        '\u{FEFF}' => Some("\\uFEFF".to_owned()),
        c => json_escape(c),
    }
}

/// A literal block holds any line, but its first one tells its indentation, and its header says which
/// line ends at its end count.
fn literal(place: &Place<'_>, indent: usize, text: &str) -> Option<String> {
    let replaced = &place.file[place.span.start..place.span.end];
    let behind = &place.file[place.span.end..];
    let appends = place.whole_lines && replaced.is_empty();
    let ends_line = replaced.ends_with('\n') || appends;
    // Without it, the indentation of the line behind would become text.
    let ends_alike = !ends_line || text.ends_with('\n') || text.is_empty() && place.whole_lines;
    let first = text.chars().next().or(behind.chars().next());
    let begins_well = !place.at_start || first.is_some_and(|c| !c.is_whitespace());
    let last = text.strip_suffix('\n').unwrap_or(text);
    let says_something = last.ends_with(|c: char| !c.is_whitespace());
    let ends_well = !place.at_end || says_something && text.ends_with('\n') == ends_line;
    // A blank line may be shorter than the indentation.
    let is_deep = place.whole_lines || is_behind_margin(place, indent) || text.starts_with('\n');
    if !(ends_alike && is_deep && begins_well && ends_well && is_printable_block(text)) {
        return None;
    }
    if !text.contains('\n') && !place.whole_lines {
        return Some(text.to_owned());
    }
    let line_end = line_end_before(place);
    let margin = " ".repeat(indent);
    let mut written = String::with_capacity(text.len());
    if place.whole_lines && !text.is_empty() {
        written.push_str(&margin);
    }
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        written.push_str(line);
        let Some(next) = lines.peek() else { break };
        written.push_str(line_end);
        let is_last = next.is_empty() && text.len() == end_of(line, text);
        // A line that is replaced with its end is followed by one that has its indentation.
        if !next.is_empty() || is_last && !ends_line {
            written.push_str(&margin);
        }
    }
    Some(written)
}

/// At least `indent` bytes of the line stand before the place.
fn is_behind_margin(place: &Place<'_>, indent: usize) -> bool {
    let before = &place.file.as_bytes()[..place.span.start];
    let margin = before.len().checked_sub(indent).map(|at| &before[at..]);
    margin.is_some_and(|margin| !margin.contains(&b'\n'))
}

/// How the last line before a place ends; a block has at least its header there.
fn line_end_before(place: &Place<'_>) -> &'static str {
    let before = &place.file[..place.span.start];
    match before.rfind('\n') {
        Some(at) if before[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The byte behind a line of `text` and its end.
fn end_of(line: &str, text: &str) -> usize {
    line.as_ptr() as usize - text.as_ptr() as usize + line.len() + 1
}

fn on_one_line(place: &Place<'_>) -> bool {
    !place.file[place.span.start..place.span.end].contains(['\n', '\r'])
}

/// White space at the start and end of a line is folded away.
fn at_a_border_of_a_line(place: &Place<'_>) -> bool {
    let before = place.file[..place.span.start].trim_end_matches([' ', '\t']);
    let behind = place.file[place.span.end..].trim_start_matches([' ', '\t']);
    place.at_start
        || place.at_end
        || before.is_empty()
        || before.ends_with(['\n', '\r'])
        || behind.is_empty()
        || behind.starts_with(['\n', '\r'])
}

fn is_printable(text: &str) -> bool {
    text.chars().all(|c| {
        !c.is_control()
            && !matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
            )
    })
}

fn is_printable_block(text: &str) -> bool {
    text.split('\n')
        .all(|line| is_printable(&line.replace('\t', " ")))
}

/// It cannot begin a comment, a key or a flow in text without quotes.
fn is_harmless(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | ';' | '!' | '_' | '(' | ')' | '/'))
}
