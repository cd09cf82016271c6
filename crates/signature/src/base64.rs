//! Base64 of the few bytes that a name has; no allocation, no table that could be indexed wrongly.

use std::fmt::{self, Write};

/// Writes the standard alphabet with padding, as RFC 9651 byte sequences have it.
pub(crate) fn write_standard(f: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    bytes.chunks(3).try_for_each(|chunk| {
        write_letters(f, chunk, '+', '/')?;
        f.write_str("==".get(..3 - chunk.len()).unwrap_or_default())
    })
}

/// Writes the alphabet that is safe in a URL, without padding.
pub(crate) fn write_url(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes
        .chunks(3)
        .try_for_each(|chunk| write_letters(f, chunk, '-', '_'))
}

/// Reads `N` bytes out of their canonical padded text: `None` when the text has
/// another length, a foreign letter, or bits set in its padding.
#[inline]
pub(crate) fn read_exact<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let (letters, padding) = text.split_at_checked((8 * N).div_ceil(6))?;
    if text.len() != N.div_ceil(3) * 4 || padding.iter().any(|byte| *byte != b'=') {
        return None;
    }
    let mut bytes = [0; N];
    let mut foreign = 0;
    // Four letters are three bytes; groups do not wait for each other.
    for (group, three) in letters.chunks(4).zip(bytes.chunks_mut(3)) {
        let mut bits = 0_u32;
        for letter in group {
            let value = LETTERS[usize::from(*letter)];
            foreign |= value;
            bits = bits << 6 | u32::from(value & 63);
        }
        let [_, read @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        let (read, spare) = read.split_at_checked(three.len())?;
        three.copy_from_slice(read);
        // What is left over must be zero: one name has one text.
        if spare.iter().any(|byte| *byte != 0) {
            return None;
        }
    }
    (foreign != FOREIGN).then_some(bytes)
}

/// Whether `byte` is one of the 64 letters.
pub(crate) fn is_letter(byte: u8) -> bool {
    LETTERS[usize::from(byte)] != FOREIGN
}

fn write_letters(f: &mut impl Write, chunk: &[u8], c62: char, c63: char) -> fmt::Result {
    let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    let mut text = [0; 4];
    for (letter, shift) in text.iter_mut().zip([18, 12, 6, 0]) {
        let value = (bits >> shift & 63) as u8;
        *letter = match value {
            0..=25 => b'A' + value,
            26..=51 => b'a' + value - 26,
            52..=61 => b'0' + value - 52,
            62 => c62 as u8,
            _ => c63 as u8,
        };
    }
    // One call for all letters: a router writes a name into every answer.
    let letters = text.get(..=chunk.len()).unwrap_or_default();
    f.write_str(str::from_utf8(letters).unwrap_or_default())
}

/// No value of a letter, and not to be had by laying values over each other.
const FOREIGN: u8 = 255;

/// The value of each letter; 256 entries, so that no byte can fall outside.
const LETTERS: [u8; 256] = {
    let mut table = [FOREIGN; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value: u8 = 0;
    while value < 64 {
        table[alphabet[value as usize] as usize] = value;
        value += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_text_of_four_bytes_is_read() {
        let cases: [(&str, Option<[u8; 4]>); 8] = [
            ("b2xkLg==", Some(*b"old.")),
            ("+/+/+w==", Some([0xfb, 0xff, 0xbf, 0xfb])),
            ("b2xkLh==", None),
            ("b2xkLg=", None),
            ("b2xkLg", None),
            ("b2xkLgA=", None),
            ("b2xk-g==", None),
            ("b2=kLg==", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read_exact(text.as_bytes()), expected, "{text}");
        }
    }
}
