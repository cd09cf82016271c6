//! Reads the configuration file again, on a thread of its own: a file system that does not answer
//! must hold up neither requests nor signals.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use headwater_router::Handle;

use crate::command::{self, Origin};
use crate::watched_file::{self, WatchedFile};

/// Follows a file as long as there is a sender: reads it when it has changed, and whenever something
/// is sent; `file` is what the settings came from, as it was before they were read.
pub(crate) fn follow(
    handle: Handle,
    origin: &Origin,
    file: Option<WatchedFile>,
) -> io::Result<Sender<()>> {
    let (asks, asked) = channel();
    let file = match origin {
        Origin::File(path) => file.map(|file| (path.clone(), file)),
        Origin::Arguments => None,
    };
    let work = move || match file {
        Some((path, file)) => follow_file(&handle, &path, file, &asked),
        None => asked.iter().for_each(|()| {
            tracing::warn!("nothing to read again: the settings came from the command line");
        }),
    };
    thread::Builder::new()
        .name("headwater-reload".to_owned())
        .spawn(work)?;
    Ok(asks)
}

fn follow_file(handle: &Handle, path: &Path, mut file: WatchedFile, asked: &Receiver<()>) {
    loop {
        match asked.recv_timeout(watched_file::INTERVAL) {
            Ok(()) => {
                file.is_read();
                reload(handle, path);
            }
            Err(RecvTimeoutError::Timeout) if file.look() => reload(handle, path),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn reload(handle: &Handle, path: &Path) {
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
