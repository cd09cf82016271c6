//! `Prefix-Affinity`: one stable token per conversation, for proxies that can only hash a header.

use std::fmt;
use std::num::NonZeroU32;

use crate::{PrefixHash, Seed, base64, scheme::derive};

const SESSION_CONTEXT: &str = "headwater prefix affinity v1 session";
const PREFIX_CONTEXT: &str = "headwater prefix affinity v1 prefix";
const SPREAD_CONTEXT: &str = "headwater prefix affinity v1 spread";

/// The value of the `Prefix-Affinity` header: always a hash, never a raw id.
///
/// `Display` gives the header text, 16 characters of base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AffinityKey([u8; 12]);

impl AffinityKey {
    /// The key of a conversation whose caller has an id for it. The same id under another scheme
    /// or salt has another key.
    pub fn session(seed: &Seed, session_id: &str) -> Self {
        Self(derive(
            SESSION_CONTEXT,
            &[seed.key(), session_id.as_bytes()],
        ))
    }

    /// The key of all prompts that share a prefix: the static one, or, for a conversation
    /// without an id, the prefix at the end of its first user turn.
    pub fn prefix(hash: PrefixHash) -> Self {
        Self(derive(PREFIX_CONTEXT, &[hash.as_bytes()]))
    }

    /// One of `ways` keys of a static prefix, chosen by the conversation's own key, so that one
    /// large shared prefix stays on `ways` workers instead of on one or on all.
    pub fn spread(static_prefix: PrefixHash, conversation: Self, ways: NonZeroU32) -> Self {
        let slot = conversation.leading() % u64::from(ways.get());
        Self(derive(
            SPREAD_CONTEXT,
            &[static_prefix.as_bytes(), &slot.to_le_bytes()],
        ))
    }

    /// The 12 bytes behind the header text.
    pub const fn as_bytes(&self) -> &[u8; 12] {
        &self.0
    }

    /// The first 8 bytes as a little-endian number.
    fn leading(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for AffinityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        base64::write_url(f, &self.0)
    }
}
