//! Connections to workers: one thread's own, kept for a moment after each answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::shared::Shared;
use crate::spoken::{LocalExecutor, Spoken};
use crate::tls::{Offer, WorkerTls};
use crate::upload::Attempt;

/// Engines behind uvicorn close a connection after 5 s; leave before they do.
const IDLE_TIME: Duration = Duration::from_secs(4);

const CONNECT_TIME: Duration = Duration::from_secs(3);

/// Kept for one worker; more are closed after use.
const MOST_IDLE: usize = 1_024;

/// The idle connections of one thread, by the worker's serial number.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    idle: RefCell<BTreeMap<u64, Vec<Idle>>>,
}

struct Idle {
    channel: Channel,
    since: Instant,
}

/// A connection to a worker, or a share in one. When nobody holds it any more it is closed at
/// once, whatever it is doing.
pub(crate) struct Channel {
    sender: Sender,
    task: Rc<Task>,
}

enum Sender {
    Http1(http1::SendRequest<Attempt>),
    Http2(http2::SendRequest<Attempt>),
}

struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pool {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            idle: RefCell::default(),
        }
    }

    /// Opens a connection to a worker.
    pub(crate) async fn connect(&self, endpoint: &Endpoint) -> Result<Channel, Fault> {
        let opened = timeout(CONNECT_TIME, open(endpoint, &self.shared.worker_tls)).await;
        let channel = opened.map_err(|_| Fault::Unreachable)??;
        if let Some(another) = channel.share() {
            // Others may use it from now on.
            self.put(endpoint, another);
        }
        Ok(channel)
    }

    /// An idle connection that still stands, the latest used first.
    pub(crate) async fn take(&self, endpoint: &Endpoint) -> Option<Channel> {
        loop {
            let mut channel = self.pop(endpoint.serial)?;
            if channel.ready().await {
                return Some(channel);
            }
        }
    }

    fn pop(&self, serial: u64) -> Option<Channel> {
        let mut pool = self.idle.borrow_mut();
        let idle = pool.get_mut(&serial)?;
        let shared = |kept: &Idle| kept.channel.share().filter(|c| !c.is_closed());
        if let Some(channel) = idle.last().and_then(shared) {
            return Some(channel);
        }
        let latest = idle.pop()?;
        if latest.since.elapsed() < IDLE_TIME {
            return Some(latest.channel);
        }
        // The others have waited even longer.
        idle.clear();
        None
    }

    /// Keeps a connection whose answer has been read to its end.
    pub(crate) fn put(&self, endpoint: &Endpoint, channel: Channel) {
        if channel.is_closed() || endpoint.is_removed() {
            return;
        }
        let mut pool = self.idle.borrow_mut();
        let idle = pool.entry(endpoint.serial).or_default();
        let same = |kept: &&mut Idle| Rc::ptr_eq(&kept.channel.task, &channel.task);
        if channel.is_shared()
            && let Some(kept) = idle.iter_mut().find(same)
        {
            kept.since = Instant::now();
            return;
        }
        if idle.len() < MOST_IDLE {
            idle.push(Idle {
                channel,
                since: Instant::now(),
            });
        }
    }

    /// Closes what has been idle for too long; called every second or so.
    pub(crate) fn sweep(&self) {
        self.idle.borrow_mut().retain(|_, idle| {
            idle.retain(|kept| {
                let used = !kept.channel.is_alone() || kept.since.elapsed() < IDLE_TIME;
                used && !kept.channel.is_closed()
            });
            !idle.is_empty()
        });
    }
}

impl Channel {
    /// Sends a request as this connection needs it; gives the head of the answer.
    pub(crate) async fn send(
        &mut self,
        mut request: Request<Attempt>,
        endpoint: &Endpoint,
    ) -> hyper::Result<Response<Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender) => {
                request.headers_mut().insert(HOST, endpoint.host.clone());
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                request.headers_mut().remove(HOST);
                let path = request.uri().path_and_query().cloned();
                *request.uri_mut() = endpoint.absolute(path);
                *request.version_mut() = Version::HTTP_2;
                sender.send_request(request).await
            }
        }
    }

    /// Whether a failure on a kept connection says only that it has ended: HTTP/2 announces
    /// its end by an error of its own.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    async fn ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Another use of the same connection, where that is possible.
    fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => Some(Self {
                sender: Sender::Http2(sender.clone()),
                task: Rc::clone(&self.task),
            }),
        }
    }

    /// Whether nobody else uses the connection.
    fn is_alone(&self) -> bool {
        Rc::strong_count(&self.task) == 1
    }
}

async fn open(endpoint: &Endpoint, tls: &WorkerTls) -> Result<Channel, Fault> {
    let (stream, spoken) = dial(endpoint, tls, Offer::Any)
        .await
        .map_err(|error| Fault::of_connect(&error))?;
    let io = TokioIo::new(stream);
    let (sender, task) = match spoken {
        Spoken::Http1 => {
            let opened = http1::handshake(io).await;
            let (sender, connection) = opened.map_err(|_| Fault::Unreachable)?;
            (Sender::Http1(sender), run(connection))
        }
        Spoken::Http2 => {
            let opened = http2::handshake(LocalExecutor, io).await;
            let (sender, connection) = opened.map_err(|_| Fault::Unreachable)?;
            (Sender::Http2(sender), run(connection))
        }
    };
    Ok(Channel {
        sender,
        task: Rc::new(Task(task)),
    })
}

fn run(connection: impl Future<Output = hyper::Result<()>> + 'static) -> AbortHandle {
    let task = tokio::task::spawn_local(async move {
        // How it ended is known to whoever waits for the answer.
        let _ended = connection.await;
    });
    task.abort_handle()
}
