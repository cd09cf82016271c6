//! Who names which worker: the configuration, operators and discoveries, side by side.
//!
//! The first to name a worker keeps it, as an engine that is listed twice would be counted twice.
//! Who named it later gets it once it is free.

use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_placement::At;

use crate::config::WorkerConfig;
use crate::member::{Arrival, Origin};
use crate::model_pool::PoolId;
use crate::shared::Shared;

/// What was named and is another source's.
#[derive(Default)]
pub(crate) struct Sources {
    refused: Mutex<Vec<Named>>,
}

/// A worker as a source names it.
struct Named {
    pool: PoolId,
    origin: Origin,
    worker: WorkerConfig,
}

impl Sources {
    fn refused(&self) -> MutexGuard<'_, Vec<Named>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Makes the workers of `origin` in a pool the ones of this list: adds, removes, changes
    /// weights.
    pub(crate) fn set_workers(&self, pool: PoolId, origin: Origin, workers: &[WorkerConfig]) {
        self.list(pool, origin, workers, Arrival::Later);
    }

    /// The same, with what is believed of new ones.
    pub(crate) fn list(
        &self,
        pool: PoolId,
        origin: Origin,
        workers: &[WorkerConfig],
        arrival: Arrival,
    ) {
        let at = self.now();
        let mut refused = self.sources.refused();
        refused.retain(|named| (named.pool, named.origin) != (pool, origin));
        self.roster(pool).retire(at, origin, workers);
        for worker in workers {
            let named = Named {
                pool,
                origin,
                worker: worker.clone(),
            };
            if !self.join(at, &named, arrival) {
                let worker = worker.name.as_str();
                tracing::warn!(worker, "left out: another source has this name or address");
                refused.push(named);
            }
        }
        self.offer(at, &mut refused);
    }

    /// Adds one that an operator names; `false` if it is there already.
    pub(crate) fn add_worker(&self, pool: PoolId, worker: &WorkerConfig) -> bool {
        let named = Named {
            pool,
            origin: Origin::Admin,
            worker: worker.clone(),
        };
        // One change at a time, whoever makes it.
        let _refused = self.sources.refused();
        let joined = self.join(self.now(), &named, Arrival::Later);
        self.roster_changed.send_replace(());
        joined
    }

    /// Removes one for an operator, until a source names it anew; `None` if there is none.
    pub(crate) fn remove_worker(&self, name: &str) -> Option<()> {
        let at = self.now();
        let mut refused = self.sources.refused();
        refused.retain(|named| named.worker.name != name);
        self.pool_with(name)?.roster().leave(at, name)?;
        self.offer(at, &mut refused);
        Some(())
    }

    /// Gives what has become free to those who named it, and tells everybody.
    fn offer(&self, at: At, refused: &mut Vec<Named>) {
        refused.retain(|named| !self.join(at, named, Arrival::Later));
        for pool in self.pools() {
            pool.roster().settle(at);
        }
        self.roster_changed.send_replace(());
    }

    /// Adds a worker or changes its weight, if nobody else has its name or address.
    fn join(&self, at: At, named: &Named, arrival: Arrival) -> bool {
        let Named {
            pool,
            origin,
            worker,
        } = named;
        let taken = self.pools().iter().enumerate().any(|(index, other)| {
            let own = (PoolId(index) == *pool).then_some(*origin);
            other.roster().has_taken(worker, own)
        });
        !taken && self.roster(*pool).join(at, *origin, worker, arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const DNS: Origin = Origin::Discovered(0);
    const HERE: PoolId = PoolId(0);
    const THERE: PoolId = PoolId(1);

    fn shared(workers: &str) -> Shared {
        let yaml = format!(
            "{{listen: '127.0.0.1:0', workers: [{workers}], \
             pools: [{{name: p, match: {{path: /p}}, workers: ['http://127.0.0.1:9']}}]}}"
        );
        Shared::new(Config::parse(&yaml, "test").unwrap()).unwrap()
    }

    fn list(yaml: &[&str]) -> Vec<WorkerConfig> {
        let worker = |text: &&str| WorkerConfig::parse(text, "test").unwrap();
        yaml.iter().map(worker).collect()
    }

    fn check(shared: &Shared, pool: PoolId, expected: &[&str]) {
        let names = |endpoint: &std::sync::Arc<crate::endpoint::Endpoint>| endpoint.name.clone();
        let mut found: Vec<String> = shared.roster(pool).endpoints().iter().map(names).collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_one_source_gives_up_is_anothers_who_named_it() {
        let shared = shared("'http://a:1'");
        shared.set_workers(HERE, DNS, &list(&["http://a:1", "http://b:1"]));
        check(&shared, HERE, &["a:1", "b:1"]);
        // The file has the worker no more, and the name still stands for it.
        shared.set_workers(HERE, Origin::Config, &[]);
        check(&shared, HERE, &["a:1", "b:1"]);
        shared.set_workers(HERE, DNS, &list(&["http://b:1"]));
        check(&shared, HERE, &["b:1"]);
    }

    #[test]
    fn an_engine_is_in_one_pool_and_under_one_name() {
        let shared = shared("'http://a:1'");
        let by_hand = |yaml| shared.add_worker(HERE, &list(&[yaml])[0]);
        assert!(!by_hand("{url: 'http://a:1', name: other}"));
        assert!(!by_hand("{url: 'h2c://a:1', name: other}"));
        assert!(!by_hand("{url: 'http://b:1', name: 'a:1'}"));
        assert!(by_hand("http://c:1"));
        shared.set_workers(THERE, Origin::Config, &list(&["http://c:1", "http://d:1"]));
        check(&shared, THERE, &["d:1"]);
        assert!(shared.remove_worker("c:1").is_some());
        check(&shared, HERE, &["a:1"]);
        // Whoever removes it by hand wants it gone, until a list names it anew.
        check(&shared, THERE, &["d:1"]);
        shared.set_workers(THERE, Origin::Config, &list(&["http://c:1", "http://d:1"]));
        check(&shared, THERE, &["c:1", "d:1"]);
        assert!(shared.remove_worker("nobody").is_none());
    }

    #[test]
    fn a_worker_may_change_its_name_or_its_pool_in_one_list() {
        let shared = shared("'http://a:1'");
        shared.set_workers(
            HERE,
            Origin::Config,
            &list(&["{url: 'http://a:1', name: new}"]),
        );
        check(&shared, HERE, &["new"]);
        // And what is spoken there.
        shared.set_workers(
            HERE,
            Origin::Config,
            &list(&["{url: 'h2c://a:1', name: newer}"]),
        );
        check(&shared, HERE, &["newer"]);
        shared.set_workers(HERE, Origin::Config, &list(&["http://127.0.0.1:9"]));
        check(&shared, HERE, &[]);
        shared.set_workers(
            THERE,
            Origin::Config,
            &list(&["{url: 'http://a:1', name: new}"]),
        );
        check(&shared, HERE, &["127.0.0.1:9"]);
        check(&shared, THERE, &["new"]);
    }
}
