//! A client's connection: where it is in its request, how long it may stay there, when to stop.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use hyper::StatusCode;
use hyper::http::response;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::answer;
use crate::head_scan::{Head, HeadScan};
use crate::shared::Shared;
use crate::spoken::Spoken;
use crate::telemetry::Telling;
use crate::transport::Transport;

/// What the connection's thread and its transport both know of it. Times are counted in the
/// thread's ticks: reading a clock twice for each request would cost more than all of this.
pub(crate) struct Client {
    phase: Cell<Phase>,
    since_tick: Cell<u64>,
    tick: Rc<Cell<u64>>,
    /// Requests being served: more than one only in HTTP/2.
    turns: Cell<u32>,
    speaks: Cell<Spoken>,
    /// What was seen of the head that is about to be served.
    head: Cell<Head>,
    /// Since when the client has taken nothing of what is ready for it.
    blocked_since: Cell<Option<u64>>,
    /// When it was last seen that more of it has come than is read while it is served.
    more_at: Cell<Option<u64>>,
    finishing: Cell<bool>,
    /// It was refused something, and may still be sending it.
    refused: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// Counts what the engine refuses before there is a request.
    counters: Option<Arc<Shared>>,
}

/// What is awaited of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next request, which may never come.
    Idle,
    /// The rest of a request's head.
    Head,
    /// Nothing: its request is being served.
    Busy,
    /// It has been too slow with its head.
    SlowHead,
    /// It has been idle for too long.
    SlowIdle,
    /// It does not take its answer.
    SlowReader,
    /// Nothing more will be said to it; what it still sends is thrown away.
    Leaving,
}

/// What a socket says whose other side has closed it, whatever is left to read.
#[cfg(target_os = "linux")]
const LEFT: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const LEFT: PollFlags = PollFlags::HUP;

/// How long a client that was refused may take to read why, and one that is idle to hear that the
/// router stops, in ticks.
const LINGER_TICKS: u64 = 10;

/// What such a client may still send, in bytes.
const MOST_THROWN_AWAY: usize = 64 << 20;

/// How long a client may take, in ticks.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) head_ticks: u64,
    pub(crate) idle_ticks: u64,
    /// How long it may leave its answer where it is.
    pub(crate) stall_ticks: Option<u64>,
}

impl Client {
    /// A client that has just connected: its first head is due.
    pub(crate) fn new(tick: Rc<Cell<u64>>, counters: Option<Arc<Shared>>) -> Rc<Self> {
        Rc::new(Self {
            counters,
            phase: Cell::new(Phase::Head),
            since_tick: Cell::new(tick.get()),
            tick,
            turns: Cell::new(0),
            speaks: Cell::new(Spoken::Http1),
            head: Cell::default(),
            blocked_since: Cell::new(None),
            more_at: Cell::new(None),
            finishing: Cell::new(false),
            refused: Cell::new(false),
            waker: RefCell::new(None),
        })
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since_tick.set(self.tick.get());
    }

    /// Its first bytes told what it speaks. Frames of HTTP/2 say nothing of how much of a head
    /// has come, so such a client is idle until it has a request.
    pub(crate) fn speaks(&self, spoken: Spoken) {
        self.speaks.set(spoken);
        if spoken == Spoken::Http2 {
            self.enter(Phase::Idle);
        }
    }

    /// Whether nothing keeps it but that it has not said that it knows of the end, which HTTP/2
    /// asks for: a client that has hung, or whose host has, never says it.
    fn is_farewell(&self) -> bool {
        self.finishing.get() && self.speaks.get() == Spoken::Http2
    }

    /// Bytes came.
    fn heard(&self) {
        if self.phase.get() == Phase::Idle && self.is_farewell() {
            // It may still be reading its last answer.
            self.enter(Phase::Idle);
        }
        // In HTTP/2 a byte now and then would keep a connection without a request for ever.
        if self.phase.get() == Phase::Idle && self.speaks.get() == Spoken::Http1 {
            self.enter(Phase::Head);
        }
    }

