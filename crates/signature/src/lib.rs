//! What a prompt prefix is called on the wire: the hash chain that names prefixes, and the text of
//! the three headers that carry the names.
//!
//! ```text
//! Scheme ─► Seed ─┬─► Fingerprint ──────────────┐
//!                 └─► Chain ─tokens─► [Rung] ───┴─► Signature ⇄ Prefix-Signature
//!                                        └────────► AffinityKey ─► Prefix-Affinity
//! worker, generation ─► RouteTag ─► Route ⇄ Prefix-Route,  RouteEcho ─► the next Signature
//! ```
//!
//! A client names the prefixes of its prompt; whoever gets the header compares names:
//!
//! ```
//! use headwater_signature::{BlockSize, Rung, Scheme, Signature};
//!
//! let scheme = Scheme {
//!     tokenizer: "bytes",
//!     template: "none",
//!     cleaning: "1",
//!     block: BlockSize::default(),
//!     add_special_tokens: false,
//!     model: "demo",
//!     salt: None,
//! };
//! let seed = scheme.seed();
//! let prompt: Vec<u32> = (0..100).collect();
//! let mut chain = seed.chain();
//! chain.extend(&prompt);
//! assert_eq!(chain.hashes().len(), 6, "100 tokens are six blocks of 16 and a tail");
//!
//! let rungs = [2, 6].map(|blocks| Rung { blocks, hash: chain.hashes()[blocks as usize - 1] });
//! let signature = Signature::new(scheme.block, 100, seed.fingerprint(), &rungs, None)?;
//! let header = signature.to_string();
//! assert!(header.starts_with("v=1, b=16, n=100, fp=:"));
//!
//! assert_eq!(Signature::parse(header.as_bytes()), Ok(Some(signature)));
//! let error = Signature::parse(b"v=1, b=0").unwrap_err();
//! assert_eq!((error.at, error.kind.as_str()), (7, "out_of_range"));
//! # Ok::<(), headwater_signature::SignatureError>(())
//! ```
//!
//! The normative text, with every limit and derivation and an example to redo by hand, is the
//! crate's [README](specification).
//!
//! This crate will never tokenize, read a clock or a file, or roll dice; which borders of a prompt
//! matter is for the caller to say, and the ladder behind them ([`choose_rungs`]) is here since all
//! clients must share its steps. A signature is never cryptographic: it proves nothing.

/// The crate's README: the normative text of version 1.
pub mod specification {
    #![doc = include_str!("../README.md")]
}

mod scheme;

mod chain;

mod name;

mod signature;

mod rungs;

mod parse;

mod affinity;

mod route;

mod error;

// RFC 9651, from the whole to the letters.
mod dictionary;

mod item;

mod base64;

pub use affinity::AffinityKey;
pub use chain::Chain;
pub use error::{ParseError, ParseErrorKind, SignatureError};
pub use name::{Fingerprint, HexError, PrefixHash, RouteTag};
pub use route::{Route, RouteEcho};
pub use rungs::choose_rungs;
pub use scheme::{BlockSize, Scheme, Seed};
pub use signature::{MAX_EMITTED_RUNGS, MAX_HEADER_BYTES, MAX_RUNGS, Rung, Signature, VERSION};

/// Request header that carries a [`Signature`].
pub const HEADER_SIGNATURE: &str = "prefix-signature";
/// Request header that carries an [`AffinityKey`].
pub const HEADER_AFFINITY: &str = "prefix-affinity";
/// Response header that carries a [`Route`].
pub const HEADER_ROUTE: &str = "prefix-route";
