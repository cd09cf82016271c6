//! What the admin port answers: text, JSON, errors as JSON, or a stream of events.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json";
pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) type Answer = Response<AdminBody>;

/// A text that is whole, or events as they come.
pub(crate) enum AdminBody {
    Whole(Option<Bytes>),
    Events(mpsc::Receiver<Bytes>),
}

impl Body for AdminBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Events(events) => {
                let next = events.poll_recv(cx);
                next.map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => {
                let length = text.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

pub(crate) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    of_body(status, kind, AdminBody::Whole(Some(text.into())))
}

pub(crate) fn of_body(status: StatusCode, kind: &'static str, body: AdminBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let json = serde_json::to_string_pretty(value).unwrap_or_else(|_| "{}".to_owned());
    text(status, JSON, json + "\n")
}

/// What an operator asked for and cannot have: what is wrong, and what to do.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            status,
            code,
            message,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn no_such_worker() -> Self {
        let hint = "there is no worker of that name; `GET /state` lists them";
        Self::new(StatusCode::NOT_FOUND, "no_such_worker", hint)
    }

    pub(crate) fn into_answer(self) -> Answer {
        let error = serde_json::json!({"error": {
            "message": self.message,
            "type": "admin_error",
            "param": null,
            "code": self.code,
        }});
        json(self.status, &error)
    }
}
