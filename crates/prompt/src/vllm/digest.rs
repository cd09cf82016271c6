//! What the engine calls a block: the whole digest, and the number in its events.

use std::fmt;
use std::str::FromStr;

/// The full digest of a block, which names the whole prefix up to the block's end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockDigest([u8; 32]);

impl BlockDigest {
    /// A digest from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What the engine's events say for it.
    pub fn event(&self) -> EventHash {
        let [.., a, b, c, d, e, f, g, h] = self.0;
        EventHash(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl fmt::Display for BlockDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlockDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockDigest({self})")
    }
}

impl FromStr for BlockDigest {
    type Err = ParseDigestError;

    /// 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(ParseDigestError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Result<u8, ParseDigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(ParseDigestError),
    }
}

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseDigestError;

impl fmt::Display for ParseDigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block digest is 64 hexadecimal digits; give the whole of it")
    }
}

impl std::error::Error for ParseDigestError {}

/// A block in the engine's events: the last eight bytes of its digest as a big-endian number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventHash(u64);

impl EventHash {
    /// From the number in an event.
    pub fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number in an event.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
