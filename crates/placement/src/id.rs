//! What is counted and named here: time, workers, requests, generations.

use std::fmt;
use std::time::Duration;

/// A moment, in microseconds since an instant that the caller chose once.
///
/// This crate has no clock. Going back in time is harmless: an age is never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(u64);

impl At {
    /// The moment that many microseconds after the caller's start.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the caller's start.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// The moment so much later.
    pub(crate) fn after(self, wait: Duration) -> Self {
        let micros = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// How long ago `earlier` was; zero if it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// Names a worker: the first 8 bytes of BLAKE3 over its name, so every router agrees on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId([u8; 8]);

impl WorkerId {
    /// The id of the worker with this name (its configured name or its address).
    #[must_use]
    pub fn of(name: &str) -> Self {
        let digest = blake3::hash(name.as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        Self([a, b, c, d, e, f, g, h])
    }

    /// The id as it is.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The id as a big-endian number, which has the same order.
    pub(crate) const fn number(self) -> u64 {
        u64::from_be_bytes(self.0)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.number())
    }
}

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerId({self})")
    }
}

/// Names a request; the caller numbers its requests and never uses a number twice at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Which life of its process a worker is in; another one means an empty cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation {
    /// When the process began by its own account, in seconds since 1970; 0 if it does not say.
    /// Every router sees the same, so this alone decides the route tag.
    pub started: u64,
    /// Restarts that this caller has noticed of a process that does not say. Another router may
    /// have noticed fewer, so the tag must not depend on it: two routers would reject each
    /// other's echoes for good.
    pub noticed: u64,
}

impl Generation {
    /// The life that began at this time.
    #[must_use]
    pub const fn started(seconds: u64) -> Self {
        Self {
            started: seconds,
            noticed: 0,
        }
    }

    /// The next life of a process that does not say when it began.
    #[must_use]
    pub const fn after_restart(self) -> Self {
        Self {
            started: self.started,
            noticed: self.noticed.wrapping_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_id_is_the_head_of_the_hash_of_its_name() {
        // `printf worker-0 | b3sum` begins with these digits in any language.
        let expected = blake3::hash(b"worker-0").to_hex();
        assert_eq!(WorkerId::of("worker-0").to_string(), expected[..16]);
        assert_ne!(WorkerId::of("a"), WorkerId::of("b"));
    }

    #[test]
    fn the_past_is_zero_ago_from_an_earlier_moment() {
        let (early, late) = (At::from_micros(5), At::from_micros(7));
        assert_eq!(late.since(early), Duration::from_micros(2));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
