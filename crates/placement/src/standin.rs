//! Stands in for headwater-signature's types until that crate has landed.
#![allow(missing_docs, dead_code, reason = "removed before it is merged")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrefixHash(pub [u8; 8]);
impl PrefixHash {
    pub fn from_bytes(b: [u8; 8]) -> Self {
        Self(b)
    }
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 8]);
impl Fingerprint {
    pub fn from_bytes(b: [u8; 8]) -> Self {
        Self(b)
    }
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    pub blocks: u32,
    pub hash: PrefixHash,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteTag(pub [u8; 4]);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEcho {
    pub tag: RouteTag,
    pub tokens: u32,
}
#[derive(Clone, Copy, Debug)]
pub struct Signature {}
