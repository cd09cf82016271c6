//! Where a tag ends.

/// The byte behind `close`, which is looked for from `from` on; strings in quotes are skipped.
///
/// A quote that is never closed is an apostrophe.
pub(super) fn end_of_tag(text: &str, from: usize, close: &str, quotes: &[u8]) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    // No closing delimiter behind this byte: then the search ends before it begins.
    let last = from + text[from..].find(close)?;
    let mut first_plain = None;
    while at < bytes.len() {
        if bytes[at..].starts_with(close.as_bytes()) {
            return Some(at + close.len());
        }
        if close.ends_with("}}") && !quotes.is_empty() && bytes[at..].starts_with(b"{{") {
            // The next tag: what hid the end of this one was no string.
            return first_plain.map(|end| end + close.len());
        }
        if quotes.contains(&bytes[at]) {
            let quote = bytes[at];
            first_plain = first_plain.or(Some(last));
            match end_of_string(bytes, at + 1, quote) {
                Some(end) => at = end,
                None => return first_plain.map(|end| end + close.len()),
            }
        } else {
            at += 1;
        }
    }
    first_plain.map(|end| end + close.len())
}

/// The byte behind the quote that closes a string, on the same line or a few further.
fn end_of_string(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    /// Longer strings in a tag are no strings.
    const MAX_BYTES: usize = 4096;
    let end = bytes.len().min(from + MAX_BYTES);
    let mut at = from;
    while at < end {
        match bytes[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}
