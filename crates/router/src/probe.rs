//! Short questions to a worker, over a connection of their own that is kept between them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::shared::Shared;
use crate::tls::Offer;

/// Asks one worker one kind of question.
pub(crate) struct Probe {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    path: Uri,
    patience: Duration,
    sender: Option<http1::SendRequest<Empty<Bytes>>>,
}

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Nobody listens.
    Refused,
    /// It was connected, but said nothing in time.
    Silent,
    Failed,
}

const CONNECT_TIME: Duration = Duration::from_secs(2);

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("headwater-router/", env!("CARGO_PKG_VERSION")));

impl Probe {
    pub(crate) fn new(
        (shared, endpoint): (Arc<Shared>, Arc<Endpoint>),
        path: &str,
        patience: Duration,
    ) -> Self {
        Self {
            shared,
            endpoint,
            path: path.parse().unwrap_or_default(),
            patience,
            sender: None,
        }
    }

    /// Asks, and reads no more than so many bytes of an answer.
    pub(crate) async fn ask(&mut self, most_bytes: usize) -> Result<(StatusCode, Bytes), NoAnswer> {
        if let Some(mut sender) = self.sender.take()
            && sender.ready().await.is_ok()
            && let Ok(answer) = self.exchange(sender, most_bytes).await?
        {
            return Ok(answer);
        }
        // A kept connection may have ended while nobody looked.
        let sender = timeout(CONNECT_TIME, self.connect()).await;
        let sender = match sender {
            Ok(Ok(sender)) => sender,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(NoAnswer::Refused);
            }
            Ok(Err(_)) | Err(_) => return Err(NoAnswer::Failed),
        };
        self.exchange(sender, most_bytes)
            .await?
            .map_err(|()| NoAnswer::Failed)
    }

    async fn connect(&self) -> io::Result<http1::SendRequest<Empty<Bytes>>> {
        let (stream, _) = dial(&self.endpoint, &self.shared.worker_tls, Offer::Http1).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        tokio::spawn(async move {
            // How it ended is known to whoever waits for the answer.
            let _ended = connection.await;
        });
        Ok(sender)
    }

    /// One question and its answer; the inner error is a connection that broke.
    async fn exchange(
        &mut self,
        mut sender: http1::SendRequest<Empty<Bytes>>,
        most_bytes: usize,
    ) -> Result<Result<(StatusCode, Bytes), ()>, NoAnswer> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = self.path.clone();
        let headers = request.headers_mut();
        headers.insert(HOST, self.endpoint.host.clone());
        headers.insert(USER_AGENT, AGENT);
        let answer = async {
            let response = sender.send_request(request).await.map_err(|_| ())?;
            let status = response.status();
            let body = Limited::new(response.into_body(), most_bytes);
            let body = body.collect().await.map_err(|_| ())?;
            Ok((status, body.to_bytes()))
        };
        let answer = timeout(self.patience, answer)
            .await
            .map_err(|_| NoAnswer::Silent)?;
        if answer.is_ok() {
            self.sender = Some(sender);
        }
        Ok(answer)
    }
}
