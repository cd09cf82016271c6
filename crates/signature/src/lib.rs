//! What a prompt prefix is called on the wire: header text and hash chain.

mod name;

mod scheme;

mod chain;

mod signature;

mod parse;

mod error;

mod route;

mod affinity;

mod base64;
mod dictionary;
mod item;

pub use affinity::AffinityKey;
pub use chain::Chain;
pub use error::{ParseError, ParseErrorKind, SignatureError};
pub use name::{Fingerprint, HexError, PrefixHash, RouteTag};
pub use route::{Route, RouteEcho};
pub use scheme::{BlockSize, Scheme, Seed};
pub use signature::{MAX_EMITTED_RUNGS, MAX_HEADER_BYTES, MAX_RUNGS, Rung, Signature, VERSION};

/// Request header that carries a [`Signature`].
pub const HEADER_SIGNATURE: &str = "prefix-signature";
/// Request header that carries an [`AffinityKey`].
pub const HEADER_AFFINITY: &str = "prefix-affinity";
/// Response header that carries a [`Route`].
pub const HEADER_ROUTE: &str = "prefix-route";
