//! The tokenizer without a vocabulary: four bytes of text are one unit.

use std::ops::Range;

use super::{Ends, Seam, SpecialTokens, Tokenize, Tokens};
use crate::TokenizeError;

/// Bytes in one unit: about what one token of a real vocabulary covers in English.
const UNIT: usize = 4;

/// Counts four bytes of canonical UTF-8 as one unit, little end first.
///
/// It needs no file and agrees with itself everywhere, so it is the default. Its counts are
/// estimates of a model's; its names are as good as any. Bytes after the last whole unit have no
/// name. Borders are exact: a longer text keeps all units of a shorter one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesTokenizer;

impl Tokenize for BytesTokenizer {
    fn identity(&self) -> String {
        "bytes/4le/1".to_owned()
    }

    fn special_tokens(&self) -> SpecialTokens {
        SpecialTokens::Omitted
    }

    fn seam(&self, _next: Option<&str>) -> Seam {
        Seam::Exact
    }

    fn encode(&self, text: &str, markers: &[Range<usize>]) -> Result<Tokens, TokenizeError> {
        let mut tokens = Tokens::default();
        self.resume(&mut tokens, 0, text, markers)?;
        Ok(tokens)
    }

    fn resume(
        &self,
        tokens: &mut Tokens,
        shared: usize,
        text: &str,
        _markers: &[Range<usize>],
    ) -> Result<(), TokenizeError> {
        let kept = (shared / UNIT).min(tokens.ids.len());
        tokens.truncate(kept);
        let new = text.as_bytes().get(kept * UNIT..).unwrap_or_default();
        let (units, _tail) = new.as_chunks::<UNIT>();
        let ids = units.iter().map(|unit| u32::from_le_bytes(*unit));
        tokens.ids.extend(ids);
        tokens.ends = Ends::even(tokens.ids.len(), UNIT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_units_count() {
        for (text, expected) in [
            ("", vec![]),
            ("abc", vec![]),
            ("abcd", vec![0x6463_6261]),
            ("abcdefg", vec![0x6463_6261]),
        ] {
            assert_eq!(
                BytesTokenizer.encode(text, &[]).unwrap().ids,
                expected,
                "{text:?}"
            );
        }
        let ends = BytesTokenizer.encode("é🙂xy", &[]).unwrap().ends;
        assert_eq!(ends.iter().collect::<Vec<_>>(), [4, 8]);
    }
}
