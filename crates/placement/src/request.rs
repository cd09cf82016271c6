//! What is known of a request when it must be placed: its signature, its key, where it has been.

use headwater_signature::Signature;

use crate::id::WorkerId;

/// A request as placement sees it: no body, no headers, only names.
///
/// Not `non_exhaustive`: callers build it, most from [`Request::ANONYMOUS`].
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The prefixes that its client named, if it did.
    pub signature: Option<&'a Signature>,
    /// A hash of what keeps a conversation together (affinity key, session, head of the body).
    pub affinity: Option<u64>,
    /// What that hash was made of.
    pub key_source: KeySource,
    /// Length of its body, if that was told.
    pub body_bytes: Option<u64>,
    /// Workers that it has been tried on; it never goes there again.
    pub excluded: &'a [WorkerId],
}

impl Request<'_> {
    /// A request of which nothing is known.
    pub const ANONYMOUS: Self = Self {
        signature: None,
        affinity: None,
        key_source: KeySource::None,
        body_bytes: None,
        excluded: &[],
    };
}

/// Where a request's key comes from.
///
/// A session or an affinity key stands for a conversation, also beside a signature; the head of a
/// body does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// The signature's own prefixes; the key, if there is one, is that of the affinity header.
    Signature,
    /// A session header.
    Session,
    /// The affinity header.
    Affinity,
    /// The first bytes of the body.
    Body,
    /// There is no key.
    None,
}

impl KeySource {
    /// The name in output and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Session => "session",
            Self::Affinity => "affinity",
            Self::Body => "body",
            Self::None => "none",
        }
    }
}
