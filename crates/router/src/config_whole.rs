//! What no single setting can tell: settings that do not go together.

use std::collections::BTreeSet;
use std::iter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::config::{Config, WorkerConfig};
use crate::config_file::NO_WORKERS;
use crate::config_placement::PlacementConfig;
use crate::config_pool::DiscoverConfig;
use crate::model_pool;
use crate::worker_url::WorkerUrl;

/// What is said of a worker that is the router itself.
pub(crate) const ITSELF: &str =
    "this is where the router itself listens; give the engine's own port";

/// The first thing wrong: the path of the setting, and what to do.
pub(crate) fn problem(config: &Config) -> Option<(String, String)> {
    let nobody = config.workers.is_empty() && config.discover.is_empty() && config.pools.is_empty();
    if nobody {
        return Some(("workers".to_owned(), NO_WORKERS.to_owned()));
    }
    if config.kv_events.is_some() && !cfg!(feature = "kv-events") {
        let message = "this build cannot follow them; build with the feature `kv-events`";
        return Some(("kv_events".to_owned(), message.to_owned()));
    }
    let problem = of_itself("", config, &config.workers).or_else(|| of_numbers(config));
    if problem.is_some() {
        return problem;
    }
    let mut seen = Seen::default();
    of_placement("", &config.placement)
        .or_else(|| of_discover("", &config.discover))
        .or_else(|| seen.add("", &config.workers))
        .or_else(|| of_pools(config, &mut seen))
        .or_else(|| of_kv_events(config))
}

/// Engines publish at the host of their URL and one port for all: behind one host, each would be
/// told what is in the other's cache.
fn of_kv_events(config: &Config) -> Option<(String, String)> {
    config.kv_events.as_ref()?;
    let mut hosts = BTreeSet::new();
    let of_pools = config.pools.iter().enumerate();
    let of_pools = of_pools.map(|(index, pool)| (format!("pools[{index}]."), &pool.workers));
    let mut all = iter::once((String::new(), &config.workers)).chain(of_pools);
    all.find_map(|(place, workers)| {
        let index = workers.iter().position(|worker| !hosts.insert(worker.url.host()))?;
        let host = workers.get(index)?.url.host();
        let message = format!(
            "`{host}` has two workers, and `kv_events.port` is one: give each a host of its own, or leave `kv_events` away"
        );
        Some((format!("{place}workers[{index}]"), message))
    })
}

/// A router that is its own worker would ask itself for ever. Where it looks for a port for
/// operators on its own, an engine may have been before it.
fn of_itself(place: &str, config: &Config, workers: &[WorkerConfig]) -> Option<(String, String)> {
    let own = || iter::once(config.listen).chain(config.admin);
    let is_own = |worker: &WorkerConfig| own().any(|own| is_itself(own, &worker.url));
    let index = workers.iter().position(is_own)?;
    Some((format!("{place}workers[{index}]"), ITSELF.to_owned()))
}

/// Numbers and addresses that do not go together.
fn of_numbers(config: &Config) -> Option<(String, String)> {
    let found = |path: &str, message: String| Some((path.to_owned(), message));
    if config.admin == Some(config.listen) && config.listen.port() != 0 {
        let message = "requests come in at this address; give the admin port another one";
        return found("admin", message.to_owned());
    }
    if config
        .threads
        .is_some_and(|threads| threads.get() > MOST_THREADS)
    {
        let message =
            format!("at most {MOST_THREADS} threads can serve; one a processor is enough");
        return found("threads", message);
    }
    None
}

/// More than any machine has processors, and fewer than would take all its memory.
const MOST_THREADS: usize = 4_096;

/// Where operators look if nobody says where: on loopback, 1000 above. Nothing if there is no such
/// port.
pub(crate) fn default_admin(listen: SocketAddr) -> Option<SocketAddr> {
    let port = match listen.port() {
        0 => 0,
        port => port.checked_add(1_000)?,
    };
    Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
}

/// Whether a worker is the router that listens there, as far as its URL tells.
pub(crate) fn is_itself(listen: SocketAddr, url: &WorkerUrl) -> bool {
    let host = url.host();
    let ip = host.parse::<IpAddr>().ok();
    let local = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    let same = ip == Some(listen.ip()) || listen.ip().is_unspecified() && local;
    same && url.port() == listen.port()
}

fn of_pools(config: &Config, seen: &mut Seen) -> Option<(String, String)> {
    let mut names = BTreeSet::from([model_pool::DEFAULT]);
    for (index, pool) in config.pools.iter().enumerate() {
        let place = format!("pools[{index}].");
        if !names.insert(&pool.name) {
            let message = format!("the name `{}` is taken; give each pool its own", pool.name);
            return Some((format!("{place}name"), message));
        }
        if let Some(problem) = pool.rule.problem() {
            return Some((format!("{place}match"), format!("the rule {problem}")));
        }
        if pool.workers.is_empty() && pool.discover.is_empty() {
            return Some((format!("{place}workers"), NO_WORKERS.to_owned()));
        }
        let placement = pool.placement.as_ref();
        let found = placement
            .and_then(|placement| of_placement(&place, placement))
            .or_else(|| of_discover(&place, &pool.discover))
            .or_else(|| of_itself(&place, config, &pool.workers))
            .or_else(|| seen.add(&place, &pool.workers));
        if found.is_some() {
            return found;
        }
    }
    None
}

fn of_placement(place: &str, placement: &PlacementConfig) -> Option<(String, String)> {
    if let Some(cap) = placement
        .hard_cap
        .filter(|cap| *cap < placement.max_ongoing)
    {
        let most = placement.max_ongoing;
        let message = format!("`{cap}` must be `placement.max_ongoing` or more, which is `{most}`");
        return Some((format!("{place}placement.hard_cap"), message));
    }
    let (low, high) = (placement.low_watermark, placement.high_watermark);
    (low >= high).then(|| {
        let message =
            format!("`{low}` must be less than `placement.high_watermark`, which is `{high}`");
        (format!("{place}placement.low_watermark"), message)
    })
}

fn of_discover(place: &str, discover: &[DiscoverConfig]) -> Option<(String, String)> {
    discover.iter().enumerate().find_map(|(index, entry)| {
        let problem = entry.problem()?;
        let path = format!("{place}discover[{index}]");
        Some((path, format!("this discovery {problem}")))
    })
}

/// Names and addresses in all pools so far.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    addresses: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, place: &str, workers: &[WorkerConfig]) -> Option<(String, String)> {
        workers.iter().enumerate().find_map(|(index, worker)| {
            // Whatever is spoken there: a port has one engine.
            let address = worker.url.authority().to_owned();
            let fresh = self.addresses.insert(address) && self.names.insert(worker.name.clone());
            let message =
                "another pool has it already; one pool may match several models".to_owned();
            (!fresh).then(|| (format!("{place}workers[{index}]"), message))
        })
    }
}
