//! A connection to a worker that speaks HTTP/1.1: what came, and what is still to be written.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::come::Arena;
use crate::transport::Transport;

/// Pieces that go out in one write.
const MOST_PIECES: usize = 8;

/// Bytes that wait to be written before more are asked for.
const ENOUGH_BYTES: usize = 64 << 10;

/// The connection. Dropped, it is closed at once, whatever it is doing.
pub(crate) struct Line {
    transport: Transport,
    arena: Rc<Arena>,
    /// What came and was not taken yet.
    pub(crate) come: Bytes,
    to_write: VecDeque<Bytes>,
    written: Written,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Through,
    /// TLS may keep some back.
    Unflushed,
}

impl Line {
    pub(crate) fn new(transport: Transport, arena: Rc<Arena>) -> Self {
        Self {
            transport,
            arena,
            come: Bytes::new(),
            to_write: VecDeque::new(),
            written: Written::Through,
        }
    }

    /// Whether nothing came while nobody asked: not even its end.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let mut byte = ReadBuf::new(&mut byte);
        let mut cx = Context::from_waker(Waker::noop());
        let polled = Pin::new(&mut self.transport).poll_read(&mut cx, &mut byte);
        polled.is_pending() && self.come.is_empty() && self.to_write.is_empty()
    }

    /// Reads on; no bytes at the end of the connection.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let read = ready!(self.arena.poll_read(cx, Pin::new(&mut self.transport)))?;
        let bytes = read.len();
        if self.come.is_empty() {
            self.come = read;
        } else {
            let mut all = BytesMut::with_capacity(self.come.len() + bytes);
            all.extend_from_slice(&self.come);
            all.extend_from_slice(&read);
            self.come = all.freeze();
        }
        Poll::Ready(Ok(bytes))
    }

    /// Adds to what is to be written.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.to_write.push_back(piece);
        }
    }

    /// Whether anything waits to be written.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.to_write.is_empty()
    }

    /// Whether more can be added before anything is written.
    pub(crate) fn has_room(&self) -> bool {
        self.to_write.len() < MOST_PIECES
            && self.to_write.iter().map(Bytes::len).sum::<usize>() < ENOUGH_BYTES
    }

    /// Writes all that was added.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.to_write.is_empty() {
            let mut slices = [IoSlice::new(&[]); MOST_PIECES];
            let mut used = 0;
            for (slice, piece) in slices.iter_mut().zip(&self.to_write) {
                *slice = IoSlice::new(piece);
                used += 1;
            }
            let slices = slices.get(..used).unwrap_or_default();
            let transport = Pin::new(&mut self.transport);
            let bytes = ready!(transport.poll_write_vectored(cx, slices))?;
            if bytes == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.forget_written(bytes);
            self.written = Written::Unflushed;
        }
        if self.written == Written::Unflushed {
            ready!(Pin::new(&mut self.transport).poll_flush(cx))?;
            self.written = Written::Through;
        }
        Poll::Ready(Ok(()))
    }

    fn forget_written(&mut self, mut bytes: usize) {
        while let Some(piece) = self.to_write.front_mut() {
            if bytes < piece.len() {
                piece.advance(bytes);
                return;
            }
            bytes -= piece.len();
            self.to_write.pop_front();
        }
    }
}
