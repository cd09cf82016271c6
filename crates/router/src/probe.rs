//! Short questions to a worker, over a connection of their own that is kept between them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::http::uri::PathAndQuery;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::time::timeout;

use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::shared::Shared;
use crate::spoken::Spoken;
use crate::tls::Offer;

/// Asks one worker one kind of question.
pub(crate) struct Probe {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    path: PathAndQuery,
    patience: Duration,
    sender: Option<Sender>,
}

/// A connection in what the worker speaks.
enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Nobody listens.
    Refused,
    /// It was connected, but said nothing in time.
    Silent,
    Failed,
    /// This process can open no more connections, which says nothing of the worker.
    Exhausted,
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
            path: path.parse().unwrap_or(PathAndQuery::from_static("/")),
            patience,
            sender: None,
        }
    }

    /// Asks, and reads no more than so many bytes of an answer.
    pub(crate) async fn ask(&mut self, most_bytes: usize) -> Result<(StatusCode, Bytes), NoAnswer> {
        if let Some(mut sender) = self.sender.take()
            && sender.is_ready().await
            && let Ok(answer) = self.exchange(sender, most_bytes).await?
        {
            return Ok(answer);
        }
        // A kept connection may have ended while nobody looked.
        let sender = timeout(CONNECT_TIME, self.connect()).await;
        let sender = match sender {
            Ok(Ok(sender)) => sender,
            Ok(Err(error)) => {
                return Err(match Fault::of_connect(&error) {
                    Fault::Refused => NoAnswer::Refused,
                    Fault::Exhausted => NoAnswer::Exhausted,
                    _ => NoAnswer::Failed,
                });
            }
            Err(_) => return Err(NoAnswer::Failed),
        };
        self.exchange(sender, most_bytes)
            .await?
            .map_err(|()| NoAnswer::Failed)
    }

    async fn connect(&self) -> io::Result<Sender> {
        let (stream, spoken) = dial(&self.endpoint, &self.shared.worker_tls, Offer::Any).await?;
        let io = TokioIo::new(stream);
        // How a connection ended is known to whoever waits for the answer.
        match spoken {
            Spoken::Http1 => {
                let opened = http1::handshake(io).await.map_err(io::Error::other)?;
                let (sender, connection) = opened;
                tokio::spawn(async move { drop(connection.await) });
                Ok(Sender::Http1(sender))
            }
            Spoken::Http2 => {
                let opened = http2::handshake(TokioExecutor::new(), io).await;
                let (sender, connection) = opened.map_err(io::Error::other)?;
                tokio::spawn(async move { drop(connection.await) });
                Ok(Sender::Http2(sender))
            }
        }
    }

    /// One question and its answer; the inner error is a connection that broke.
    async fn exchange(
        &mut self,
        mut sender: Sender,
        most_bytes: usize,
    ) -> Result<Result<(StatusCode, Bytes), ()>, NoAnswer> {
        let request = sender.request(&self.endpoint, &self.path);
        let answer = async {
            let response = sender.send(request).await.map_err(|_| ())?;
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

impl Sender {
    async fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(sender) => sender.ready().await.is_ok(),
            Self::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    fn request(&self, endpoint: &Endpoint, path: &PathAndQuery) -> Request<Empty<Bytes>> {
        let mut request = Request::new(Empty::new());
        match self {
            Self::Http1(_) => {
                *request.uri_mut() = path.clone().into();
                request.headers_mut().insert(HOST, endpoint.host.clone());
            }
            Self::Http2(_) => {
                *request.uri_mut() = endpoint.absolute(Some(path.clone()));
                *request.version_mut() = Version::HTTP_2;
            }
        }
        request.headers_mut().insert(USER_AGENT, AGENT);
        request
    }

    async fn send(&mut self, request: Request<Empty<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => sender.send_request(request).await,
            Self::Http2(sender) => sender.send_request(request).await,
        }
    }
}
