//! `tokenizer.json` files. The only file that touches the `tokenizers` crate.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use tokenizers::Tokenizer;

use super::{Seam, SpecialTokens, Tokenize, Tokens};
use crate::TokenizeError;

/// The pinned release and the regular expressions it is built with: both decide ids.
const ENGINE: &str = "tokenizers=0.23.2 regex=onig";
/// How this file uses it: text between control tokens is encoded on its own.
const USE: &str = "hf/1";

/// A vocabulary in the form of a Hugging Face `tokenizer.json`.
///
/// Truncation, padding and the post-processor of the file are switched off: what is signed is the
/// whole prompt and nothing else. Special tokens inside segment text are ordinary text; only the
/// renderer's own markers become control ids, and only where the vocabulary has them as special
/// tokens. Text between two such markers is encoded on its own, so nothing merges across.
pub struct HfTokenizer {
    tokenizer: Tokenizer,
    digest: String,
    special_tokens: SpecialTokens,
    front: Vec<u32>,
    back: Vec<u32>,
}

impl HfTokenizer {
    /// The largest file that is read, in bytes. The largest vocabularies known have 33 MB.
    pub const MAX_FILE_BYTES: u64 = 128 * 1024 * 1024;

    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// The file cannot be read, is over [`MAX_FILE_BYTES`](Self::MAX_FILE_BYTES), or is not a
    /// tokenizer. The message has the path.
    pub fn from_file(path: &Path, special_tokens: SpecialTokens) -> Result<Self, TokenizeError> {
        let origin = path.display().to_string();
        let unreadable = |error| TokenizeError::unreadable(&origin, error);
        let file = File::open(path).map_err(unreadable)?;
        let mut json = Vec::new();
        file.take(Self::MAX_FILE_BYTES + 1)
            .read_to_end(&mut json)
            .map_err(unreadable)?;
        Self::from_json(&json, &origin, special_tokens)
    }

    /// Takes the content of a `tokenizer.json`; `origin` is what error messages call it.
    ///
    /// # Errors
    /// The content is over [`MAX_FILE_BYTES`](Self::MAX_FILE_BYTES) or is not a tokenizer.
    pub fn from_json(
        json: &[u8],
        origin: &str,
        special_tokens: SpecialTokens,
    ) -> Result<Self, TokenizeError> {
        if json.len() as u64 > Self::MAX_FILE_BYTES {
            return Err(TokenizeError::too_large(origin, Self::MAX_FILE_BYTES));
        }
        let broken = |error: tokenizers::Error| TokenizeError::broken(origin, &error);
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(broken)?;
        tokenizer
            .with_padding(None)
            .with_truncation(None)
            .map_err(broken)?;
        tokenizer.set_encode_special_tokens(true);
        let (front, back) = match special_tokens {
            SpecialTokens::Added => added_tokens(&tokenizer).map_err(broken)?,
            SpecialTokens::Omitted => (Vec::new(), Vec::new()),
        };
        // NOTE: it would also move the ends of tokens (ByteLevel trims blanks from them).
        tokenizer.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
        let digest = blake3::hash(json).to_hex().to_string();
        Ok(Self {
            tokenizer,
            digest,
            special_tokens,
            front,
            back,
        })
    }

    /// The id of a marker that the vocabulary treats as a special token.
    fn control_id(&self, marker: &str) -> Option<u32> {
        let special = self
            .tokenizer
            .get_added_vocabulary()
            .is_special_token(marker);
        special
            .then(|| self.tokenizer.token_to_id(marker))
            .flatten()
    }

    /// Keeps the tokens up to the last of the known markers that is a control token, for nothing
    /// merges across it, or else those in front of the text. Tells the byte that they reach.
    fn keep_firm(&self, tokens: &mut Tokens, text: &str, known: &[Range<usize>]) -> usize {
        for marker in known.iter().rev() {
            let Some(id) = text.get(marker.clone()).and_then(|m| self.control_id(m)) else {
                continue;
            };
            // Not `before(marker.end)`: what follows may begin with a token without text.
            let place = tokens.before(marker.start);
            if tokens.ids.get(place) == Some(&id) && tokens.ends.get(place) == Some(&marker.end) {
                tokens.truncate(place + 1);
                return marker.end;
            }
        }
        tokens.ids.clone_from(&self.front);
        tokens.ends.clear();
        tokens.ends.resize(self.front.len(), 0);
        0
    }

    fn encode_part(
        &self,
        text: &str,
        part: Range<usize>,
        to: &mut Tokens,
    ) -> Result<(), TokenizeError> {
        let Some(piece) = text.get(part.clone()).filter(|piece| !piece.is_empty()) else {
            return Ok(());
        };
        let encoding = self
            .tokenizer
            .encode(piece, false)
            .map_err(|error| TokenizeError::encode(&error))?;
        to.ids.extend_from_slice(encoding.get_ids());
        let mut end = part.start;
        to.ends
            .extend(encoding.get_offsets().iter().map(|(_, offset)| {
                // Tokens without text of their own report an end of 0.
                end = end.max(part.start + offset);
                end
            }));
        Ok(())
    }
}

impl Tokenize for HfTokenizer {
    fn identity(&self) -> String {
        format!("{USE} {ENGINE} blake3={}", self.digest)
    }

    fn special_tokens(&self) -> SpecialTokens {
        self.special_tokens
    }

    fn seam(&self, next: Option<&str>) -> Seam {
        match next.and_then(|marker| self.control_id(marker)) {
            Some(_) => Seam::Exact,
            None => Seam::Probe,
        }
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
        markers: &[Range<usize>],
    ) -> Result<(), TokenizeError> {
        let (known, markers) = markers.split_at(markers.partition_point(|m| m.end <= shared));
        let mut done = self.keep_firm(tokens, text, known);
        for marker in markers {
            let Some(id) = text
                .get(marker.clone())
                .and_then(|marker| self.control_id(marker))
            else {
                continue;
            };
            self.encode_part(text, done..marker.start, tokens)?;
            tokens.ids.push(id);
            tokens.ends.push(marker.end);
            done = marker.end;
        }
        self.encode_part(text, done..text.len(), tokens)?;
        tokens.ids.extend_from_slice(&self.back);
        tokens.ends.resize(tokens.ids.len(), text.len() + 1);
        Ok(())
    }
}

impl fmt::Debug for HfTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HfTokenizer")
            .field("identity", &self.identity())
            .finish_non_exhaustive()
    }
}

/// What the file's post-processor puts before and after a text, learned from a short one.
fn added_tokens(tokenizer: &Tokenizer) -> Result<(Vec<u32>, Vec<u32>), tokenizers::Error> {
    let encoding = tokenizer.encode("a", true)?;
    let ids = encoding.get_ids();
    let special = encoding.get_special_tokens_mask();
    let front = special.iter().take_while(|mask| **mask == 1).count();
    let back = special
        .iter()
        .skip(front)
        .rev()
        .take_while(|mask| **mask == 1)
        .count();
    let (front, rest) = ids.split_at(front);
    Ok((
        front.to_vec(),
        rest.iter().skip(rest.len() - back).copied().collect(),
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_identity_names_the_release_in_use() {
        let lock = include_str!("../../../../Cargo.lock");
        let version = super::ENGINE.split(['=', ' ']).nth(1).unwrap();
        assert!(lock.contains(&format!("name = \"tokenizers\"\nversion = \"{version}\"")));
    }
}
