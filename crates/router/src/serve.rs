//! One serving thread: its listener, its connections, its end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdListener;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::TlsStream;

use crate::answer;
use crate::client::{Client, ClientStream, Patience, Turn};
use crate::pool::Pool;
use crate::proxy::Proxy;
use crate::shared::Shared;
use crate::spoken::{LocalExecutor, Spoken};
use crate::transport::Transport;
use crate::windows;

/// How often a thread looks for slow clients and idle connections.
const TICK: Duration = Duration::from_millis(500);

/// Whether the router goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Serving,
    Draining,
}

struct Thread {
    proxy: Proxy,
    tick: Rc<Cell<u64>>,
    clients: RefCell<BTreeMap<u64, Rc<Client>>>,
    /// Clients beyond the limit that are being told so.
    turned_away: Cell<u32>,
}

/// So many at a time get to read why there is no room for them.
const MOST_TURNED_AWAY: u32 = 256;

/// Serves until told to drain, then until every answer is through or its time is up.
pub(crate) fn run(
    listener: StdListener,
    shared: Arc<Shared>,
    phase: watch::Receiver<Phase>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let thread = Rc::new(Thread {
        proxy: Proxy {
            pool: Rc::new(Pool::new(Arc::clone(&shared))),
            shared,
            somebody_waits: Notify::new(),
            worker_lost: Notify::new(),
            look_again: Notify::new(),
        },
        tick: Rc::new(Cell::new(0)),
        clients: RefCell::default(),
        turned_away: Cell::new(0),
    });
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, thread.live(listener, phase))
}

impl Thread {
    async fn live(
        self: Rc<Self>,
        listener: StdListener,
        mut phase: watch::Receiver<Phase>,
    ) -> io::Result<()> {
        let listener = TcpListener::from_std(listener)?;
        tokio::task::spawn_local(Rc::clone(&self).keep_time());
        tokio::task::spawn_local(Rc::clone(&self).call_waiting());
        tokio::select! {
            () = self.accept(&listener) => {}
            // An error means that the router itself was dropped.
            _ = phase.wait_for(|phase| *phase == Phase::Draining) => {}
        }
        self.take_waiting(&listener);
        drop(listener);
        self.drain().await;
        Ok(())
    }

    async fn accept(self: &Rc<Self>, listener: &TcpListener) {
        let mut number = 0;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    self.welcome(number, stream);
                    number += 1;
                }
                // Out of file descriptors, most likely: let some connections end.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Clients that have connected but were not accepted yet would see a reset otherwise.
    fn take_waiting(self: &Rc<Self>, listener: &TcpListener) {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut number = u64::MAX / 2;
        while let std::task::Poll::Ready(Ok((stream, _))) = listener.poll_accept(&mut context) {
            self.welcome(number, stream);
            number += 1;
        }
    }

    fn welcome(self: &Rc<Self>, number: u64, stream: TcpStream) {
        let counters = &self.proxy.shared.counters;
        counters.connections.add(1);
        let most = self.proxy.shared.config.limits.connections as u64;
        if counters.connections_open.enter() > most {
            counters.connections_open.leave();
            counters.refused.add("too_many_connections");
            if self.turned_away.get() < MOST_TURNED_AWAY {
                self.turned_away.set(self.turned_away.get() + 1);
                let thread = Rc::clone(self);
                tokio::task::spawn_local(async move {
                    let _said = timeout(2 * TICK, thread.turn_away(stream)).await;
                    thread.turned_away.set(thread.turned_away.get() - 1);
                });
            }
            return;
        }
        let shared = Arc::clone(&self.proxy.shared);
        let client = Client::new(Rc::clone(&self.tick), Some(shared));
        self.clients.borrow_mut().insert(number, Rc::clone(&client));
        let thread = Rc::clone(self);
        tokio::task::spawn_local(async move {
            thread.attend(stream, client).await;
            thread.clients.borrow_mut().remove(&number);
            thread.proxy.shared.counters.connections_open.leave();
        });
    }