    /// Called on every tick: ends what took too long.
    pub(crate) fn judge(&self, patience: Patience) {
        let since = |tick: u64| self.tick.get().saturating_sub(tick);
        let waited = since(self.since_tick.get());
        let blocked = self.blocked_since.get().map_or(0, since);
        let too_slow = match self.phase.get() {
            Phase::Head if waited > patience.head_ticks => Phase::SlowHead,
            Phase::Idle if waited > patience.idle_ticks => Phase::SlowIdle,
            Phase::Idle if self.is_farewell() && waited > LINGER_TICKS => Phase::SlowIdle,
            Phase::Busy if patience.stall_ticks.is_some_and(|most| blocked > most) => {
                Phase::SlowReader
            }
            Phase::Leaving if waited > LINGER_TICKS => Phase::SlowIdle,
            Phase::Busy if self.more_at.take().is_some() => return self.wake(),
            _ => return,
        };
        self.phase.set(too_slow);
        self.wake();
    }

    /// Whether it may still be sending what nobody will read: a system that closes such a
    /// connection takes back what it has sent, and with it the answer that says why.
    fn may_be_sending(&self) -> bool {
        self.refused.get() || self.phase.get() == Phase::Head
    }

    /// Asks the connection to end after the request that it is serving.
    pub(crate) fn finish(&self) {
        self.finishing.set(true);
        if self.phase.get() == Phase::Idle {
            // From now on it has the time that those have who are told to go.
            self.enter(Phase::Idle);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    fn keep_waker(&self, cx: &Context<'_>) {
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(cx.waker())) {
            *kept = Some(cx.waker().clone());
        }
    }

    /// Waits for a client that has not said anything yet, unless asked to finish meanwhile.
    pub(crate) async fn unless_finishing<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.keep_waker(cx);
            match future.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(Some(value)),
                Poll::Pending if self.finishing.get() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Runs a connection to its end; `stop` is called once when it is asked to finish.
    pub(crate) async fn drive<C: Future>(
        &self,
        mut connection: Pin<&mut C>,
        stop: impl Fn(Pin<&mut C>),
    ) -> C::Output {
        let mut told = false;
        poll_fn(|cx| {
            if self.finishing.get() && !told {
                told = true;
                stop(connection.as_mut());
            }
            self.keep_waker(cx);
            connection.as_mut().poll(cx)
        })
        .await
    }
}

/// From the head of a request to the end of its answer.
pub(crate) struct Turn {
    client: Rc<Client>,
    head: Head,
    /// Told when the turn ends, if it is told at all.
    pub(crate) telling: Option<Box<Telling>>,
}

impl Turn {
    pub(crate) fn begin(client: &Rc<Client>) -> Self {
        client.enter(Phase::Busy);
        client.turns.set(client.turns.get() + 1);
        Self {
            client: Rc::clone(client),
            head: client.head.take(),
            telling: None,
        }
    }

    /// The router itself answers, perhaps before it has all of the request.
    pub(crate) fn refused(&self) {
        self.client.refused.set(true);
    }

    /// The head of the request's answer is there.
    pub(crate) fn answered(&mut self, head: &response::Parts) {
        if let Some(telling) = &mut self.telling {
            telling.answered(head.status, &head.headers);
        }
    }

    /// What was seen of the request's head beside its parser.
    pub(crate) fn head(&self) -> Head {
        self.head
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let left = self.client.turns.get().saturating_sub(1);
        self.client.turns.set(left);
        if left == 0 {
            self.client.enter(Phase::Idle);
        }
    }
}

/// The transport, which sees when a head begins and ends the connection of a slow client.
pub(crate) struct ClientStream {
    stream: Transport,
    client: Rc<Client>,
    /// Of the head that is coming.
    scan: HeadScan,
    /// Bytes that came after the last answer.
    thrown_away: usize,
    /// Whether what was read last came while a request was served: of its body, or behind it.
    read_on: bool,
    is_shut: bool,
}

impl ClientStream {
    pub(crate) fn new(stream: Transport, client: Rc<Client>) -> Self {
        Self {
            stream,
            client,
            scan: HeadScan::default(),
            thrown_away: 0,
            read_on: false,
            is_shut: false,
        }
    }

