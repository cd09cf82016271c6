//! From text to tokens: the trait, and its two implementations.

use std::ops::Range;
use std::sync::Arc;

use crate::TokenizeError;

mod bytes;
mod cache;
mod ends;
mod huggingface;

pub use bytes::BytesTokenizer;
pub use ends::Ends;
pub use huggingface::{ControlText, HfTokenizer};

/// Turns a rendered prompt into the tokens that are signed.
///
/// The same text under the same [`identity`](Self::identity) must give the same tokens on every
/// machine and on every call, whatever was encoded before.
pub trait Tokenize {
    /// What decides the ids: code, its version, and a digest of the vocabulary. Part of the
    /// fingerprint.
    fn identity(&self) -> String;

    /// Whether [`encode`](Self::encode) adds the vocabulary's own start and end tokens. Part of
    /// the fingerprint.
    fn special_tokens(&self) -> SpecialTokens;

    /// Called once for a whole prompt before it is encoded, to refuse one that cannot be meant.
    ///
    /// # Errors
    /// The text begins with the start token that [`encode`](Self::encode) adds itself.
    fn check(&self, text: &str) -> Result<(), TokenizeError> {
        let _ = text;
        Ok(())
    }

    /// How firm the tokens before a border are, when nothing is known about what follows
    /// (`None`) or when a marker of the renderer follows.
    fn seam(&self, next: Option<&str>) -> Seam;

    /// Encodes `text`. Only `markers`, byte ranges in rising order, may become control ids; the
    /// same characters anywhere else are ordinary text.
    ///
    /// # Errors
    /// What the tokenizer cannot encode, see [`TokenizeError`].
    fn encode(&self, text: &str, markers: &[Range<usize>]) -> Result<Tokens, TokenizeError>;

    /// Makes `tokens` those that [`encode`](Self::encode) gives for `text`. They are the tokens of
    /// another text, of which the first `shared` bytes and the markers in there are the same (0
    /// if nothing is known). What is firm among them need not be computed again.
    ///
    /// # Errors
    /// As [`encode`](Self::encode). Then nothing is known of `tokens`.
    fn resume(
        &self,
        tokens: &mut Tokens,
        shared: usize,
        text: &str,
        markers: &[Range<usize>],
    ) -> Result<(), TokenizeError> {
        let _ = shared;
        *tokens = self.encode(text, markers)?;
        Ok(())
    }
}

impl<T: Tokenize + ?Sized> Tokenize for Arc<T> {
    fn identity(&self) -> String {
        (**self).identity()
    }

    fn special_tokens(&self) -> SpecialTokens {
        (**self).special_tokens()
    }

    fn check(&self, text: &str) -> Result<(), TokenizeError> {
        (**self).check(text)
    }

    fn seam(&self, next: Option<&str>) -> Seam {
        (**self).seam(next)
    }

    fn encode(&self, text: &str, markers: &[Range<usize>]) -> Result<Tokens, TokenizeError> {
        (**self).encode(text, markers)
    }

    fn resume(
        &self,
        tokens: &mut Tokens,
        shared: usize,
        text: &str,
        markers: &[Range<usize>],
    ) -> Result<(), TokenizeError> {
        (**self).resume(tokens, shared, text, markers)
    }
}

/// Whether a tokenizer adds its vocabulary's own start and end tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpecialTokens {
    /// As a completion endpoint does by default.
    Added,
    /// As a chat endpoint does, whose template has them already.
    #[default]
    Omitted,
}

/// How firm the tokens before a border are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seam {
    /// Whole tokens before the border stay, whatever follows.
    Exact,
    /// What follows may merge with what is before. Try and see.
    Probe,
}

/// The tokens of a text.
///
/// Not `non_exhaustive`: other implementations of [`Tokenize`] have to make it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The ids, in order.
    pub ids: Vec<u32>,
    /// For each id the byte of the text at which it ends, never falling. A token that the
    /// tokenizer adds in front of the text ends at 0, one that it adds behind the text ends
    /// after the last byte.
    pub ends: Ends,
}

impl Tokens {
    /// How many tokens end at or before `byte`.
    pub fn before(&self, byte: usize) -> usize {
        self.ends.before(byte)
    }

    /// Keeps the first `count` tokens.
    pub fn truncate(&mut self, count: usize) {
        self.ids.truncate(count);
        self.ends.truncate(count);
    }
}
