//! Connections to workers: one thread's own, kept for a moment after each answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::upload::Attempt;

/// Engines behind uvicorn close a connection after 5 s; leave before they do.
const IDLE_TIME: Duration = Duration::from_secs(4);

const CONNECT_TIME: Duration = Duration::from_secs(3);

/// Kept for one worker; more are closed after use.
const MOST_IDLE: usize = 1_024;

/// The idle connections of one thread, by the worker's serial number.
#[derive(Default)]
pub(crate) struct Pool(RefCell<BTreeMap<u64, Vec<Idle>>>);

struct Idle {
    channel: Channel,
    since: Instant,
}

/// A connection to a worker. Dropped, it is closed at once, whatever it is doing.
pub(crate) struct Channel {
    pub(crate) sender: SendRequest<Attempt>,
    task: AbortHandle,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pool {
    /// An idle connection that still stands, the latest used first.
    pub(crate) async fn take(&self, endpoint: &Endpoint) -> Option<Channel> {
        loop {
            let mut channel = self.pop(endpoint.serial)?;
            if channel.sender.ready().await.is_ok() {
                return Some(channel);
            }
        }
    }

    fn pop(&self, serial: u64) -> Option<Channel> {
        let mut pool = self.0.borrow_mut();
        let idle = pool.get_mut(&serial)?;
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
        if channel.sender.is_closed() || endpoint.is_removed() {
            return;
        }
        let mut pool = self.0.borrow_mut();
        let idle = pool.entry(endpoint.serial).or_default();
        if idle.len() < MOST_IDLE {
            idle.push(Idle {
                channel,
                since: Instant::now(),
            });
        }
    }

    /// Closes what has been idle for too long; called every second or so.
    pub(crate) fn sweep(&self) {
        self.0.borrow_mut().retain(|_, idle| {
            idle.retain(|kept| {
                kept.since.elapsed() < IDLE_TIME && !kept.channel.sender.is_closed()
            });
            !idle.is_empty()
        });
    }
}

/// Opens a connection to a worker.
pub(crate) async fn connect(endpoint: &Endpoint) -> Result<Channel, Fault> {
    let opened = timeout(CONNECT_TIME, open(endpoint)).await;
    let stream = opened
        .map_err(|_| Fault::Unreachable)?
        .map_err(|error| Fault::of_connect(&error))?;
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Fault::Unreachable)?;
    let task = tokio::task::spawn_local(async move {
        // How it ended is known to whoever waits for the answer.
        let _ended = connection.await;
    });
    Ok(Channel {
        sender,
        task: task.abort_handle(),
    })
}

async fn open(endpoint: &Endpoint) -> io::Result<TcpStream> {
    let stream = match endpoint.address {
        Some(address) => TcpStream::connect(address).await?,
        None => {
            let host = (endpoint.url.host(), endpoint.url.port());
            let addresses: Vec<SocketAddr> = lookup_host(host).await?.collect();
            TcpStream::connect(addresses.as_slice()).await?
        }
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}