    /// Looks at bytes that came.
    fn look(&mut self, bytes: &[u8]) {
        if self.client.phase.get() == Phase::Idle {
            if bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
                // Empty lines behind a request are no beginning of another one.
                return;
            }
            self.scan = HeadScan::default();
        }
        self.client.heard();
        if self.client.phase.get() == Phase::Head
            && self.client.speaks.get() == Spoken::Http1
            && let Some(head) = self.scan.feed(bytes)
        {
            self.client.head.set(head);
        }
    }

    /// What the engine says where no request has begun: that the head is none, without a word about
    /// why. It is said in the shape of all errors, and counted.
    fn refusal(&self, buffer: &[u8]) -> Option<String> {
        let client = &self.client;
        if client.phase.get() != Phase::Head || client.speaks.get() != Spoken::Http1 {
            return None;
        }
        let status = buffer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
        let status = StatusCode::from_bytes(status).ok()?;
        let (code, text) = answer::of_bad_head(status)?;
        client.refused.set(true);
        if let Some(shared) = &client.counters {
            shared.counters.requests.add(1);
            shared.counters.response(status);
            shared.counters.refused.add(code);
        }
        Some(text)
    }

    /// Notes whether the client takes what is written.
    fn noted<T>(&self, written: Poll<T>) -> Poll<T> {
        let blocked = match written {
            Poll::Ready(_) => None,
            Poll::Pending => self
                .client
                .blocked_since
                .get()
                .or(Some(self.client.tick.get())),
        };
        self.client.blocked_since.set(blocked);
        written
    }

