//! One worker as the proxy sees it: where it is and how it has behaved lately.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use headwater_placement::WorkerId;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::PathAndQuery;

use crate::config::WorkerConfig;
use crate::counters::Count;
use crate::model_pool::PoolId;
use crate::worker_url::{Scheme, WorkerUrl};

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
    /// Health checks failed in a row.
    failures: AtomicU32,
    /// Requests failed in a row.
    request_failures: AtomicU32,
    /// Its last failure was an answer that broke off: a good head proves nothing then.
    cut: AtomicBool,
    /// Its breaker is not closed, so that every outcome matters.
    suspected: AtomicBool,
    /// It said lately that it has enough.
    pressed: AtomicBool,
    /// Counts signs of life: heads and parts of answers, and health pages.
    signs: AtomicU64,
    /// It is down, as its roster knows.
    down: AtomicBool,
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
            request_failures: AtomicU32::new(0),
            cut: AtomicBool::new(false),
            suspected: AtomicBool::new(false),
            pressed: AtomicBool::new(false),
            signs: AtomicU64::new(0),
            down: AtomicBool::new(false),
        }
    }

    /// A path at this worker as HTTP/2 wants it: with the scheme and the host.
    pub(crate) fn absolute(&self, path: Option<PathAndQuery>) -> Uri {
        let scheme = match self.url.scheme() {
            Scheme::Https => "https",
            Scheme::Http | Scheme::H2c => "http",
        };
        Uri::builder()
            .scheme(scheme)
            .authority(self.url.authority())
            .path_and_query(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
            .build()
            .unwrap_or_default()
    }

    /// Its connections are not worth keeping any more.
    pub(crate) fn remove(&self) {
        self.removed.store(true, Relaxed);
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Relaxed)
    }

    /// Something came of it, whatever it was. One lost count among several threads changes nothing.
    pub(crate) fn lives(&self) {
        self.signs
            .store(self.signs.load(Relaxed).wrapping_add(1), Relaxed);
        if self.failures.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
        }
    }

    /// An answer began well; gives whether that is news for its breaker.
    pub(crate) fn began_well(&self) -> bool {
        !self.cut.load(Relaxed) && self.ended_well()
    }

    /// An answer broke off.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Relaxed);
    }

    /// An answer ended well; gives whether that is news for its breaker.
    pub(crate) fn ended_well(&self) -> bool {
        if self.cut.load(Relaxed) {
            self.cut.store(false, Relaxed);
        }
        if self.request_failures.load(Relaxed) != 0 {
            self.request_failures.store(0, Relaxed);
        }
        self.is_suspected()
    }

    /// A request failed; gives how many did in a row.
    pub(crate) fn request_failed(&self) -> u32 {
        self.request_failures
            .fetch_add(1, Relaxed)
            .saturating_add(1)
    }

    pub(crate) fn is_suspected(&self) -> bool {
        self.suspected.load(Relaxed)
    }

    /// Notes whether it has said that it has enough; gives what was noted before.
    pub(crate) fn press(&self, pressed: bool) -> bool {
        self.pressed.swap(pressed, Relaxed)
    }

    pub(crate) fn suspect(&self, suspected: bool) {
        self.suspected.store(suspected, Relaxed);
    }

    pub(crate) fn signs(&self) -> u64 {
        self.signs.load(Relaxed)
    }

    /// Notes whether it is down.
    pub(crate) fn sink(&self, down: bool) {
        self.down.store(down, Relaxed);
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Relaxed)
    }

    /// It failed once more; gives how many times in a row.
    pub(crate) fn failed(&self) -> u32 {
        self.failures.fetch_add(1, Relaxed).saturating_add(1)
    }
}
