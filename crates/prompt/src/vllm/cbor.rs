//! Canonical CBOR (RFC 8949), as much of it as a block hash needs: every head in its shortest
//! form, every length known before.

#[derive(Debug, Default)]
pub(super) struct Cbor {
    bytes: Vec<u8>,
}

// The upper three bits of a head.
const UNSIGNED: u8 = 0 << 5;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const ARRAY: u8 = 4 << 5;
const NULL: u8 = 0xF6;

impl Cbor {
    pub(super) fn unsigned(&mut self, value: u32) {
        self.head(UNSIGNED, u64::from(value));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.length(BYTES, bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.length(TEXT, text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// The head of a list; its elements follow.
    pub(super) fn array(&mut self, elements: usize) {
        self.length(ARRAY, elements);
    }

    pub(super) fn null(&mut self) {
        self.bytes.push(NULL);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn length(&mut self, major: u8, length: usize) {
        // No machine has more than 64 bits of address.
        self.head(major, u64::try_from(length).unwrap_or(u64::MAX));
    }

    fn head(&mut self, major: u8, value: u64) {
        let bytes = value.to_be_bytes();
        let (marker, used) = match value {
            0..24 => (bytes[7], 0),
            24..0x100 => (24, 1),
            0x100..0x1_0000 => (25, 2),
            0x1_0000..0x1_0000_0000 => (26, 4),
            0x1_0000_0000.. => (27, 8),
        };
        self.bytes.push(major | marker);
        self.bytes.extend_from_slice(&bytes[8 - used..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(write: impl Fn(&mut Cbor), expected: &[u8]) {
        let mut cbor = Cbor::default();
        write(&mut cbor);
        assert_eq!(cbor.into_bytes(), expected);
    }

    #[test]
    fn every_head_is_the_shortest() {
        check(|c| c.unsigned(0), &[0x00]);
        check(|c| c.unsigned(23), &[0x17]);
        check(|c| c.unsigned(24), &[0x18, 24]);
        check(|c| c.unsigned(255), &[0x18, 255]);
        check(|c| c.unsigned(256), &[0x19, 1, 0]);
        check(|c| c.unsigned(65_535), &[0x19, 255, 255]);
        check(|c| c.unsigned(65_536), &[0x1A, 0, 1, 0, 0]);
        check(|c| c.unsigned(u32::MAX), &[0x1A, 255, 255, 255, 255]);
        check(|c| c.array(3), &[0x83]);
        check(|c| c.array(16), &[0x90]);
        check(|c| c.array(32), &[0x98, 0x20]);
        check(|c| c.array(128), &[0x98, 0x80]);
        check(|c| c.array(256), &[0x99, 1, 0]);
        check(|c| c.array(65_536), &[0x9A, 0, 1, 0, 0]);
        check(|c| c.bytes(&[7]), &[0x41, 7]);
        check(|c| c.text("é"), &[0x62, 0xC3, 0xA9]);
        check(Cbor::null, &[0xF6]);
    }

    #[test]
    fn long_text_has_a_long_head() {
        let mut cbor = Cbor::default();
        cbor.text(&"a".repeat(300));
        assert!(cbor.into_bytes().starts_with(&[0x79, 0x01, 0x2C, b'a']));
    }
}
