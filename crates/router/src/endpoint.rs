//! One worker as the proxy sees it: where it is and how it has behaved lately.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use headwater_placement::{At, WorkerId};
use hyper::header::HeaderValue;

use crate::config::WorkerConfig;
use crate::counters::Count;
use crate::model_pool::PoolId;
use crate::worker_url::WorkerUrl;

/// A worker's address, and counts that need no lock.
pub(crate) struct Endpoint {
    pub(crate) id: WorkerId,
    /// Whose roster it is in.
    pub(crate) pool: PoolId,
    pub(crate) name: String,
    pub(crate) url: WorkerUrl,
    /// What requests to it say in `Host`.
    pub(crate) host: HeaderValue,
    /// Its address, unless a name must be looked up first.
    pub(crate) address: Option<SocketAddr>,
    /// Never used twice in a process, unlike the name: connections are kept by it.
    pub(crate) serial: u64,
    pub(crate) requests: Count,
    pub(crate) scrape_errors: Count,
    removed: AtomicBool,
    failures: AtomicU32,
    answered_at: AtomicU64,
}

impl Endpoint {
    pub(crate) fn new(config: &WorkerConfig, pool: PoolId, serial: u64) -> Self {
        let url = config.url.clone();
        let ip = url.host().parse::<IpAddr>().ok();
        Self {
            id: WorkerId::of(&config.name),
            pool,
            name: config.name.clone(),
            host: HeaderValue::from_str(url.authority())
                .unwrap_or_else(|_| HeaderValue::from_static("worker")),
            address: ip.map(|ip| SocketAddr::new(ip, url.port())),
            url,
            serial,
            requests: Count::default(),
            scrape_errors: Count::default(),
            removed: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            answered_at: AtomicU64::new(0),
        }
    }

    /// Its connections are not worth keeping any more.
    pub(crate) fn remove(&self) {
        self.removed.store(true, Relaxed);
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Relaxed)
    }

    /// It answered, whatever it said.
    pub(crate) fn answered(&self, at: At) {
        self.answered_at.store(at.micros(), Relaxed);
        if self.failures.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
        }
    }

    pub(crate) fn answered_at(&self) -> At {
        At::from_micros(self.answered_at.load(Relaxed))
    }

    /// It failed once more; gives how many times in a row.
    pub(crate) fn failed(&self) -> u32 {
        self.failures.fetch_add(1, Relaxed).saturating_add(1)
    }
}
