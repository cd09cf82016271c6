//! SIGTERM and SIGINT stop the router gracefully, a second one at once; SIGHUP makes it read its
//! file again.

use std::io;
use std::sync::mpsc;

use tokio::signal::unix::{Signal, SignalKind, signal};

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

    /// Completes when the process should stop; until then whoever reads the file is asked to.
    pub(crate) async fn until_stop(&mut self, reader: &mpsc::Sender<()>) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => {
                    // The reader stays for as long as there is a sender.
                    let _asked = reader.send(());
                }
            }
        }
    }

    /// Completes when the process should not even wait for its streams.
    pub(crate) async fn until_stop_again(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
