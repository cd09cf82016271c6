//! The thread beside the serving ones: asks workers how they are, answers operators.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::MissedTickBehavior;

use crate::admin;
use crate::admin_access::Access;
use crate::discover;
use crate::endpoint::Endpoint;
use crate::history::{self, Point};
use crate::shared::Shared;
use crate::watch;

/// Runs until the other end of `stop` is dropped or used.
pub(crate) fn run(
    shared: Arc<Shared>,
    admin: Option<(StdListener, Access)>,
    stop: oneshot::Receiver<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        if let Some((listener, access)) = admin {
            let listener = TcpListener::from_std(listener)?;
            tokio::spawn(admin::serve(listener, Arc::clone(&shared), access));
            tokio::spawn(remember(Arc::clone(&shared)));
        }
        tokio::spawn(follow_files(Arc::clone(&shared)));
        discover::begin(&shared);
        tokio::select! {
            () = follow_roster(&shared) => {}
            _ = stop => {}
        }
        Ok(())
    })
}

/// Takes the points that the status page begins with.
async fn remember(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(history::INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.history.add(Point::now(&shared));
    }
}

/// Reads certificates and authorities again when their files change.
async fn follow_files(shared: Arc<Shared>) {
    /// Certificates are renewed weeks before they end.
    const LOOK: Duration = Duration::from_secs(2);
    let mut followed: Vec<_> = shared.read_from_files().map(|part| (part, None)).collect();
    while !followed.is_empty() {
        tokio::time::sleep(LOOK).await;
        for (part, unusable) in &mut followed {
            let source = part.source();
            let stamps = source.stamps();
            // Files that could not be used: tried once, and complained of once.
            if source.has_changed() && unusable.as_ref() != Some(&stamps) {
                *unusable = (!shared.read_again(*part)).then_some(stamps);
            }
        }
    }
}

/// Follows what a worker's engines say of their caches.
#[cfg(feature = "kv-events")]
fn follow_cache((shared, worker): (Arc<Shared>, Arc<Endpoint>)) -> Vec<AbortHandle> {
    let ranks = shared.config.kv_events.as_ref().map_or(0, |c| c.ranks);
    let follow = |rank| {
        let (shared, worker) = (Arc::clone(&shared), Arc::clone(&worker));
        tokio::spawn(crate::kv_events::follow(shared, worker, rank)).abort_handle()
    };
    (0..ranks).map(follow).collect()
}

#[cfg(not(feature = "kv-events"))]
fn follow_cache(_: (Arc<Shared>, Arc<Endpoint>)) -> Vec<AbortHandle> {
    Vec::new()
}

/// Keeps two questions going for each worker that is known.
async fn follow_roster(shared: &Arc<Shared>) {
    let mut changed = shared.roster_changed.subscribe();
    let mut asked: BTreeMap<u64, Vec<AbortHandle>> = BTreeMap::new();
    loop {
        let pools = shared.pools().iter();
        let endpoints: Vec<_> = pools.flat_map(|pool| pool.roster().endpoints()).collect();
        asked.retain(|serial, tasks| {
            let known = endpoints.iter().any(|endpoint| endpoint.serial == *serial);
            if !known {
                tasks.iter().for_each(AbortHandle::abort);
            }
            known
        });
        for endpoint in endpoints {
            asked.entry(endpoint.serial).or_insert_with(|| {
                let of = || (Arc::clone(shared), Arc::clone(&endpoint));
                let (shared, worker) = of();
                let metrics = tokio::spawn(watch::metrics(shared, worker));
                let (shared, worker) = of();
                let health = tokio::spawn(watch::health(shared, worker));
                let mut tasks = vec![metrics.abort_handle(), health.abort_handle()];
                tasks.extend(follow_cache(of()));
                tasks
            });
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}
