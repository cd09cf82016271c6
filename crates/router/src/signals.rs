//! SIGTERM and SIGINT stop the router gracefully, SIGHUP makes it read its file again.

use std::io;

use headwater_router::Handle;
use tokio::signal::unix::{SignalKind, signal};

use crate::command::{self, Origin};

/// Gives a future that completes when the process should stop, and reloads until then.
pub(crate) fn until_stop(handle: Handle, origin: Origin) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hang_up.recv() => reload(&handle, &origin),
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
