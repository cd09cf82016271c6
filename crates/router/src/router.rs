//! A router in a process: bound, running, reloaded, drained.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch as channel};
use tokio::time::timeout;

use crate::admin_access::{Access, Token};
use crate::config::Config;
use crate::config_pool::PoolConfig;
use crate::config_whole;
use crate::control;
use crate::error::RouterError;
use crate::file_stamp::Stamp;
use crate::listen;
use crate::member::Origin;
use crate::model_pool::PoolId;
use crate::serve::{self, Phase};
use crate::shared::Shared;
use crate::telemetry::Telemetry;
use crate::telemetry_out;

/// A router that has its addresses and waits to run.
pub struct Router {
    shared: Arc<Shared>,
    listeners: Vec<TcpListener>,
    admin: Option<(TcpListener, Access)>,
    local_addr: SocketAddr,
    admin_addr: Option<SocketAddr>,
}

/// Reaches a router from outside, before and while it runs.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Router {
    /// Takes the addresses; from here on clients can connect, and wait until it runs.
    ///
    /// # Errors
    /// An address is taken, or a setting of the placement is out of range. An admin address
    /// that was not asked for by name is done without, with a warning.
    pub fn bind(config: Config) -> Result<Self, RouterError> {
        let threads = match config.threads {
            Some(threads) => threads.get(),
            None => thread::available_parallelism().map_or(1, NonZeroUsize::get),
        };
        let listeners = listen::many(config.listen, threads)
            .map_err(|source| bind_error("listen", config.listen, source))?;
        let local_addr = listeners
            .first()
            .map_or(Ok(config.listen), TcpListener::local_addr)
            .map_err(|source| bind_error("listen", config.listen, source))?;
        let admin = bind_admin(&config)?;
        let admin_addr = admin.as_ref().and_then(|admin| admin.local_addr().ok());
        let admin = admin.zip(access(&config, admin_addr)?);
        Ok(Self {
            shared: Arc::new(Shared::new(config)?),
            listeners,
            admin,
            local_addr,
            admin_addr,
        })
    }

    /// Reads what a configuration names, as a start would, and takes no address.
    ///
    /// # Errors
    /// A file cannot be used, or a setting of the placement is out of range.
    pub fn check(config: &Config) -> Result<(), RouterError> {
        token(config)?;
        Shared::new(config.clone()).map(|_| ())
    }

    /// Where requests come in.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Where operators look, if an address could be taken.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_addr
    }

    /// A handle that stays valid while the router runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.shared))
    }

    /// Serves until `shutdown` completes, then lets streams finish for up to `drain_seconds`.
    ///
    /// The work is done by threads of its own; this future only waits, and dropping it stops
    /// the router as `shutdown` does.
    ///
    /// # Errors
    /// A thread could not be started.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RouterError> {
        let (stop_control, stopped) = oneshot::channel();
        let (shared, admin) = (Arc::clone(&self.shared), self.admin);
        let control = spawn("headwater-control", move || {
            control::run(shared, admin, stopped)
        })?;
        let (stop_telling, told) = oneshot::channel();
        let records = self.shared.telemetry.as_ref().and_then(Telemetry::receiver);
        let telling = match records {
            Some(records) => {
                let shared = Arc::clone(&self.shared);
                let tell = move || telemetry_out::run(&shared, records, told);
                Some(spawn("headwater-telemetry", tell)?)
            }
            None => None,
        };
        let phase = channel::Sender::new(Phase::Serving);
        let mut serving = Vec::with_capacity(self.listeners.len());
        for listener in self.listeners {
            let (shared, phase) = (Arc::clone(&self.shared), phase.subscribe());
            let serve = move || serve::run(listener, shared, phase);
            serving.push(spawn("headwater-serve", serve)?);
        }
        shutdown.await;
        self.shared.drain();
        phase.send_replace(Phase::Draining);
        for ended in serving {
            finished(ended).await?;
        }
        drop(stop_control);
        drop(stop_telling);
        if let Some(telling) = telling {
            // Whoever reads its lines may have stopped; the router ends all the same.
            let _told = timeout(LAST_WORDS, finished(telling)).await;
        }
        finished(control).await
    }
}

