//! Reads the batches of KV events that vLLM and SGLang publish, and never fails hard: an event
//! that is not understood is counted as such, the others count.
//!
//! Payloads are MessagePack: `[time, [event, …], rank]`. An event is a map with a `type`, or in
//! older releases an array that begins with it.
//!
//! What is not read: which prompts the blocks belong to. A signature names prefixes in its own
//! way, and the token ids in an event do not say under which scheme they were signed.
//!
//! ```
//! use headwater_router::kv_batch::{Batch, KvEvent};
//!
//! // [1.5, [["BlockRemoved", [7, 8]], {"type": "AllBlocksCleared"}], nil]
//! let payload = b"\x93\xcb\x3f\xf8\0\0\0\0\0\0\x92\x92\xacBlockRemoved\x92\x07\x08\x81\xa4type\xb0AllBlocksCleared\xc0";
//! let batch = Batch::parse(payload).ok_or("a batch")?;
//! assert_eq!(batch.events, [KvEvent::Removed { blocks: 2 }, KvEvent::Cleared]);
//! # Ok::<(), &str>(())
//! ```

use rmpv::{Value, ValueRef, decode};

/// Nested deeper is no batch: a real one has four levels.
const DEEPEST: usize = 16;

/// What one message carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// In the order in which they happened.
    pub events: Vec<KvEvent>,
}

/// One thing that happened in an engine's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KvEvent {
    /// So many blocks were filled.
    Stored {
        /// How many.
        blocks: usize,
    },
    /// So many blocks were given up.
    Removed {
        /// How many.
        blocks: usize,
    },
    /// The cache is empty.
    Cleared,
    /// Something that this version does not know.
    Unknown,
}

impl KvEvent {
    /// The name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored { .. } => "stored",
            Self::Removed { .. } => "removed",
            Self::Cleared => "cleared",
            Self::Unknown => "unknown",
        }
    }
}

impl Batch {
    /// Reads a payload; nothing if it is no batch at all.
    #[must_use]
    pub fn parse(mut payload: &[u8]) -> Option<Self> {
        let batch = decode::read_value_ref_with_max_depth(&mut payload, DEEPEST).ok()?;
        let ValueRef::Array(fields) = batch else {
            return None;
        };
        let Some(ValueRef::Array(events)) = fields.get(1) else {
            return None;
        };
        Some(Self {
            events: events.iter().map(event).collect(),
        })
    }
}

fn event(value: &ValueRef<'_>) -> KvEvent {
    match value {
        ValueRef::Map(fields) => {
            let field = |name: &str| {
                let found = fields.iter().find(|(key, _)| text(key) == Some(name));
                found.map(|(_, value)| value)
            };
            of_kind(field("type"), field("block_hashes"))
        }
        ValueRef::Array(fields) => of_kind(fields.first(), fields.get(1)),
        _ => KvEvent::Unknown,
    }
}

fn of_kind(kind: Option<&ValueRef<'_>>, hashes: Option<&ValueRef<'_>>) -> KvEvent {
    let blocks = match hashes {
        Some(ValueRef::Array(hashes)) => Some(hashes.len()),
        _ => None,
    };
    match (kind.and_then(text), blocks) {
        (Some("BlockStored"), Some(blocks)) => KvEvent::Stored { blocks },
        (Some("BlockRemoved"), Some(blocks)) => KvEvent::Removed { blocks },
        (Some("AllBlocksCleared"), _) => KvEvent::Cleared,
        _ => KvEvent::Unknown,
    }
}

fn text<'a>(value: &'a ValueRef<'_>) -> Option<&'a str> {
    match value {
        ValueRef::String(text) => text.as_str(),
        _ => None,
    }
}

/// A payload for tests.
#[doc(hidden)]
#[must_use]
pub fn encode(events: Vec<Value>) -> Vec<u8> {
    let batch = Value::Array(vec![1.5.into(), Value::Array(events), Value::Nil]);
    let mut payload = Vec::new();
    // Writing to memory cannot fail.
    let _ = rmpv::encode::write_value(&mut payload, &batch);
    payload
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(fields: &[(&str, Value)]) -> Value {
        let field = |(key, value): &(&str, Value)| (Value::from(*key), value.clone());
        Value::Map(fields.iter().map(field).collect())
    }

    fn hashes(count: u64) -> Value {
        // The last one as all its bytes, as vLLM writes them where it is told to.
        let mut hashes: Vec<Value> = (1..count).map(Value::from).collect();
        hashes.push(Value::Binary(vec![7; 32]));
        Value::Array(hashes)
    }

    fn check(event: Value, expected: KvEvent) {
        let batch = Batch::parse(&encode(vec![event.clone()])).unwrap();
        assert_eq!(batch.events, [expected], "{event}");
    }

    #[test]
    fn both_forms_of_an_event_are_read() {
        let stored = KvEvent::Stored { blocks: 4 };
        check(
            map(&[
                ("block_hashes", hashes(4)),
                ("parent_block_hash", Value::Nil),
                ("token_ids", Value::Array(vec![1.into(), 2.into()])),
                ("type", "BlockStored".into()),
                ("medium", "GPU".into()),
            ]),
            stored,
        );
        let fields = vec!["BlockStored".into(), hashes(4), Value::Nil];
        check(Value::Array(fields), stored);
        let removed = vec!["BlockRemoved".into(), hashes(1)];
        check(Value::Array(removed), KvEvent::Removed { blocks: 1 });
        check(
            map(&[("type", "AllBlocksCleared".into())]),
            KvEvent::Cleared,
        );
        check(
            Value::Array(vec!["AllBlocksCleared".into()]),
            KvEvent::Cleared,
        );
    }

    #[test]
    fn what_is_new_is_no_error() {
        check(map(&[("type", "BlockMoved".into())]), KvEvent::Unknown);
        check(map(&[("type", "BlockStored".into())]), KvEvent::Unknown);
        check(map(&[]), KvEvent::Unknown);
        check(Value::Array(Vec::new()), KvEvent::Unknown);
        check(Value::Nil, KvEvent::Unknown);
        assert_eq!(Batch::parse(b""), None);
        assert_eq!(Batch::parse(b"\xc0"), None);
        assert_eq!(Batch::parse(b"\x91\x00"), None);
        // Deep nesting ends the reading, not the stack.
        assert_eq!(Batch::parse(&[0x91; 100_000]), None);
    }

    proptest! {
        #[test]
        fn no_payload_stops_the_reader(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Batch::parse(&payload);
        }
    }
}
