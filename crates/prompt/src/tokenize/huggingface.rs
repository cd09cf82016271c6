//! `tokenizer.json` files. Only this module and the folder beside it touch the `tokenizers` crate.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;

use super::cache::Cache;
use super::{Seam, SpecialTokens, Tokenize, Tokens};
use crate::TokenizeError;

mod controls;
mod pieces;
mod vocabulary;

use pieces::{Encoder, Part};
use vocabulary::{Spelled, Vocabulary};

/// The pinned release and the regular expressions it is built with: both decide ids.
const ENGINE: &str = "tokenizers=0.23.2 regex=onig";
/// How this file uses it: text between control tokens is encoded on its own.
const USE: &str = "hf/1";

/// A vocabulary in the form of a Hugging Face `tokenizer.json`: BPE, Unigram, WordPiece or
/// WordLevel.
///
/// **Whole text.** Truncation, padding, dropout and the post-processor of the file are switched
/// off. What is encoded is the whole prompt and nothing else; start and end tokens come only with
/// [`SpecialTokens::Added`].
///
/// **Control tokens** are the special tokens of the file, and the added ones that are written
/// like a tag, whatever their flag says (`<think>`, `<｜User｜>`, `[INST]`). Only the renderer's
/// markers become control ids. The same characters in text stay characters, even where the model
/// itself has them among its pieces; [`control_text`](Self::control_text) changes that.
///
/// **Speed.** At most control tokens the text on both sides encodes independently; the file says
/// at which (nothing stripped, nothing normalized, no other added token that reaches into them).
/// Texts between them are kept, found again by the BLAKE3 of all their bytes, and the missing
/// ones are encoded in parallel. None of this changes an id: where a file does not allow a cut,
/// none is made. One value is meant to be shared by all threads.
///
/// ```no_run
/// use headwater::{HfTokenizer, SpecialTokens};
///
/// let tokenizer = HfTokenizer::from_file("tokenizer.json".as_ref(), SpecialTokens::Omitted)?
///     .cache_bytes(64 << 20);
/// # Ok::<(), headwater::TokenizeError>(())
/// ```
pub struct HfTokenizer {
    vocabulary: Vocabulary,
    digest: String,
    special_tokens: SpecialTokens,
    control_text: ControlText,
    cache: Cache,
    threads: NonZeroUsize,
}

/// What control tokens become that are spelled out in text, outside the renderer's markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlText {
    /// Ordinary characters. Nobody can end a turn or open a tool call by writing so.
    #[default]
    Plain,
    /// Their ids, as most engines read the text of a rendered prompt. For ids that have to be
    /// equal to an engine's; text from strangers can then steer the model, there as here.
    Control,
}

impl ControlText {
    /// `plain` or `control`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Control => "control",
        }
    }
}

impl HfTokenizer {
    /// The largest file that is read, in bytes. The largest vocabularies known have 33 MB.
    pub const MAX_FILE_BYTES: u64 = 128 * 1024 * 1024;

    /// What encoded texts may take in memory, in bytes, unless told otherwise: some 2.5 million
    /// tokens.
    pub const CACHE_BYTES: usize = 32 * 1024 * 1024;

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
        let vocabulary = Vocabulary::load(json, special_tokens)
            .map_err(|error| TokenizeError::broken(origin, &error))?;
        Ok(Self {
            vocabulary,
            digest: blake3::hash(json).to_hex().to_string(),
            special_tokens,
            control_text: ControlText::default(),
            cache: Cache::new(Self::CACHE_BYTES),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        })
    }

    /// The same with another answer to control tokens in text. Part of the fingerprint.
    #[must_use]
    pub fn control_text(self, control_text: ControlText) -> Self {
        Self {
            control_text,
            ..self
        }
    }

    /// The same with room for `bytes` of encoded texts. 0 keeps none.
    #[must_use]
    pub fn cache_bytes(self, bytes: usize) -> Self {
        Self {
            cache: Cache::new(bytes),
            ..self
        }
    }

    /// The same with at most so many threads for one text, the caller's included. The default is
    /// what the machine has; a server whose cores are all busy with requests wants 1.
    #[must_use]
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }
}

impl HfTokenizer {
    /// Keeps the tokens up to the last of the known markers that nothing merges across, or else
    /// those in front of the text. Tells the byte that they reach and how many markers that is.
    fn keep_firm(&self, tokens: &mut Tokens, text: &str, known: &[Range<usize>]) -> (usize, usize) {
        for (index, marker) in known.iter().enumerate().rev() {
            let control = text
                .get(marker.clone())
                .and_then(|marker| self.vocabulary.controls().get(marker));
            let Some(control) = control.filter(|control| control.seam) else {
                continue;
            };
            // Not `before(marker.end)`: what follows may begin with a token without text.
            let place = tokens.before(marker.start);
            let found = (tokens.ids.get(place), tokens.ends.get(place));
            if found == (Some(&control.id), Some(marker.end)) {
                tokens.truncate(place + 1);
                return (marker.end, index + 1);
            }
        }
        let [front, _] = &self.vocabulary.around;
        tokens.ids.clone_from(front);
        tokens.ends = vec![0; front.len()].into();
        (0, 0)
    }
}

impl Tokenize for HfTokenizer {
    fn identity(&self) -> String {
        let control_text = self.control_text.as_str();
        format!(
            "{USE} {ENGINE} blake3={} control-text={control_text}",
            self.digest
        )
    }

    fn special_tokens(&self) -> SpecialTokens {
        self.special_tokens
    }

    fn check(&self, text: &str) -> Result<(), TokenizeError> {
        let [front, _] = &self.vocabulary.around;
        let start = front.last().and_then(|id| self.vocabulary.text_of(*id));
        match start {
            Some(start) if text.starts_with(&start) => Err(TokenizeError::second_start(&start)),
            _ => Ok(()),
        }
    }

    fn seam(&self, next: Option<&str>) -> Seam {
        match next.and_then(|marker| self.vocabulary.controls().get(marker)) {
            Some(control) if control.seam => Seam::Exact,
            _ => Seam::Probe,
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
        let (known, new) = markers.split_at(markers.partition_point(|m| m.end <= shared));
        let (kept, later) = self.keep_firm(tokens, text, known);
        let new = known.get(later..).unwrap_or_default().iter().chain(new);
        let spelled = match self.control_text {
            ControlText::Plain => Spelled::Plain,
            ControlText::Control => Spelled::Control,
        };
        let parts: Vec<Part> = pieces::cut(&self.vocabulary, text, kept, new, spelled);
        let encoder = Encoder {
            vocabulary: &self.vocabulary,
            cache: &self.cache,
            threads: self.threads,
        };
        encoder.encode(text, &parts, tokens)?;
        let [_, back] = &self.vocabulary.around;
        tokens.ids.extend_from_slice(back);
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_identity_names_the_release_in_use() {
        let lock = include_str!("../../../../Cargo.lock");
        let version = super::ENGINE.split(['=', ' ']).nth(1).unwrap();
        assert!(lock.contains(&format!("name = \"tokenizers\"\nversion = \"{version}\"")));
    }
}
