//! Keeps the workers of a discovery the ones that its name stands for.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::config::WorkerConfig;
use crate::config_pool::DiscoverConfig;
use crate::dns::{Resolver, Service};
use crate::endpoint_slices::Wanted;
use crate::kubernetes::{self, Api};
use crate::member::Origin;
use crate::model_pool::PoolId;
use crate::shared::Shared;

/// No name is asked for more often, whatever its lifetime.
const SHORTEST: Duration = Duration::from_secs(1);

/// A name that suddenly stands for nobody must say so that many times. A scaled-down service is
/// empty for good; a name server that has just restarted is not.
const EMPTY_ANSWERS: u32 = 3;

/// The workers found, and when to ask again.
pub(crate) struct Found {
    pub(crate) workers: Vec<WorkerConfig>,
    pub(crate) again_in: Duration,
}

/// Begins every discovery of the configuration, on the control thread.
pub(crate) fn begin(shared: &Arc<Shared>) {
    let config = &shared.config;
    let lists = std::iter::once(&config.discover).chain(config.pools.iter().map(|p| &p.discover));
    for (pool, list) in lists.enumerate() {
        for (index, entry) in list.iter().enumerate() {
            let shared = Arc::clone(shared);
            let origin = Origin::Discovered(index);
            tokio::spawn(follow(shared, PoolId(pool), origin, entry.clone()));
        }
    }
}

async fn follow(shared: Arc<Shared>, pool: PoolId, origin: Origin, config: DiscoverConfig) {
    if let Some(service) = &config.service {
        let port = Wanted::of_config(&config);
        let api = || Api::of_pod(service);
        return kubernetes::follow(&shared, (pool, origin), service, &port, api).await;
    }
    let resolver = Resolver::new(config.server);
    let name = config.name().to_owned();
    let mut known: Vec<WorkerConfig> = Vec::new();
    let mut targets = Targets::default();
    let mut empty = 0;
    loop {
        let longest = Duration::from_secs(config.interval_seconds);
        let again_in = match find(&resolver, &config, &mut targets).await {
            Ok(found) => {
                empty = if found.workers.is_empty() {
                    empty + 1
                } else {
                    0
                };
                let believed = empty == 0 || empty >= EMPTY_ANSWERS;
                if believed && found.workers != known {
                    let workers = found.workers.len();
                    tracing::info!(name, workers, "workers discovered");
                    shared.set_workers(pool, origin, &found.workers);
                    known = found.workers;
                }
                found.again_in
            }
            Err(error) => {
                // What was known stays: a name server that is down is no reason to stop.
                shared.counters.discovery_errors.add(1);
                tracing::warn!(name, %error, "discovery failed; the workers stay as they are");
                SHORTEST
            }
        };
        tokio::time::sleep(again_in.clamp(SHORTEST, longest)).await;
    }
}

async fn find(
    resolver: &Resolver,
    config: &DiscoverConfig,
    targets: &mut Targets,
) -> io::Result<Found> {
    if let Some(name) = &config.srv {
        return services(resolver, name, targets).await;
    }
    let (name, port) = (config.name(), config.port.map_or(80, u16::from));
    let answer = resolver.addresses(name).await?;
    let mut workers: Vec<WorkerConfig> = answer
        .records
        .iter()
        .filter_map(|ip| WorkerConfig::new(&url(&ip.to_string(), port)).ok())
        .collect();
    in_order(&mut workers);
    Ok(Found {
        workers,
        again_in: answer.lifetime,
    })
}

/// What the hosts of services stood for last: one that cannot be looked up, or suddenly stands for
/// nothing, is no reason to lose it, let alone the others.
#[derive(Default)]
struct Targets(BTreeMap<String, Target>);

#[derive(Default)]
struct Target {
    addresses: Vec<IpAddr>,
    /// How often it has stood for nothing since.
    empty: u32,
}

impl Targets {
    /// The addresses of a host, and how long they are good.
    async fn addresses(
        &mut self,
        resolver: &Resolver,
        host: &str,
    ) -> (Vec<IpAddr>, Duration, Option<io::Error>) {
        let found = resolver.addresses(&format!("{host}.")).await;
        let target = self.0.entry(host.to_owned()).or_default();
        match found {
            Err(error) => (target.addresses.clone(), SHORTEST, Some(error)),
            Ok(answer) => {
                target.empty = match answer.records.is_empty() {
                    true => target.empty + 1,
                    false => 0,
                };
                if target.empty == 0 || target.empty >= EMPTY_ANSWERS {
                    target.addresses = answer.records;
                }
                (target.addresses.clone(), answer.lifetime, None)
            }
        }
    }

    /// Forgets the hosts that no service has any more.
    fn keep(&mut self, services: &[&Service]) {
        let is_named = |host: &String| services.iter().any(|s| s.target == *host);
        self.0.retain(|host, _| is_named(host));
    }
}

