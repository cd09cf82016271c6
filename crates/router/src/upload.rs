//! A request's body on its way to a worker, with as much of it kept as a retry may need.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::fault::Fault;
use crate::trailers;

/// What is read of a body at a time while its request is held.
pub(crate) const HELD_PART_BYTES: usize = 1 << 20;

/// What is read of a body only to keep its connection.
const MOST_THROWN_AWAY: usize = 64 << 10;

/// The body as the client sends it; attempts to deliver it are made of it.
#[derive(Clone)]
pub(crate) struct Upload(Rc<RefCell<Source>>);

/// One attempt to deliver the body: what is kept from the start, then what still comes.
///
/// Only the latest one has what still comes: an earlier one, whose worker has answered before it
/// had all, ends where it is.
pub(crate) struct Attempt {
    source: Rc<RefCell<Source>>,
    number: u32,
    next: usize,
}

/// What a body may cost.
#[derive(Clone, Copy)]
pub(crate) struct UploadLimits {
    /// Bytes kept for another attempt.
    pub(crate) kept_bytes: usize,
    /// Bytes in all, if there is a limit.
    pub(crate) bytes: Option<u64>,
    /// How long the client may send nothing, if there is a limit.
    pub(crate) stall: Option<Duration>,
}

/// Why a body ended early.
#[derive(Debug)]
pub(crate) enum Broken {
    Client,
    TooLarge,
    Slow,
    /// It goes on in a later attempt.
    Elsewhere,
}

struct Source {
    incoming: Incoming,
    /// The latest attempt.
    attempt: u32,
    /// Its part of the room for bodies whose requests are held.
    room: Vec<OwnedSemaphorePermit>,
    limits: UploadLimits,
    bytes: u64,
    /// Runs while the client is waited for.
    alarm: Option<Pin<Box<Sleep>>>,
    broken: Option<Fault>,
    kept: Vec<Bytes>,
    kept_bytes: usize,
    /// Of `kept`, what the latest attempt has passed on.
    delivered: usize,
    /// Trailers that came while only the head of the body was wanted.
    trailers: Option<HeaderMap>,
    /// Nothing of it comes before the client was told to go on.
    waits: bool,
    /// Something was passed on that is not kept: this was the last attempt.
    lost: bool,
    ended: bool,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, limits: UploadLimits) -> Self {
        Self(Rc::new(RefCell::new(Source {
            incoming,
            attempt: 0,
            room: Vec::new(),
            limits,
            bytes: 0,
            alarm: None,
            broken: None,
            kept: Vec::new(),
            kept_bytes: 0,
            delivered: 0,
            trailers: None,
            waits: false,
            lost: false,
            ended: false,
        })))
    }

    /// Refuses a body that is announced as too large, before any of it is read.
    pub(crate) fn refuse_announced(&self) -> Result<(), Fault> {
        let source = self.0.borrow();
        let announced = source.incoming.size_hint().lower();
        let fits = source.limits.bytes.is_none_or(|most| announced <= most);
        fits.then_some(()).ok_or(Fault::TooLarge)
    }

    /// The client sends it once it is told to, which reading it does.
    pub(crate) fn waits_for_word(&self) {
        self.0.borrow_mut().waits = true;
    }

    /// Throws away what has come of a body that nobody will have, up to a limit and without
    /// waiting for more; gives whether the client has sent all of it.
    pub(crate) async fn throw_away(&self) -> bool {
        let mut bytes = 0;
        let mut yielded = false;
        poll_fn(|cx| {
            let mut source = self.0.borrow_mut();
            while !source.is_complete() && source.may_be_thrown_away(bytes) {
                match Pin::new(&mut source.incoming).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        bytes += frame.data_ref().map_or(0, Bytes::len);
                        yielded = false;
                    }
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(false),
                    Poll::Ready(None) => source.ended = true,
                    // The connection hands a piece over after it was asked for one.
                    Poll::Pending if !yielded => {
                        yielded = true;
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Pending => return Poll::Ready(false),
                }
            }
            Poll::Ready(source.is_complete())
        })
        .await
    }

    /// Reads until `bytes` have come or the body ends, and shows them without consuming any.
    pub(crate) async fn head<T>(
        &self,
        bytes: usize,
        show: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        poll_fn(|cx| self.0.borrow_mut().poll_head(cx, bytes))
            .await
            .map_err(|broken| broken.fault())?;
        let source = self.0.borrow();
        Ok(match source.kept.as_slice() {
            [one] => show(one),
            parts => show(&parts.concat()),
        })
    }

    /// Reads on while the request waits for a worker: only who reads notices that a client has
    /// left. Ends only if the body cannot be had. Beyond a first part each further one needs
    /// room, which all held requests share; where there is none, the client's leaving shows when
    /// there is some again.
    pub(crate) async fn read_ahead(&self, room: &Arc<Semaphore>) -> Fault {
        let mut bytes = HELD_PART_BYTES;
        loop {
            let read = poll_fn(|cx| self.0.borrow_mut().poll_head(cx, bytes)).await;
            if let Err(broken) = read {
                return broken.fault();
            }
            if self.is_complete() {
                // From here on the connection itself is read.
                return std::future::pending().await;
            }
            // The room is never closed.
            if let Ok(part) = Arc::clone(room).acquire_owned().await {
                self.0.borrow_mut().room.push(part);
            }
            bytes += HELD_PART_BYTES;
        }
    }

    pub(crate) fn attempt(&self) -> Attempt {
        let mut source = self.0.borrow_mut();
        source.delivered = 0;
        source.attempt += 1;
        Attempt {
            source: Rc::clone(&self.0),
            number: source.attempt,
            next: 0,
        }
    }

    /// Whether another attempt would deliver the same bytes.
    pub(crate) fn can_repeat(&self) -> bool {
        !self.0.borrow().lost
    }

    /// No other attempt will follow: frees what was kept for one. A stream may go on for
    /// minutes, and each kept piece holds on to the buffer that it was read into.
    pub(crate) fn forget(&self) {
        let mut source = self.0.borrow_mut();
        source.lost = true;
        source.room = Vec::new();
        let delivered = source.delivered;
        for piece in source.kept.iter_mut().take(delivered) {
            *piece = Bytes::new();
        }
    }

    /// What was wrong with the body, if an exchange failed because of it.
    pub(crate) fn fault(&self) -> Fault {
        self.0.borrow().broken.unwrap_or(Fault::ClientBody)
    }

    /// Its length, if the client told it, before any of it is read.
    pub(crate) fn length(&self) -> Option<u64> {
        self.0.borrow().incoming.size_hint().exact()
    }

    /// Whether the client has sent all of it.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.borrow().is_complete()
    }

    /// Whether the rest of it cannot be had.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.borrow().broken.is_some()
    }
}

