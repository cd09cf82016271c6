//! SIGTERM and SIGINT stop the router gracefully; SIGHUP or a changed file makes it read its
//! file again.

use std::io;

use headwater_router::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

use crate::command::{self, Origin};
use crate::watched_file::{self, WatchedFile};

/// Gives a future that completes when the process should stop, and reloads until then.
pub(crate) fn until_stop(handle: Handle, origin: Origin) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut file = match &origin {
        Origin::File(path) => Some(WatchedFile::new(path)),
        Origin::Arguments => None,
    };
    Ok(async move {
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
    })
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
