//! The body of a worker's answer, whatever the worker speaks.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::channel::{Channel, Share};
use crate::exchange::{Cut, Exchange};
use crate::trailers;
use crate::upload::Upload;

/// What still comes of an answer, and the connection that it comes on.
pub(crate) enum AnswerBody {
    Http1(Box<Exchange>),
    Http2(Box<(Incoming, Share, Upload)>),
}

impl AnswerBody {
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self {
            Self::Http1(exchange) => exchange.poll_frame(cx),
            Self::Http2(parts) => {
                let polled = Pin::new(&mut parts.0).poll_frame(cx);
                polled.map(|frame| match frame? {
                    Ok(frame) => Some(Ok(trailers::stripped(frame))),
                    // The stream ends with the body that was sent in it.
                    Err(_) if parts.2.is_broken() => Some(Err(Cut::ByClient)),
                    Err(_) => Some(Err(Cut::ByWorker)),
                })
            }
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(exchange) => exchange.is_end_stream(),
            Self::Http2(parts) => parts.0.is_end_stream(),
        }
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(exchange) => exchange.size_hint(),
            Self::Http2(parts) => parts.0.size_hint(),
        }
    }

    /// The connection, if it can carry another request: not while the client still sends.
    pub(crate) fn into_channel(self) -> Option<Channel> {
        match self {
            Self::Http1(exchange) => exchange.into_line().map(Channel::Http1),
            Self::Http2(parts) => {
                let (_, share, upload) = *parts;
                upload.is_complete().then_some(Channel::Http2(share))
            }
        }
    }
}
