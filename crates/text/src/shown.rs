//! Invisible characters made visible, for terminals and messages.

use crate::{Class, table};

/// The text with every invisible character of the table written as `⟨U+200B⟩`.
///
/// LF and TAB stay, and so do the characters of the table that one can see (dashes, quotation
/// marks, Arabic number signs, U+FFFD). Safe to print: no control and no bidi character is left.
///
/// ```
/// assert_eq!(headwater_text::shown("pol\u{200B}icy"), "pol⟨U+200B⟩icy");
/// ```
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_visible(c) {
            out.push(c);
        } else {
            out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
        }
    }
    out
}

fn is_visible(c: char) -> bool {
    match table::class(c) {
        None | Some(Class::Tab | Class::Typography | Class::PrependedMark) => true,
        Some(Class::LostData) => c == '\u{FFFD}',
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn shows_what_cannot_be_seen() {
        check("", "");
        check("a\tb\nc", "a\tb\nc");
        check("a\r\nb", "a⟨U+000D⟩\nb");
        check("a\u{202E}b\u{E0041}", "a⟨U+202E⟩b⟨U+E0041⟩");
        check("a\u{A0}b\u{3000}c", "a⟨U+00A0⟩b⟨U+3000⟩c");
        check("a “b” – c\u{FFFD}", "a “b” – c\u{FFFD}");
        check("\u{1B}[31m", "⟨U+001B⟩[31m");
    }
}
