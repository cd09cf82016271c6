//! Connections to workers: one thread's own, kept for a moment after each answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::channel::Channel;
use crate::come::Arena;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::shared::Shared;

/// Engines behind uvicorn close a connection after 5 s; leave before they do.
const IDLE_TIME: Duration = Duration::from_secs(4);

const CONNECT_TIME: Duration = Duration::from_secs(3);

/// Kept for one worker; more are closed after use.
const MOST_IDLE: usize = 1_024;

/// The idle connections of one thread, by the worker's serial number.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    arena: Rc<Arena>,
    idle: RefCell<BTreeMap<u64, Vec<Idle>>>,
}

struct Idle {
    channel: Channel,
    since: Instant,
}

impl Pool {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            arena: Rc::default(),
            idle: RefCell::default(),
        }
    }

    /// Opens a connection to a worker.
    pub(crate) async fn connect(&self, endpoint: &Endpoint) -> Result<Channel, Fault> {
        let opened = Channel::open(endpoint, &self.shared.worker_tls, &self.arena);
        let opened = timeout(CONNECT_TIME, opened).await;
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
        if let Some(channel) = idle.last().and_then(|kept| kept.channel.share()) {
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
    pub(crate) fn put(&self, endpoint: &Endpoint, mut channel: Channel) {
        if !channel.is_open() || endpoint.is_removed() {
            return;
        }
        let mut pool = self.idle.borrow_mut();
        let idle = pool.entry(endpoint.serial).or_default();
        let same = |kept: &&mut Idle| kept.channel.shares_with(&channel);
        if let Some(kept) = idle.iter_mut().find(same) {
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
            idle.retain_mut(|kept| {
                let used = !kept.channel.is_alone() || kept.since.elapsed() < IDLE_TIME;
                used && kept.channel.is_open()
            });
            !idle.is_empty()
        });
    }
}
