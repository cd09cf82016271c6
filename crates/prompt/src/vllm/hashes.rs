//! The chain of block hashes, algorithm `sha256_cbor`.

use headwater_signature::BlockSize;
use sha2::{Digest, Sha256};

use super::cbor::Cbor;
use super::{BlockDigest, CacheSalt};

/// What decides the engine's block hashes, besides the tokens.
///
/// Not `non_exhaustive`: a caller has to say all of it, and one thing more would change every
/// hash.
#[derive(Clone, Copy, Debug)]
pub struct BlockHashes<'a> {
    /// What the chain starts from.
    pub seed: HashSeed<'a>,
    /// Tokens a block, as the engine hashes them. That is 16 by default on a GPU and 128 on a
    /// CPU, and can be finer than the blocks it stores.
    pub block: BlockSize,
    /// The request's `cache_salt`.
    pub salt: Option<CacheSalt<'a>>,
}

/// What the chain starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashSeed<'a> {
    /// `PYTHONHASHSEED` is not set in the engine's environment.
    #[default]
    Default,
    /// The value of `PYTHONHASHSEED` in the engine's environment, as text.
    PythonHashSeed(&'a str),
}

impl BlockHashes<'_> {
    /// The digest of every whole block of `tokens`; the tokens behind the last one have none.
    pub fn of(&self, tokens: &[u32]) -> Vec<BlockDigest> {
        let mut parent = self.seed.none_hash();
        // The salt is part of the first block alone, and through the chain of all of them.
        let mut salt = self.salt;
        let size = usize::try_from(self.block.get()).unwrap_or(usize::MAX);
        tokens
            .chunks_exact(size)
            .map(|block| {
                parent = sha256(&preimage(parent, block, salt.take()));
                parent
            })
            .collect()
    }
}

impl HashSeed<'_> {
    /// The parent of the first block, which the engine calls `NONE_HASH`.
    pub fn none_hash(self) -> BlockDigest {
        let text = match self {
            Self::Default => "vllm-none-hash",
            Self::PythonHashSeed(value) => value,
        };
        let mut cbor = Cbor::default();
        cbor.text(text);
        sha256(&cbor.into_bytes())
    }
}

/// The bytes that are hashed for one block: its parent, its tokens, and what else it depends on.
fn preimage(parent: BlockDigest, block: &[u32], salt: Option<CacheSalt<'_>>) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.array(3);
    cbor.bytes(parent.as_bytes());
    cbor.array(block.len());
    for token in block {
        cbor.unsigned(*token);
    }
    match salt {
        None => cbor.null(),
        Some(salt) => {
            // A list of pairs, of which this is the only one.
            cbor.array(1);
            cbor.array(2);
            cbor.text("cache_salt");
            cbor.text(salt.as_str());
        }
    }
    cbor.into_bytes()
}

fn sha256(bytes: &[u8]) -> BlockDigest {
    BlockDigest::from_bytes(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from vLLM 0.32.0: seed not set, tokens 100 to 115 as the first block.
    #[test]
    fn the_bytes_that_are_hashed() {
        let tokens: Vec<u32> = (100..116).collect();
        let bytes = preimage(HashSeed::Default.none_hash(), &tokens, None);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "8358209bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0\
             90186418651866186718681869186a186b186c186d186e186f1870187118721873f6"
        );
    }

    #[test]
    fn a_salt_replaces_the_null() {
        let bytes = preimage(
            BlockDigest::from_bytes([0; 32]),
            &[1],
            CacheSalt::new("tenant-1").ok(),
        );
        assert!(bytes.ends_with(b"\x81\x01\x81\x82\x6acache_salt\x68tenant-1"));
    }

    #[test]
    fn the_salt_is_in_the_first_block_alone() {
        let salt = CacheSalt::new("tenant-1").ok();
        let block = BlockSize::new(2).unwrap();
        let seed = HashSeed::Default;
        let digests = BlockHashes { seed, block, salt }.of(&[1, 2, 3, 4]);
        let first = sha256(&preimage(seed.none_hash(), &[1, 2], salt));
        assert_eq!(digests, [first, sha256(&preimage(first, &[3, 4], None))]);
    }
}
