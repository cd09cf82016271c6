//! Which HTTP a connection speaks, and where its parts run.

use hyper::rt::Executor;

/// The two that this router knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
}

impl Spoken {
    /// What was agreed on within TLS; silence means HTTP/1.1.
    pub(crate) fn of_alpn(protocol: Option<&[u8]>) -> Self {
        if protocol == Some(b"h2") {
            Self::Http2
        } else {
            Self::Http1
        }
    }
}

/// Runs the streams of an HTTP/2 connection on the thread that has it.
#[derive(Clone)]
pub(crate) struct LocalExecutor;

impl<F: Future + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}
