//! The short names that travel in headers: raw bytes inside, lower-case hexadecimal for people.

use std::fmt;
use std::str::FromStr;

// The three names differ only in what they name; written out by hand they would drift apart.
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $len]);
        impl $name {
            /// Takes the bytes as they stand on the wire.
            pub const fn from_bytes(bytes: [u8; $len]) -> Self { Self(bytes) }
            /// The bytes as they stand on the wire.
            pub const fn as_bytes(&self) -> &[u8; $len] { &self.0 }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write_hex(f, &self.0) }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write_hex(f, &self.0) }
        }
        impl FromStr for $name {
            type Err = HexError;
            fn from_str(text: &str) -> Result<Self, HexError> { read_hex(text).map(Self) }
        }
    };
}

name_type!(
    /// Names a whole prefix up to a block border: the first 8 bytes of the chain's state there.
    ///
    /// Equal hashes mean equal tokens from the very first one on, and an equal [`Fingerprint`].
    PrefixHash, 8
);
name_type!(
    /// Names everything that turns text into prefix hashes: tokenizer, template, model, salt, ….
    ///
    /// Hashes under different fingerprints never compare equal except by chance.
    Fingerprint, 8
);
name_type!(
    /// Names one life of one worker, equal in every router and meaningless to anyone else.
    RouteTag, 4
);

/// A text is not the hexadecimal form of the name that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HexError {
    /// How many hexadecimal digits the name has.
    pub expected_digits: usize,
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected {} hexadecimal digits and nothing else",
            self.expected_digits
        )
    }
}

impl std::error::Error for HexError {}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

fn read_hex<const N: usize>(text: &str) -> Result<[u8; N], HexError> {
    let error = HexError {
        expected_digits: 2 * N,
    };
    if text.len() != 2 * N {
        return Err(error);
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        for digit in pair {
            let value = char::from(*digit)
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok());
            *byte = (*byte << 4) | value.ok_or(error)?;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_round_trips_and_rejects_the_rest() {
        let name: PrefixHash = "00ab10ff00ab10ff".parse().unwrap();
        assert_eq!(name.to_string(), "00ab10ff00ab10ff");
        assert_eq!(
            "00AB10FF".parse::<RouteTag>().unwrap().to_string(),
            "00ab10ff"
        );
        for wrong in [
            "",
            "00ab10f",
            "00ab10ff0",
            "+0ab10ff",
            "00ab10fg",
            "00ab10é",
        ] {
            assert_eq!(
                wrong.parse::<RouteTag>(),
                Err(HexError { expected_digits: 8 }),
                "{wrong}"
            );
        }
    }
}