impl Source {
    fn is_complete(&self) -> bool {
        self.ended || self.incoming.is_end_stream()
    }

    fn may_be_thrown_away(&self, bytes_so_far: usize) -> bool {
        !self.waits && self.broken.is_none() && bytes_so_far < MOST_THROWN_AWAY
    }

    /// The next piece that the client sends, within the limits.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let polled = match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Pending => ready!(self.poll_alarm(cx)),
            Poll::Ready(Some(Ok(frame))) => {
                self.alarm = None;
                self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                let most = self.limits.bytes.unwrap_or(u64::MAX);
                Some(if self.bytes > most {
                    Err(Broken::TooLarge)
                } else {
                    Ok(trailers::stripped(frame))
                })
            }
            Poll::Ready(Some(Err(_))) => Some(Err(Broken::Client)),
            Poll::Ready(None) => None,
        };
        if let Some(Err(broken)) = &polled {
            self.broken = Some(broken.fault());
        }
        Poll::Ready(polled)
    }

    /// Waits together with the client's next bytes, and breaks off if those do not come.
    fn poll_alarm<T>(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Broken>>> {
        let Some(stall) = self.limits.stall else {
            return Poll::Pending;
        };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(alarm.as_mut().poll(cx));
        // Whoever polls again after the end must not find a timer that is used up.
        alarm.as_mut().reset(Instant::now() + stall);
        Poll::Ready(Some(Err(Broken::Slow)))
    }

    fn poll_head(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<Result<(), Broken>> {
        while self.kept_bytes < bytes && !self.is_complete() {
            match ready!(self.poll_next(cx)).transpose()? {
                Some(frame) => match frame.into_data() {
                    Ok(data) => self.keep(data),
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
                None => self.ended = true,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn keep(&mut self, data: Bytes) {
        self.kept_bytes += data.len();
        self.kept.push(data);
    }

    /// Notes what goes by; gives whether it is kept.
    fn pass(&mut self, frame: &Frame<Bytes>) -> Kept {
        match frame.data_ref() {
            Some(data) if !self.lost && self.kept_bytes + data.len() <= self.limits.kept_bytes => {
                self.keep(data.clone());
                Kept::Yes
            }
            _ => {
                self.lost = true;
                self.kept = Vec::new();
                self.room = Vec::new();
                Kept::No
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

impl Broken {
    fn fault(&self) -> Fault {
        match self {
            Self::Client | Self::Elsewhere => Fault::ClientBody,
            Self::TooLarge => Fault::TooLarge,
            Self::Slow => Fault::SlowBody,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.fault().message())
    }
}

impl Error for Broken {}

impl Body for Attempt {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        let mut source = this.source.borrow_mut();
        if this.number != source.attempt {
            return Poll::Ready(Some(Err(Broken::Elsewhere)));
        }
        if let Some(data) = source.kept.get(this.next) {
            let data = data.clone();
            this.next += 1;
            source.delivered = this.next;
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if let Some(trailers) = source.trailers.take() {
            source.lost = true;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        if source.ended {
            return Poll::Ready(None);
        }
        let frame = ready!(source.poll_next(cx));
        match &frame {
            Some(Ok(frame)) if source.pass(frame) == Kept::Yes => {
                this.next += 1;
                source.delivered = this.next;
            }
            Some(_) => {}
            None => source.ended = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let source = self.source.borrow();
        let has_all = source.kept.len() <= self.next && source.trailers.is_none();
        self.number == source.attempt && has_all && source.is_complete()
    }

    fn size_hint(&self) -> SizeHint {
        let source = self.source.borrow();
        let unsent: usize = source.kept.iter().skip(self.next).map(Bytes::len).sum();
        match source.incoming.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + unsent as u64),
            None => SizeHint::default(),
        }
    }
}
