//! What vLLM itself computes: the names of its blocks, and how much of a prompt it takes from
//! its cache.
//!
//! A signature names prefixes in Headwater's own way, which no engine knows. An engine's events
//! speak of its own block hashes. [`BlockHashes`] computes those from token ids
//! ([`SignedPrompt::token_ids`](crate::SignedPrompt::token_ids)), so that events can be matched
//! with prompts: as vLLM 0.32 does when it runs with
//! `--prefix-caching-hash-algo sha256_cbor`. Of that engine's algorithms this is the one that
//! does not depend on a language or an optional package. Names are equal only if the tokens are:
//! render and tokenize as the engine does.
//!
//! ```
//! use headwater::signature::BlockSize;
//! use headwater::vllm::{BlockHashes, CacheSalt, HashSeed};
//!
//! let block = BlockSize::new(16).ok_or("a block is 1 to 65,536 tokens")?;
//! let tokens: Vec<u32> = (100..140).collect();
//! let hashes = BlockHashes { seed: HashSeed::Default, block, salt: None }.of(&tokens);
//!
//! // Two whole blocks; the eight tokens behind them have no name.
//! assert_eq!(hashes.len(), 2);
//! assert_eq!(
//!     hashes[0].to_string(),
//!     "c78a554a1b648c084577886fa29e20b89d606beb26cafd7f90ba7482f31901bc"
//! );
//! // What the engine's events call it: the last eight bytes.
//! assert_eq!(hashes[0].event().get(), 0x90ba_7482_f319_01bc);
//!
//! // A salt gives every tenant other names.
//! let salt = Some(CacheSalt::new("tenant-1")?);
//! let salted = BlockHashes { seed: HashSeed::Default, block, salt }.of(&tokens);
//! assert_ne!(salted, hashes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod hashes;

mod cbor;

mod digest;

mod salt;

mod cached;

pub use cached::predicted_cached;
pub use digest::{BlockDigest, EventHash, ParseDigestError};
pub use hashes::{BlockHashes, HashSeed};
pub use salt::{CacheSalt, SaltError};
