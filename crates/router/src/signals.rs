//! SIGTERM and SIGINT stop the router gracefully; SIGHUP or a changed file makes it read its
//! file again.

use std::io;

use headwater_router::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use crate::command::{self, Origin};
use crate::watched_file::{self, WatchedFile};

/// The signals that are followed. From when it is made none of them ends the process by itself.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Begins to listen, within a runtime.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Completes when the process should stop, and reloads until then; `file` is what the settings
/// came from, as it was before they were read.
pub(crate) fn until_stop(
    signals: Signals,
    handle: Handle,
    origin: Origin,
    mut file: Option<WatchedFile>,
) -> impl Future<Output = ()> {
    let Signals {
        mut terminate,
        mut interrupt,
        mut hang_up,
    } = signals;
    async move {
        let mut looks = tokio::time::interval(watched_file::INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hang_up.recv() => {
                    if let Some(file) = &mut file {
                        file.is_read();
                    }
                    reload(&handle, &origin);
                }
                _ = looks.tick() => if file.as_mut().is_some_and(WatchedFile::look) {
                    reload(&handle, &origin);
                },
            }
        }
        tracing::info!("stopping: no new connections, streams may finish");
    }
}

fn reload(handle: &Handle, origin: &Origin) {
    let Origin::File(path) = origin else {
        tracing::warn!("nothing to read again: the settings came from the command line");
        return;
    };
    match command::read(path) {
        Ok(config) => {
            let restart = handle.reload(&config);
            tracing::info!(workers = config.workers.len(), "configuration read again");
            if !restart.is_empty() {
                let settings = restart.join(", ");
                tracing::warn!(settings, "these settings change with a restart only");
            }
        }
        Err(error) => {
            handle.reload_failed();
            tracing::error!("configuration kept as it was: {error:#}");
        }
    }
}
