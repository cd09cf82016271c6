//! Base64 of the few bytes that a name has; no allocation, no table that could be indexed wrongly.

use std::fmt::{self, Write};

/// Writes the standard alphabet with padding, as RFC 9651 byte sequences have it.
pub(crate) fn write_standard(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.chunks(3).try_for_each(|chunk| {
        write_letters(f, chunk, '+', '/')?;
        (chunk.len()..3).try_for_each(|_| f.write_char('='))
    })
}

/// Writes the alphabet that is safe in a URL, without padding.
pub(crate) fn write_url(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes
        .chunks(3)
        .try_for_each(|chunk| write_letters(f, chunk, '-', '_'))
}

/// Reads exactly `bytes.len()` bytes out of their canonical padded text: `None` when the text has
/// another length, a foreign letter, or bits set in its padding.
pub(crate) fn read_exact(text: &[u8], bytes: &mut [u8]) -> Option<()> {
    if text.len() != bytes.len().div_ceil(3) * 4 {
        return None;
    }
    for (group, chunk) in text.chunks_exact(4).zip(bytes.chunks_mut(3)) {
        read_group(group, chunk)?;
    }
    Some(())
}

fn write_letters(f: &mut fmt::Formatter<'_>, chunk: &[u8], c62: char, c63: char) -> fmt::Result {
    let bits = chunk
        .iter()
        .fold(0, |bits, byte| bits << 8 | u32::from(*byte))
        << (8 * (3 - chunk.len()));
    (0..=chunk.len()).try_for_each(|at| {
        let value = (bits >> (18 - 6 * at)) as u8 & 63;
        f.write_char(match value {
            0..=25 => char::from(b'A' + value),
            26..=51 => char::from(b'a' + value - 26),
            52..=61 => char::from(b'0' + value - 52),
            62 => c62,
            _ => c63,
        })
    })
}

fn read_group(group: &[u8], chunk: &mut [u8]) -> Option<()> {
    let letters = chunk.len() + 1;
    let mut bits = 0_u32;
    for (at, letter) in group.iter().enumerate() {
        bits <<= 6;
        match at < letters {
            true => bits |= u32::from(value(*letter)?),
            false if *letter == b'=' => {}
            false => return None,
        }
    }
    let [_, first, second, third] = bits.to_be_bytes();
    let decoded = [first, second, third];
    let (kept, padding) = decoded.split_at(chunk.len());
    chunk.copy_from_slice(kept);
    padding.iter().all(|byte| *byte == 0).then_some(())
}

fn value(letter: u8) -> Option<u8> {
    match LETTERS[letter as usize] {
        FOREIGN => None,
        value => Some(value),
    }
}

const FOREIGN: u8 = 255;

/// The value of each letter; 256 entries, so that no byte can fall outside.
const LETTERS: [u8; 256] = {
    let mut table = [FOREIGN; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = 0;
    while value < 64 {
        table[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    table
};

/// Whether `byte` is one of the 64 letters.
pub(crate) fn is_letter(byte: u8) -> bool {
    value(byte).is_some()
}
