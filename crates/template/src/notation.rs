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

/// A literal block holds any line, but its indentation is told by its first one.
fn literal(place: &Place<'_>, indent: usize, text: &str) -> Option<String> {
    let leads = place.at_start && text.starts_with([' ', '\n', '\r', '\t']);
    // Line ends at the end of a block depend on its header.
    let trails = place.at_end
        && (text.is_empty() || text.ends_with('\n'))
        && !place.file[place.span.start..place.span.end].ends_with('\n');
    let reached = place.file[place.span.start..place.span.end].contains(['\n', '\r']);
    let is_emptied = text.is_empty() && reached;
    if !is_printable_block(text) || leads || trails || is_emptied && place.at_start {
        return None;
    }
    if reached && !text.ends_with('\n') && place.file[..place.span.end].ends_with(['\n', '\r']) {
        // The indentation of the line behind would become text.
        return None;
    }
    let margin = " ".repeat(indent);
    let mut written = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            written.push('\n');
            // The line that the text runs into has its indentation already if a line end was replaced.
            let is_last_and_empty = line.is_empty();
            if !is_last_and_empty {
                written.push_str(&margin);
            }
        }
        written.push_str(line);
    }
    if text.ends_with('\n') && !reached {
        written.push_str(&margin);
    }
    Some(written)
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