impl Handle {
    /// Makes the workers of `config` the ones that are used; streams of removed ones go on.
    /// Gives the other settings that differ, which only a restart changes.
    pub fn reload(&self, config: &Config) -> Vec<&'static str> {
        let same_pools = same_rules(&self.0.config.pools, &config.pools);
        let known = if same_pools { usize::MAX } else { 1 };
        for (index, workers) in config.workers_of_pools().enumerate().take(known) {
            self.0.set_workers(PoolId(index), Origin::Config, workers);
        }
        self.0.counters.reloads.add(1);
        for part in self.0.read_from_files() {
            self.0.read_again(part);
        }
        let old = &self.0.config;
        let differs = [
            ("listen", old.listen != config.listen),
            ("admin", old.admin != config.admin),
            (
                "admin_token_file",
                old.admin_token_file != config.admin_token_file
                    || self.0.token_file != config.admin_token_file.as_deref().and_then(Stamp::of),
            ),
            ("discover", old.discover != config.discover),
            ("pools", !same_pools),
            ("policy", old.policy != config.policy),
            ("threads", old.threads != config.threads),
            (
                "session_headers",
                old.session_headers != config.session_headers,
            ),
            ("body_key", old.body_key != config.body_key),
            ("placement", old.placement != config.placement),
            ("retry", old.retry != config.retry),
            ("breaker", old.breaker != config.breaker),
            ("request_log", old.request_log != config.request_log),
            ("kv_events", old.kv_events != config.kv_events),
            ("traces", old.traces != config.traces),
            ("health", old.health != config.health),
            ("metrics", old.metrics != config.metrics),
            ("tls", old.tls != config.tls),
            ("worker_tls", old.worker_tls != config.worker_tls),
            ("limits", old.limits != config.limits),
            ("drain_seconds", old.drain_seconds != config.drain_seconds),
        ];
        let names = differs.iter().filter(|(_, differs)| *differs);
        names.map(|(name, _)| *name).collect()
    }

    /// Counts a configuration that could not be used; the old one stays.
    pub fn reload_failed(&self) {
        self.0.counters.reload_errors.add(1);
    }
}

/// Whether two lists of pools differ in their workers at most.
fn same_rules(old: &[PoolConfig], new: &[PoolConfig]) -> bool {
    let same = |(old, new): (&PoolConfig, &PoolConfig)| {
        let workers = old.workers.clone();
        PoolConfig {
            workers,
            ..new.clone()
        } == *old
    };
    old.len() == new.len() && old.iter().zip(new).all(same)
}

/// How long the last log lines and traces may take.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A thread, and the word that it has ended.
type Ended = oneshot::Receiver<io::Result<()>>;

fn spawn(
    name: &str,
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<Ended, RouterError> {
    let (ended, word) = oneshot::channel();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // Nobody waits any more if the router was dropped.
            let _unheard = ended.send(work());
        })
        .map_err(|source| RouterError::Thread { source })?;
    Ok(word)
}

async fn finished(ended: Ended) -> Result<(), RouterError> {
    match ended.await {
        Ok(result) => result.map_err(|source| RouterError::Thread { source }),
        Err(_) => Err(RouterError::Thread {
            source: io::Error::other("it stopped without a word"),
        }),
    }
}

fn bind_admin(config: &Config) -> Result<Option<TcpListener>, RouterError> {
    if let Some(address) = config.admin {
        let bound = listen::one(address);
        return bound
            .map(Some)
            .map_err(|source| bind_error("admin", address, source));
    }
    let Some(address) = config_whole::default_admin(config.listen) else {
        tracing::warn!("no admin port: there is none 1000 above `listen`; set `admin`");
        return Ok(None);
    };
    let mut workers = config.workers_of_pools().flatten();
    if workers.any(|worker| config_whole::is_itself(address, &worker.url)) {
        // It may just not have started yet.
        tracing::warn!(%address, "no admin port: a worker has it; set `admin` to another");
        return Ok(None);
    }
    match listen::one(address) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) => {
            tracing::warn!(%address, %error, "no admin port: it is taken; set `admin` to another");
            Ok(None)
        }
    }
}

/// What the admin port asks for; nothing where there is no port.
fn access(config: &Config, address: Option<SocketAddr>) -> Result<Option<Access>, RouterError> {
    let Some(address) = address else {
        return Ok(None);
    };
    if let Some(token) = token(config)? {
        return Ok(Some(Access::Token(token)));
    }
    if address.ip().is_loopback() {
        return Ok(Some(Access::Open));
    }
    tracing::warn!(%address, "admin port without `admin_token_file`: probes and metrics only");
    Ok(Some(Access::Watching))
}

fn token(config: &Config) -> Result<Option<Token>, RouterError> {
    let read = |path| Token::read(path).map_err(|message| RouterError::AdminToken { message });
    config.admin_token_file.as_deref().map(read).transpose()
}

fn bind_error(setting: &'static str, address: SocketAddr, source: io::Error) -> RouterError {
    RouterError::Bind {
        setting,
        address,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_nobody_asked_for_is_left_to_a_worker() {
        let yaml = "{listen: '127.0.0.1:8080', workers: ['http://127.0.0.1:9080']}";
        let config = Config::parse(yaml, "test").unwrap();
        assert!(bind_admin(&config).unwrap().is_none());
    }
}
