//! A connection to a worker that a request can be sent on, whatever the worker speaks.

use std::cell::Cell;
use std::error::Error as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::time::Duration;

use h2::Reason;
use hyper::client::conn::http2;
use hyper::header::HOST;
use hyper::http::{request, response};
use hyper::{Request, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::task::AbortHandle;

use crate::answer_body::AnswerBody;
use crate::answer_head::{self, Garbled};
use crate::come::Arena;
use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::exchange::{Exchange, Failure};
use crate::fault::Fault;
use crate::line::Line;
use crate::request_head::{self, Sent};
use crate::spoken::{LocalExecutor, Spoken};
use crate::tls::{Offer, WorkerTls};
use crate::upload::{Attempt, Upload};
use crate::windows;

/// A connection to a worker, or a share in one. When nobody holds it any more it is closed at
/// once, whatever it is doing.
pub(crate) enum Channel {
    /// One request at a time.
    Http1(Line),
    /// Many at the same time.
    Http2(Share),
}

/// A share in a connection of HTTP/2.
#[derive(Clone)]
pub(crate) struct Share {
    sender: http2::SendRequest<Attempt>,
    task: Rc<Task>,
}

/// See [`Channel::shared_line`].
pub(crate) struct SharedLine(Weak<Task>);

struct Task {
    handle: AbortHandle,
    /// How many requests are in the connection at most: what the worker wants, and no more than
    /// have room for their answers beside each other.
    most: Rc<Cell<usize>>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

/// How long a connection in which requests wait may be silent until the worker is asked whether it
/// is still there, and how long that answer may take: nobody else would notice that it is not.
const SILENCE: Duration = Duration::from_secs(5);
const ANSWER_TIME: Duration = Duration::from_secs(15);

/// A worker may allow any number.
const MOST: usize = windows::MOST_STREAMS as usize;

/// Whether a connection had carried a request before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    Fresh,
    Kept,
}

impl Channel {
    /// Connects to a worker, and finds out what it speaks.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        tls: &WorkerTls,
        arena: &Rc<Arena>,
    ) -> Result<Self, Fault> {
        let (stream, spoken) = dial(endpoint, tls, Offer::Any)
            .await
            .map_err(|error| Fault::of_connect(&error))?;
        if spoken == Spoken::Http1 {
            return Ok(Self::Http1(Line::new(stream, Rc::clone(arena))));
        }
        let opened = http2::Builder::new(LocalExecutor)
            .timer(TokioTimer::new())
            // Until it has said how many it takes.
            .initial_max_send_streams(1)
            .initial_stream_window_size(windows::STREAM_BYTES)
            .initial_connection_window_size(windows::CONNECTION_BYTES)
            .keep_alive_interval(SILENCE)
            .keep_alive_timeout(ANSWER_TIME)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, mut connection) = opened.map_err(|_| Fault::Unreachable)?;
        let most = Rc::new(Cell::new(connection.current_max_send_streams().min(MOST)));
        let told = Rc::clone(&most);
        let task = tokio::task::spawn_local(poll_fn(move |cx| {
            // How it ended is known to whoever waits for an answer.
            let polled = Pin::new(&mut connection).poll(cx).map(|_ended| ());
            told.set(connection.current_max_send_streams().min(MOST));
            polled
        }));
        let task = Task {
            handle: task.abort_handle(),
            most,
        };
        let task = Rc::new(task);
        Ok(Self::Http2(Share { sender, task }))
    }

    /// Sends a request as this connection needs it; gives the head of the answer.
    pub(crate) async fn send(
        self,
        head: &request::Parts,
        upload: &Upload,
        endpoint: &Endpoint,
        connection: Connection,
    ) -> Result<(response::Parts, AnswerBody), Fault> {
        let body = upload.attempt();
        let method = &head.method;
        match self {
            Self::Http1(line) => {
                let sent = Sent::of(&body);
                let text = request_head::write(head, &endpoint.host, sent);
                let method = method.clone();
                let mut exchange = Box::new(Exchange::new(line, method, text, body, sent));
                let answer = poll_fn(|cx| exchange.poll_head(cx)).await;
                let head = answer.map_err(|failure| match (failure, connection) {
                    (Failure::Body, _) => upload.fault(),
                    (Failure::Garbled, _) => Fault::Garbled,
                    (Failure::Ended, Connection::Kept) => Fault::StaleConnection,
                    (Failure::Ended, Connection::Fresh) => Fault::Closed,
                })?;
                Ok((head, AnswerBody::Http1(exchange)))
            }
            Self::Http2(mut share) => {
                let request = over_http2(head, body, endpoint);
                let answer = share.sender.send_request(request).await;
                let answer = answer.map_err(|error| {
                    if error.is_user() {
                        // The body that was being sent came from the client.
                        return upload.fault();
                    }
                    match (reset_of(&error), connection) {
                        (Some(Reason::REFUSED_STREAM), _) => Fault::Declined,
                        // The connection goes on without the request.
                        (Some(_), _) | (None, Connection::Fresh) => Fault::Closed,
                        // HTTP/2 announces its end by an error of its own.
                        (None, Connection::Kept) => Fault::StaleConnection,
                    }
                })?;
                let (mut head, body) = answer.into_parts();
                answer_head::settle_length(&mut head, method).map_err(|Garbled| Fault::Garbled)?;
                let upload = upload.clone();
                Ok((head, AnswerBody::Http2(Box::new((body, share, upload)))))
            }
        }
    }

    /// Waits until a request can be sent; gives whether that is so.
    pub(crate) async fn ready(&mut self) -> bool {
        match self {
            Self::Http1(line) => line.is_quiet(),
            Self::Http2(share) => share.sender.ready().await.is_ok(),
        }
    }

    pub(crate) fn is_open(&mut self) -> bool {
        match self {
            Self::Http1(line) => line.is_quiet(),
            Self::Http2(share) => !share.sender.is_closed(),
        }
    }

    /// Another use of the same connection, where that is possible.
    pub(crate) fn share(&self) -> Option<Self> {
        match self {
            Self::Http2(share) if !share.sender.is_closed() => Some(Self::Http2(share.clone())),
            Self::Http1(_) | Self::Http2(_) => None,
        }
    }

    /// Names the connection, if others may use it at the same time; does not keep it.
    pub(crate) fn shared_line(&self) -> Option<SharedLine> {
        match self {
            Self::Http2(share) => Some(SharedLine(Rc::downgrade(&share.task))),
            Self::Http1(_) => None,
        }
    }

    pub(crate) fn is_in(&self, line: &SharedLine) -> bool {
        match self {
            Self::Http2(share) => Rc::as_ptr(&share.task) == line.0.as_ptr(),
            Self::Http1(_) => false,
        }
    }

    /// Whether many requests can use it at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    /// Whether one more request would begin at once, in a connection that is kept for others.
    pub(crate) fn has_room(&self) -> bool {
        match self {
            // One of those who hold it is the pool.
            Self::Http2(share) => {
                let fits = Rc::strong_count(&share.task) <= share.task.most.get();
                fits && !share.sender.is_closed()
            }
            Self::Http1(_) => false,
        }
    }

    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Http2(one), Self::Http2(other)) => Rc::ptr_eq(&one.task, &other.task),
            _ => false,
        }
    }

    /// Whether nobody else uses the connection.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Self::Http1(_) => true,
            Self::Http2(share) => Rc::strong_count(&share.task) == 1,
        }
    }
}

/// Why the worker ended one request of a connection that goes on, if that is what happened.
fn reset_of(error: &hyper::Error) -> Option<Reason> {
    let cause = error.source()?.downcast_ref::<h2::Error>()?;
    (cause.is_reset() && cause.is_remote()).then(|| cause.reason())?
}

fn over_http2(head: &request::Parts, body: Attempt, endpoint: &Endpoint) -> Request<Attempt> {
    let mut request = Request::new(body);
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = endpoint.absolute(head.uri.path_and_query().cloned());
    *request.version_mut() = Version::HTTP_2;
    *request.headers_mut() = head.headers.clone();
    request.headers_mut().remove(HOST);
    request
}