    /// Ends a connection whose client has left while its request is served, which costs no memory
    /// to read to. Within TLS there is nothing to peek at: there the engine reads, but not behind
    /// bytes that it has no use for yet.
    fn notice_leaving(&self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.client.phase.get() != Phase::Busy || self.client.speaks.get() != Spoken::Http1 {
            return Ok(());
        }
        let Some(stream) = self.stream.plain() else {
            return match self.read_on {
                true => self.notice_leaving_behind(self.stream.socket()),
                false => Ok(()),
            };
        };
        let mut byte = [0];
        match stream.poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(0)) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(_)) => self.notice_leaving_behind(stream),
            Poll::Pending => Ok(()),
        }
    }

    /// The same where bytes of the client are unread, behind which its end does not show: it is
    /// asked for on every tick, since nothing wakes whoever waits for it.
    fn notice_leaving_behind(&self, stream: &TcpStream) -> io::Result<()> {
        let now = self.client.tick.get();
        if self.client.more_at.replace(Some(now)) == Some(now) {
            return Ok(());
        }
        let mut socket = [PollFd::new(stream, LEFT)];
        let at_once = Timespec::default();
        if poll(&mut socket, Some(&at_once))? == 0 {
            return Ok(());
        }
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// Throws away what still comes, until the client has read its answer and closes, or for as
    /// long as is bearable.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 16 << 10];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            let bytes = buffer.filled().len();
            self.thrown_away += bytes;
            if read.is_err() || bytes == 0 || self.thrown_away > MOST_THROWN_AWAY {
                return Poll::Ready(());
            }
        }
    }

    fn refuse_slow_reader(&self) -> io::Result<()> {
        match self.client.phase.get() {
            Phase::SlowReader => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.client.phase.get() {
            Phase::SlowHead => {
                // Best effort: it may have stopped reading as well.
                let text = answer::too_slow();
                let _sent = Pin::new(&mut self.stream).poll_write(cx, text.as_bytes());
                let _flushed = Pin::new(&mut self.stream).poll_flush(cx);
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            Phase::SlowIdle => return Poll::Ready(Ok(())),
            Phase::SlowReader => return Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Phase::Idle | Phase::Head | Phase::Busy | Phase::Leaving => {}
        }
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        if let Some(bytes) = buffer.filled().get(before..).filter(|b| !b.is_empty()) {
            self.read_on = self.client.phase.get() == Phase::Busy;
            self.look(bytes);
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.refuse_slow_reader()?;
        if let Some(text) = self.refusal(buffer) {
            // Best effort, like what it stands for: the connection ends after it.
            let _sent = Pin::new(&mut self.stream).poll_write(cx, text.as_bytes());
            return Poll::Ready(Ok(buffer.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, buffer);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.refuse_slow_reader()?;
        if let Some(text) = buffers.first().and_then(|first| self.refusal(first)) {
            let _sent = Pin::new(&mut self.stream).poll_write(cx, text.as_bytes());
            return Poll::Ready(Ok(buffers.iter().map(|buffer| buffer.len()).sum()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The engine flushes whenever it has done something, also where nothing is written.
        self.notice_leaving(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_shut && self.client.phase.get() != Phase::Leaving {
            // Its time is over.
            return Poll::Ready(Ok(()));
        }
        if !self.is_shut {
            let lingers = self.client.may_be_sending();
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.is_shut = true;
            if !lingers {
                return Poll::Ready(Ok(()));
            }
            self.client.enter(Phase::Leaving);
        }
        ready!(self.poll_linger(cx));
        self.client.phase.set(Phase::SlowIdle);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_be_idle_for_longer_than_it_may_take_for_a_head() {
        let tick = Rc::new(Cell::new(0));
        let client = Client::new(Rc::clone(&tick), None);
        let patience = Patience {
            head_ticks: 2,
            idle_ticks: 5,
            stall_ticks: Some(3),
        };
        let check = |at: u64, expected: Phase| {
            tick.set(at);
            client.judge(patience);
            assert_eq!(client.phase.get(), expected, "tick {at}");
        };
        check(2, Phase::Head);
        let turn = Turn::begin(&client);
        check(100, Phase::Busy);
        drop(turn);
        check(105, Phase::Idle);
        client.heard();
        check(107, Phase::Head);
        check(108, Phase::SlowHead);
        client.enter(Phase::Idle);
        check(114, Phase::SlowIdle);
        let _turn = Turn::begin(&client);
        client.blocked_since.set(Some(114));
        check(117, Phase::Busy);
        check(118, Phase::SlowReader);
    }

    #[test]
    fn a_client_with_several_requests_is_busy_until_the_last_one_ends() {
        let client = Client::new(Rc::default(), None);
        client.speaks(Spoken::Http2);
        assert_eq!(client.phase.get(), Phase::Idle);
        let turns = (Turn::begin(&client), Turn::begin(&client));
        drop(turns.0);
        assert_eq!(client.phase.get(), Phase::Busy);
        drop(turns.1);
        client.heard();
        assert_eq!(client.phase.get(), Phase::Idle);
    }

    #[test]
    fn a_silent_client_without_a_request_is_not_waited_for_at_the_end() {
        let tick = Rc::new(Cell::new(0));
        let client = Client::new(Rc::clone(&tick), None);
        client.speaks(Spoken::Http2);
        let patience = Patience {
            head_ticks: 20,
            idle_ticks: 150,
            stall_ticks: None,
        };
        let check = |at: u64, expected: Phase| {
            tick.set(at);
            client.judge(patience);
            assert_eq!(client.phase.get(), expected, "tick {at}");
        };
        check(100, Phase::Idle);
        client.finish();
        check(105, Phase::Idle);
        client.heard();
        check(115, Phase::Idle);
        check(116, Phase::SlowIdle);
    }
}
