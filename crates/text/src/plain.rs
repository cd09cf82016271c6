//! The fast way over a text: it stops only where a character needs a closer look.

/// Stops at every character that is not plain, in order, with the byte where it starts.
///
/// A plain character is in no row of the table, composes with nothing before it, and is its own
/// form NFC. So text without other characters needs at most its line ends cleaned. Most prompts
/// are nothing but such text; a character that is not listed as plain costs time, nothing else.
pub(crate) fn odd(text: &str) -> Odd<'_> {
    Odd { text, at: 0 }
}

#[derive(Clone)]
pub(crate) struct Odd<'a> {
    text: &'a str,
    at: usize,
}

/// Bytes that are looked at together; a compiler turns that into a few instructions.
const CHUNK: usize = 16;

impl Odd<'_> {
    /// Passes chunks of plain ASCII.
    fn skip_ascii(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let (chunks, _) = rest.as_chunks::<CHUNK>();
        let plain = chunks.iter().take_while(|chunk| {
            chunk
                .iter()
                .fold(true, |plain, byte| plain & is_plain_ascii(*byte))
        });
        self.at += CHUNK * plain.count();
    }
}

impl Iterator for Odd<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            self.skip_ascii();
            let start = self.at;
            for (offset, c) in self.text.get(start..)?.char_indices() {
                let at = start + offset;
                if !is_plain(c) {
                    self.at = at + c.len_utf8();
                    return Some((at, c));
                }
                if offset >= CHUNK && c.is_ascii() {
                    self.at = at;
                    break;
                }
            }
            if self.at == start {
                self.at = self.text.len();
                return None;
            }
        }
    }
}

fn is_plain_ascii(byte: u8) -> bool {
    (byte.wrapping_sub(b' ') < 0x5F) | (byte == b'\n')
}

pub(crate) fn is_plain(c: char) -> bool {
    let code = c as usize;
    WORDS
        .get(code / 64)
        .is_some_and(|word| word >> (code % 64) & 1 == 1)
}

/// First and last of every run of plain characters that is worth its line, rising. A test holds
/// each of them to the tables that decide.
#[rustfmt::skip]
const RUNS: &[(u32, u32)] = &[
    (0x000A, 0x000A), (0x0020, 0x007E),
    // Latin, Greek, Cyrillic, Armenian.
    (0x00A1, 0x00AC), (0x00AE, 0x02FF), (0x0388, 0x0482), (0x0488, 0x0590),
    // Hebrew, Arabic.
    (0x05CA, 0x05FF), (0x061D, 0x064A), (0x0660, 0x066F), (0x0671, 0x06D5), (0x06EE, 0x06FF),
    // Devanagari to Malayalam.
    (0x0900, 0x093B), (0x093D, 0x094C), (0x0960, 0x09BB), (0x09BF, 0x09CC), (0x09E0, 0x09FD),
    (0x09FF, 0x0A32), (0x0A3D, 0x0A4C), (0x0A5F, 0x0ABB), (0x0ABD, 0x0ACC), (0x0ACE, 0x0B3B),
    (0x0B3F, 0x0B4C), (0x0B5E, 0x0BBD), (0x0BBF, 0x0BCC), (0x0BD8, 0x0C3B), (0x0C3D, 0x0C4C),
    (0x0C57, 0x0CBB), (0x0CD7, 0x0D3A), (0x0D3F, 0x0D4C),
    // Thai, Lao, Myanmar, Georgian, Ethiopic.
    (0x0DE0, 0x0E37), (0x0E3B, 0x0E47), (0x0E4C, 0x0EB7), (0x0EBB, 0x0EC7), (0x0FC7, 0x102D),
    (0x103B, 0x108C), (0x108E, 0x10FF), (0x11C3, 0x135C),
    // Vietnamese, polytonic Greek.
    (0x1E00, 0x1F70), (0x1F7E, 0x1FBA),
    // Punctuation and symbols.
    (0x2010, 0x2012), (0x2015, 0x2017), (0x201E, 0x2025), (0x2030, 0x205E), (0x2070, 0x20CF),
    (0x20F1, 0x2125), (0x212C, 0x2328), (0x232B, 0x27FF), (0x2801, 0x2ADB), (0x2E00, 0x2FFF),
    // Kana, Han, Hangul, full-width forms.
    (0x3001, 0x3029), (0x3030, 0x3098), (0x309B, 0x3163), (0x3165, 0xA66E), (0xABEE, 0xD7FF),
    (0xFE30, 0xFEFE), (0xFF00, 0xFF9F),
    // Letters of mathematics, emoji.
    (0x1D282, 0x1DFFF), (0x1E8D7, 0x1E943), (0x1E94B, 0x1FFFD),
];

/// The runs, one bit a character.
static WORDS: [u64; 0x2_0000 / 64] = words();

const fn words() -> [u64; 0x2_0000 / 64] {
    let mut words = [0; 0x2_0000 / 64];
    let mut row = 0;
    while row < RUNS.len() {
        let (first, last) = RUNS[row];
        let mut word = first / 64;
        while word <= last / 64 {
            let above = if word == first / 64 { first % 64 } else { 0 };
            let below = if word == last / 64 { 63 - last % 64 } else { 0 };
            words[word as usize] |= (u64::MAX << above) & (u64::MAX >> below);
            word += 1;
        }
        row += 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::composes;
    use crate::table;
    use proptest::prelude::*;

    #[test]
    fn plain_characters_need_nothing() {
        let mut count = 0;
        for c in ('\0'..=char::MAX).filter(|c| is_plain(*c)) {
            assert!(table::row(c).is_none(), "{c:?}");
            assert!(!composes(c), "{c:?}");
            // It becomes a backtick, which can make a fence.
            assert_ne!(c, '\u{1FEF}');
            count += 1;
        }
        let listed: u32 = RUNS.iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!(count, listed);
        for byte in 0..=u8::MAX {
            let plain = byte.is_ascii() && is_plain(char::from(byte));
            assert_eq!(is_plain_ascii(byte), plain, "{byte:#x}");
        }
    }

    proptest! {
        #[test]
        fn finds_what_looking_at_each_finds(text in "([ -~]{0,40}[é東🙂“\u{301}\u{200B}\t]{0,3}){0,6}") {
            let found: Vec<_> = odd(&text).collect();
            let expected: Vec<_> = text.char_indices().filter(|(_, c)| !is_plain(*c)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
