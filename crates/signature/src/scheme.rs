//! What a fingerprint stands for, and the secret seed that every derivation starts from.

use std::fmt;

use crate::{Chain, Fingerprint, VERSION};

const SEED_CONTEXT: &str = "headwater prefix signature v1 seed";
const FINGERPRINT_CONTEXT: &str = "headwater prefix signature v1 fingerprint";

/// Tokens in one block, 1 to 65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(u32);

impl BlockSize {
    /// The largest block there is.
    pub const MAX: Self = Self(65_536);

    /// `None` unless `tokens` is in 1 to 65,536.
    pub const fn new(tokens: u32) -> Option<Self> {
        match tokens {
            1..=65_536 => Some(Self(tokens)),
            _ => None,
        }
    }

    /// The number of tokens.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for BlockSize {
    /// 16 tokens, the block of most engines.
    fn default() -> Self {
        Self(16)
    }
}

/// Everything that decides which hashes a text gets.
///
/// Not `non_exhaustive`: a new ingredient changes every hash, so it is a new wire version, and
/// every caller has to say what it is.
#[derive(Clone, Copy)]
pub struct Scheme<'a> {
    /// Digest of the tokenizer's content, with the version of the code that runs it.
    pub tokenizer: &'a str,
    /// The template and the version of its renderer.
    pub template: &'a str,
    /// Name and version of the cleaning that made the canonical text.
    pub cleaning: &'a str,
    /// Tokens in one block.
    pub block: BlockSize,
    /// Whether the tokenizer added its own start and end tokens.
    pub add_special_tokens: bool,
    /// Model name with adapter, as the engine is asked for it.
    pub model: &'a str,
    /// The tenant's secret, at least 16 random bytes. Without one, equal prompts of two tenants
    /// have equal names, and whoever guesses a prompt can confirm it.
    pub salt: Option<&'a [u8]>,
}

impl Scheme<'_> {
    /// Condenses the scheme, salt included, into the secret that all its names derive from.
    pub fn seed(&self) -> Seed {
        let mut hasher = blake3::Hasher::new_derive_key(SEED_CONTEXT);
        hasher.update(&VERSION.to_le_bytes());
        for field in [self.tokenizer, self.template, self.cleaning] {
            update_with_length(&mut hasher, field.as_bytes());
        }
        hasher.update(&self.block.get().to_le_bytes());
        hasher.update(&[u8::from(self.add_special_tokens)]);
        update_with_length(&mut hasher, self.model.as_bytes());
        hasher.update(&[u8::from(self.salt.is_some())]);
        update_with_length(&mut hasher, self.salt.unwrap_or_default());
        Seed {
            key: *hasher.finalize().as_bytes(),
            block: self.block,
        }
    }
}

/// The length goes first, so that no two lists of fields run together to the same bytes.
fn update_with_length(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

impl fmt::Debug for Scheme<'_> {
    /// Shows every field but the salt.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheme")
            .field("tokenizer", &self.tokenizer)
            .field("template", &self.template)
            .field("cleaning", &self.cleaning)
            .field("block", &self.block)
            .field("add_special_tokens", &self.add_special_tokens)
            .field("model", &self.model)
            .field("salt", &self.salt.map(|_| "…"))
            .finish()
    }
}

/// 32 secret bytes made from a [`Scheme`]. Whoever has them can name any prompt of the tenant.
#[derive(Clone)]
pub struct Seed {
    key: [u8; 32],
    block: BlockSize,
}

impl Seed {
    /// The public name of the scheme.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from_bytes(derive(FINGERPRINT_CONTEXT, &[&self.key]))
    }

    /// An empty chain, ready for the first token.
    pub fn chain(&self) -> Chain {
        Chain::new(&self.key, self.block)
    }

    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.key
    }
}

impl fmt::Debug for Seed {
    /// Shows nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seed")
            .field("block", &self.block)
            .finish_non_exhaustive()
    }
}

/// The first `N` bytes of the derivation of `parts`, laid end to end, under `context`.
pub(crate) fn derive<const N: usize>(context: &str, parts: &[&[u8]]) -> [u8; N] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    let mut bytes = [0; N];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_1_to_65536_tokens() {
        for (tokens, expected) in [
            (0, None),
            (1, Some(1)),
            (65_536, Some(65_536)),
            (65_537, None),
        ] {
            assert_eq!(BlockSize::new(tokens).map(BlockSize::get), expected);
        }
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let scheme = Scheme {
            tokenizer: "bytes",
            template: "none",
            cleaning: "1",
            block: BlockSize::default(),
            add_special_tokens: false,
            model: "m",
            salt: Some(b"0123456789abcdef"),
        };
        assert!(format!("{scheme:?}").ends_with("salt: Some(\"…\") }"));
        assert_eq!(
            format!("{:?}", scheme.seed()),
            "Seed { block: BlockSize(16), .. }"
        );
    }
}
