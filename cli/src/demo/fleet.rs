//! Four cold workers and the router in front of them.

use std::net::SocketAddr;

use anyhow::Context as _;
use headwater_placement::Policy;
use tokio::task::JoinSet;

use super::cache::BLOCK_TOKENS;
use super::worker::Worker;

/// Workers in the fleet.
pub(super) const WORKERS: usize = 4;

/// Enough for a worker's share of the default load and half as much again, not for the whole load.
const CACHE_TOKENS: usize = 64_000;

/// The workers and their router; dropping it ends them.
pub(super) struct Fleet {
    workers: Vec<Worker>,
    address: SocketAddr,
    _router: JoinSet<()>,
}

impl Fleet {
    pub(super) async fn start(policy: Policy) -> anyhow::Result<Self> {
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            workers.push(Worker::start(CACHE_TOKENS / BLOCK_TOKENS).await.context("starting a worker")?);
        }
        todo!()
    }

    /// Where the router listens.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// In the order of the workers, by their own count.
    pub(super) fn requests_per_worker(&self) -> Vec<usize> {
        self.workers.iter().map(|worker| worker.engine.counts().requests).collect()
    }
}
