//! What the residency table is asked by, and how names are spread over it.

use headwater_signature::{Fingerprint, PrefixHash};

use crate::event::PrefixName;

/// The name of a prefix, or of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    // First, because it alone tells nearly all names apart.
    hash: u64,
    space: Space,
}

/// Whose names a hash is one of: equal hashes of different spaces never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    /// Prefixes under the scheme of this fingerprint.
    Scheme(u64),
    /// Keys whose prompts have no names.
    Session,
    /// Nothing by name: it only takes room.
    Others,
}

impl Name {
    /// The name of a whole prefix under its scheme.
    pub(crate) fn prefix(hash: PrefixHash, scheme: Fingerprint) -> Self {
        let number = u64::from_be_bytes;
        let space = Space::Scheme(number(*scheme.as_bytes()));
        Self {
            hash: number(*hash.as_bytes()),
            space,
        }
    }

    /// The name that a key's last request is found by.
    pub(crate) fn session(key: u64) -> Self {
        Self {
            hash: key,
            space: Space::Session,
        }
    }

    /// What other routers' requests left in a worker's cache, which no request asks for.
    pub(crate) fn of_others(number: u64) -> Self {
        Self {
            hash: number,
            space: Space::Others,
        }
    }

    /// A number that stands for it where two may share one.
    pub(crate) fn number(self) -> u64 {
        self.hash
    }
}

impl From<&PrefixName> for Name {
    fn from(name: &PrefixName) -> Self {
        Self::prefix(name.hash, name.fingerprint)
    }
}

/// Decides where names lie in the table, and nothing else: clients choose names, and one who
/// knew this number could aim them all at one spot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64, u64);

impl Seed {
    pub(crate) fn new(seed: u64) -> Self {
        let first = fold(seed ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        Self(
            first,
            fold(first ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db) | 1,
        )
    }

    pub(crate) fn hash(self, name: Name) -> u64 {
        let space = match name.space {
            Space::Scheme(scheme) => scheme,
            Space::Session => 1,
            Space::Others => 2,
        };
        fold(fold(name.hash ^ self.0, self.1) ^ space, self.0 | 1)
    }
}

/// Both halves of the product, which depend on every bit of both factors.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    let low = product as u64;
    low ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_in_a_row_are_spread() {
        for seed in [0, 1, u64::MAX] {
            let seed = Seed::new(seed);
            let low: BTreeSet<u64> = (0..4_096)
                .map(|key| seed.hash(Name::session(key)) & 0xffff)
                .collect();
            let high: BTreeSet<u64> = (0..4_096)
                .map(|key| seed.hash(Name::session(key << 40)) >> 48)
                .collect();
            // 4,096 draws of 65,536 leave some 3,970 different ones.
            assert!(low.len() > 3_800 && high.len() > 3_800, "{seed:?}");
        }
    }
}
