//! Counts tokens with a model's own tokenizer.

use std::path::Path;

use anyhow::Context as _;
use headwater::{HfTokenizer, SpecialTokens, Tokenize as _};

/// A tokenizer that was read.
pub(crate) struct Counter(HfTokenizer);

impl Counter {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// The file cannot be read or is no tokenizer.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let tokenizer = HfTokenizer::from_file(path, SpecialTokens::Omitted)
            .with_context(|| format!("cannot use the tokenizer {}", path.display()))?;
        Ok(Self(tokenizer))
    }

    /// Tokens of a text; by four bytes each where the tokenizer refuses it.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.encode(text, &[]).map_or_else(
            |_| headwater_lint::estimate_tokens(text.len()),
            |tokens| tokens.ids.len(),
        )
    }
}
