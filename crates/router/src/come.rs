//! Bytes that came from a worker: read into memory that a whole thread shares.

use std::cell::RefCell;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What one read takes at most.
const READ_BYTES: usize = 64 << 10;

/// With less room than this left, memory is begun anew.
const LEAST_BYTES: usize = 16 << 10;

/// Up to this size, a copy is cheaper than to keep the whole of what was read.
const COPIED_BYTES: usize = 4 << 10;

/// Where every connection of a thread reads to. A connection that waits needs no memory, and
/// what was passed on is used again: most reads find it in the processor's cache.
#[derive(Default)]
pub(crate) struct Arena(RefCell<BytesMut>);

impl Arena {
    /// Reads what there is; no bytes at the end.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        from: Pin<&mut (impl AsyncRead + Unpin)>,
    ) -> Poll<io::Result<Bytes>> {
        let mut memory = self.0.borrow_mut();
        if memory.capacity() < LEAST_BYTES {
            memory.reserve(READ_BYTES);
        }
        ready!(pin!(from.get_mut().read_buf(&mut *memory)).poll(cx))?;
        Poll::Ready(Ok(memory.split().freeze()))
    }
}

/// Takes the first bytes of what came.
pub(crate) fn take(come: &mut Bytes, length: usize) -> Bytes {
    let piece = come.split_to(length.min(come.len()));
    if come.is_empty() {
        // Let go of the memory at once.
        *come = Bytes::new();
    }
    if piece.len() > COPIED_BYTES {
        return piece;
    }
    Bytes::copy_from_slice(&piece)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn read(arena: &Arena, mut bytes: &[u8]) -> Bytes {
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(read)) = arena.poll_read(&mut cx, Pin::new(&mut bytes)) else {
            panic!("a slice can be read");
        };
        read
    }

    #[test]
    fn memory_is_used_again_once_it_was_passed_on() {
        let arena = Arena::default();
        let first = read(&arena, &[1; 60_000]);
        let at = first.as_ptr();
        drop(first);
        assert_eq!(read(&arena, &[2; 60_000]).as_ptr(), at);
    }

    #[test]
    fn what_is_still_on_its_way_stays_as_it_is() {
        let arena = Arena::default();
        let first = read(&arena, &[1; 60_000]);
        let second = read(&arena, &[2; 60_000]);
        assert!(first.iter().all(|b| *b == 1) && second.iter().all(|b| *b == 2));
    }

    #[test]
    fn a_small_piece_holds_on_to_nothing_else() {
        let mut come = Bytes::from(vec![7; 10_000]);
        let at = come.as_ptr();
        let small = take(&mut come, 10);
        assert!(small.as_ptr() != at && small.len() == 10 && come.len() == 9_990);
        let large = take(&mut come, usize::MAX);
        assert_eq!(large.as_ptr(), at.wrapping_add(10));
        assert!(come.is_empty());
    }
}