    async fn attend(self: &Rc<Self>, stream: TcpStream, client: Rc<Client>) {
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let header_time = self.proxy.shared.header_time();
        let opened = timeout(header_time, self.open(stream));
        let Some(Ok(Ok((stream, version)))) = client.unless_finishing(opened).await else {
            return;
        };
        client.speaks(version);
        let is_plain = stream.plain().is_some();
        let io = TokioIo::new(ClientStream::new(stream, Rc::clone(&client)));
        let (thread, of) = (Rc::clone(self), Rc::clone(&client));
        let service = service_fn(move |request| {
            let thread = Rc::clone(&thread);
            let turn = Turn::begin(&of);
            // Boxed, so that a stream that goes on for minutes does not keep the memory that its
            // decision took.
            Box::pin(async move { Ok::<_, Infallible>(thread.proxy.serve(turn, request).await) })
        });
        let limits = &self.proxy.shared.config.limits;
        // How a connection ends is the client's business; its requests have been counted.
        match version {
            Spoken::Http1 => {
                let connection = http1::Builder::new()
                    .max_header_size(limits.header_bytes)
                    .max_buf_size(limits.header_bytes.max(64 << 10))
                    .header_read_timeout(None)
                    // The transport notices a client that leaves: to read on, the engine would
                    // keep a buffer for each stream.
                    .half_close(is_plain)
                    .serve_connection(io, service);
                let mut connection = Box::pin(connection);
                let stop = http1::Connection::graceful_shutdown;
                let ended = client.drive(connection.as_mut(), stop).await;
                if ended.is_ok() {
                    // Where the client offered an upgrade, the engine leaves this to whoever might
                    // have taken it up, and the client would lose what it has not read yet.
                    let stream = Pin::into_inner(connection).into_parts().io;
                    let mut stream = stream.into_inner();
                    let _shut = client.drive(pin!(stream.shutdown()), |_| ()).await;
                }
            }
            Spoken::Http2 => {
                let most = u32::try_from(limits.header_bytes).unwrap_or(u32::MAX);
                let connection = http2::Builder::new(LocalExecutor)
                    .max_header_list_size(most)
                    .max_concurrent_streams(windows::MOST_STREAMS)
                    .initial_stream_window_size(windows::STREAM_BYTES)
                    .initial_connection_window_size(windows::CONNECTION_BYTES)
                    .serve_connection(io, service);
                let mut connection = Box::pin(connection);
                let stop = http2::Connection::graceful_shutdown;
                let _ended = client.drive(connection.as_mut(), stop).await;
            }
        }
    }

    /// Says that there is no room, and reads for a moment what the client has sent: a system that
    /// closes a connection with unread bytes takes back what it has sent itself.
    async fn turn_away(&self, stream: TcpStream) -> io::Result<u64> {
        const MOST: u64 = 1 << 20;
        let mut stream = match &self.proxy.shared.certificate {
            None => Transport::Plain(stream),
            Some(certificate) => {
                let stream = certificate.acceptor.accept(stream).await?;
                Transport::Tls(Box::new(TlsStream::Server(stream)))
            }
        };
        let text = answer::too_many_connections();
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(MOST), &mut tokio::io::sink()).await
    }

    /// Finds out what the client speaks.
    async fn open(&self, stream: TcpStream) -> io::Result<(Transport, Spoken)> {
        let Some(certificate) = &self.proxy.shared.certificate else {
            let version = spoken(&stream).await?;
            return Ok((Transport::Plain(stream), version));
        };
        // Boxed: a handshake takes more memory than all that follows.
        let stream = Box::pin(certificate.acceptor.accept(stream)).await?;
        let version = Spoken::of_alpn(stream.get_ref().1.alpn_protocol());
        let stream = Box::new(TlsStream::Server(stream));
        Ok((Transport::Tls(stream), version))
    }

    async fn keep_time(self: Rc<Self>) {
        let limits = &self.proxy.shared.config.limits;
        let ticks = |seconds: u64| seconds * 1_000 / 500;
        let patience = Patience {
            head_ticks: ticks(limits.header_seconds),
            idle_ticks: ticks(limits.idle_seconds),
            stall_ticks: limits.stall_seconds.map(ticks),
        };
        let mut clock = interval(TICK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut downfalls = 0;
        loop {
            clock.tick().await;
            self.tick.set(self.tick.get() + 1);
            let now = self.proxy.shared.downfalls();
            if std::mem::replace(&mut downfalls, now) != now {
                self.proxy.worker_lost.notify_waiters();
            }
            // Workers become usable in many ways. Few wait for that: nobody could answer them.
            self.proxy.look_again.notify_waiters();
            for client in self.clients.borrow().values() {
                client.judge(patience);
            }
            self.proxy.pool.sweep();
            self.proxy.shared.try_suspects();
        }
    }

    /// Lets held requests go whose time has come, as long as there are any.
    async fn call_waiting(self: Rc<Self>) {
        /// How late a worker may be found free that has told nothing.
        const LOOK: Duration = Duration::from_millis(10);
        loop {
            self.proxy.somebody_waits.notified().await;
            while self.proxy.shared.counters.held.get() > 0 {
                sleep(LOOK).await;
                self.proxy.shared.release_due();
            }
        }
    }

    async fn drain(&self) {
        for client in self.clients.borrow().values() {
            client.finish();
        }
        let most = Duration::from_secs(self.proxy.shared.config.drain_seconds);
        let deadline = Instant::now() + most;
        while !self.clients.borrow().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        let left = self.clients.borrow().len();
        if left > 0 {
            self.proxy.shared.cut_off();
            tracing::warn!(
                connections = left,
                "cut off: they took longer than `drain_seconds`"
            );
        }
    }
}

/// Looks at a connection's first bytes without taking them. One look per connection costs less
/// than carrying the bytes along through every read.
async fn spoken(stream: &TcpStream) -> io::Result<Spoken> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut start = [0; PREFACE.len()];
    // The socket stays readable, so that nothing tells when more of it comes. Doubled, so that
    // those who never send the rest cost next to nothing.
    let mut pause = Duration::from_millis(5);
    loop {
        let seen = stream.peek(&mut start).await?;
        let seen = start.get(..seen).unwrap_or_default();
        if seen.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if seen == PREFACE {
            return Ok(Spoken::Http2);
        }
        if !PREFACE.starts_with(seen) {
            return Ok(Spoken::Http1);
        }
        sleep(pause).await;
        pause = (2 * pause).min(TICK);
    }
}
