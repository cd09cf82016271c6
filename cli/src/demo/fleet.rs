//! Four cold workers and the router in front of them.

use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use headwater_placement::Policy;
use headwater_router::{Config, Router, WorkerConfig};
use tokio::task::JoinSet;

use super::cache::BLOCK_TOKENS;
use super::worker::Worker;

/// Workers in the fleet.
pub(super) const WORKERS: usize = 4;

/// Well over a worker's share of the default load (some 145,000 tokens), and well under all of it.
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
            workers.push(
                Worker::start(CACHE_TOKENS / BLOCK_TOKENS)
                    .await
                    .context("starting a worker")?,
            );
        }
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let urls = workers.iter().map(|worker| WorkerConfig::new(&worker.url));
        let mut config = Config::new(listen, urls.collect::<Result<_, _>>()?);
        config.policy = policy;
        let router = Router::bind(config).context("starting the router")?;
        let address = router.local_addr();
        let mut running = JoinSet::new();
        running.spawn(async move {
            // It ends together with the fleet, before which nothing makes it end.
            let _ = router.run(pending::<()>()).await;
        });
        Ok(Self {
            workers,
            address,
            _router: running,
        })
    }

    /// Where the router listens.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// In the order of the workers, by their own count.
    pub(super) fn requests_per_worker(&self) -> Vec<usize> {
        self.workers
            .iter()
            .map(|worker| worker.engine.counts().requests)
            .collect()
    }
}