/// The services of the first priority; their weights count relative to each other.
async fn services(resolver: &Resolver, name: &str, targets: &mut Targets) -> io::Result<Found> {
    let answer = resolver.services(name).await?;
    let mut again_in = answer.lifetime;
    let first = answer.records.iter().map(|s| s.priority).min();
    let of_first = |s: &&Service| Some(s.priority) == first;
    let services: Vec<&Service> = answer.records.iter().filter(of_first).collect();
    let weight = |s: &Service| f64::from(s.weight.max(1));
    let mean = services.iter().map(|s| weight(s)).sum::<f64>() / services.len().max(1) as f64;
    targets.keep(&services);
    let mut workers = Vec::new();
    let mut failure = None;
    for service in services {
        let host = service.target.as_str();
        let (addresses, lifetime, failed) = targets.addresses(resolver, host).await;
        again_in = again_in.min(lifetime);
        if let Some(error) = failed {
            tracing::warn!(host, %error, "lookup failed; this host stays as it is");
            failure = Some(error);
        }
        let several = addresses.len() > 1;
        for ip in addresses {
            let Ok(mut worker) = WorkerConfig::new(&url(&ip.to_string(), service.port)) else {
                continue;
            };
            // A pod keeps its name through its restarts, whatever address it gets.
            if !several {
                worker.name = format!("{}:{}", service.target, service.port);
            }
            worker.weight = (weight(service) / mean).clamp(0.001, 1_000.0);
            workers.push(worker);
        }
    }
    if workers.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    in_order(&mut workers);
    Ok(Found { workers, again_in })
}

/// Without the host's brackets an IPv6 address and its port run into each other.
pub(crate) fn url(ip: &str, port: u16) -> String {
    if ip.contains(':') {
        format!("http://[{ip}]:{port}")
    } else {
        format!("http://{ip}:{port}")
    }
}

/// Name servers turn their answers; the same workers must be the same list. None twice.
pub(crate) fn in_order(workers: &mut Vec<WorkerConfig>) {
    let by_name: BTreeMap<String, WorkerConfig> = workers
        .drain(..)
        .map(|worker| (worker.name.clone(), worker))
        .collect();
    workers.extend(by_name.into_values());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::dns::tests::{a, server, srv};

    fn entry(yaml: &str) -> DiscoverConfig {
        let yaml = format!("{{listen: 127.0.0.1:0, discover: [{yaml}]}}");
        Config::parse(&yaml, "test").unwrap().discover.remove(0)
    }

    #[tokio::test]
    async fn every_address_of_a_name_is_a_worker() {
        let records = vec![
            a("engines.test", 9, [127, 0, 0, 2]),
            a("engines.test", 9, [127, 0, 0, 1]),
            a("engines.test", 9, [127, 0, 0, 1]),
        ];
        let resolver = Resolver::new(Some(server(records, false).await));
        let config = entry("{dns: engines.test, port: 8000}");
        let mut targets = Targets::default();
        let found = find(&resolver, &config, &mut targets).await.unwrap();
        let names: Vec<&str> = found.workers.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, ["127.0.0.1:8000", "127.0.0.2:8000"]);
        assert_eq!(found.again_in, Duration::from_secs(9));
    }

    #[tokio::test]
    async fn services_of_the_first_priority_are_workers_with_weights() {
        let records = vec![
            srv("_http._tcp.test", (1, 10, 8000), "one.test"),
            srv("_http._tcp.test", (1, 30, 8001), "two.test"),
            srv("_http._tcp.test", (2, 90, 8002), "spare.test"),
            a("one.test", 3, [127, 0, 0, 1]),
            a("two.test", 9, [127, 0, 0, 2]),
        ];
        let resolver = Resolver::new(Some(server(records, false).await));
        let config = entry("{srv: _http._tcp.test}");
        let mut targets = Targets::default();
        let found = find(&resolver, &config, &mut targets).await.unwrap();
        let seen: Vec<(&str, String, f64)> = found
            .workers
            .iter()
            .map(|w| (w.name.as_str(), w.url.to_string(), w.weight))
            .collect();
        let expected = [
            ("one.test:8000", "http://127.0.0.1:8000".to_owned(), 0.5),
            ("two.test:8001", "http://127.0.0.2:8001".to_owned(), 1.5),
        ];
        assert_eq!(seen, expected);
        assert_eq!(found.again_in, Duration::from_secs(3));
    }

    #[tokio::test]
    async fn a_host_that_stands_for_nothing_for_a_moment_stays_and_costs_no_other() {
        let services = || {
            vec![
                srv("_http._tcp.test", (1, 1, 8000), "one.test"),
                srv("_http._tcp.test", (1, 1, 8000), "two.test"),
                a("one.test", 3, [127, 0, 0, 1]),
            ]
        };
        let config = entry("{srv: _http._tcp.test}");
        let mut both = services();
        both.push(a("two.test", 3, [127, 0, 0, 2]));
        let before = Resolver::new(Some(server(both, false).await));
        let after = Resolver::new(Some(server(services(), false).await));
        let mut targets = Targets::default();
        // At first it is not there, and the other one is.
        for (resolver, expected) in [
            (&after, 1),
            (&before, 2),
            (&after, 2),
            (&after, 2),
            (&after, 1),
            (&before, 2),
        ] {
            let found = find(resolver, &config, &mut targets).await.unwrap();
            assert_eq!(found.workers.len(), expected);
        }
    }

    #[test]
    fn an_address_makes_a_url() {
        assert_eq!(url("10.0.0.1", 80), "http://10.0.0.1:80");
        assert_eq!(url("fd00::1", 80), "http://[fd00::1]:80");
    }
}
