//! Connections to workers: one thread's own, kept for a moment after each answer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::channel::{Channel, SharedLine};
use crate::come::Arena;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::shared::Shared;

/// Sweeps that an idle connection sees, half a second each: engines behind uvicorn close a
/// connection after 5 s, and this leaves before they do.
const IDLE_SWEEPS: u64 = 8;

const CONNECT_TIME: Duration = Duration::from_secs(3);

/// Kept for one worker; more are closed after use.
const MOST_IDLE: usize = 1_024;

/// The idle connections of one thread, by the worker's serial number.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    arena: Rc<Arena>,
    sweeps: Cell<u64>,
    idle: RefCell<BTreeMap<u64, Vec<Idle>>>,
}

struct Idle {
    channel: Channel,
    /// In sweeps: reading a clock would cost more than all of this.
    since: u64,
}

impl Pool {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            arena: Rc::default(),
            sweeps: Cell::new(0),
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
        let with_room = idle.iter().rev().find(|kept| kept.channel.has_room());
        if let Some(channel) = with_room.and_then(|kept| kept.channel.share()) {
            return Some(channel);
        }
        if idle.last().is_some_and(|kept| kept.channel.is_shared()) {
            // All are full: another connection.
            return None;
        }
        let latest = idle.pop()?;
        if self.sweeps.get() - latest.since < IDLE_SWEEPS {
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
            kept.since = self.sweeps.get();
            return;
        }
        if idle.len() < MOST_IDLE {
            idle.push(Idle {
                channel,
                since: self.sweeps.get(),
            });
        }
    }

    /// Keeps a shared connection no longer; what goes on in it goes on.
    pub(crate) fn discard(&self, endpoint: &Endpoint, line: &SharedLine) {
        if let Some(idle) = self.idle.borrow_mut().get_mut(&endpoint.serial) {
            idle.retain(|kept| !kept.channel.is_in(line));
        }
    }

    /// Closes what has been idle for too long; called twice a second.
    pub(crate) fn sweep(&self) {
        let sweeps = self.sweeps.get() + 1;
        self.sweeps.set(sweeps);
        self.idle.borrow_mut().retain(|_, idle| {
            idle.retain_mut(|kept| {
                let used = !kept.channel.is_alone() || sweeps - kept.since < IDLE_SWEEPS;
                used && kept.channel.is_open()
            });
            !idle.is_empty()
        });
    }
}
