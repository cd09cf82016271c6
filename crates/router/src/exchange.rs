//! One request on a worker's connection and its answer, driven by whoever waits for them: no
//! task of its own, no channel, and no buffer while nothing comes.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::Method;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::HeaderMap;
use hyper::http::response;

use crate::answer_head::{self, Afterwards, AnswerHead, Framing, Garbled};
use crate::chunks::{self, Chunks};
use crate::come;
use crate::line::Line;
use crate::request_head::Sent;
use crate::upload::{Attempt, Broken};

/// A request that is being sent, and an answer that is being read.
pub(crate) struct Exchange {
    line: Line,
    method: Method,
    sending: Sending,
    gathering: Gathering,
    receiving: Receiving,
    afterwards: Afterwards,
}

/// Why there is no head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection ended.
    Ended,
    /// What came is no answer.
    Garbled,
    /// The request's body could not be had.
    Body,
}

/// Why an answer is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    ByWorker,
    /// The worker said nothing for too long.
    Silent,
    /// The request's body broke off while the answer was on its way.
    ByClient,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByWorker => "the worker broke off its answer",
            Self::Silent => "the worker fell silent in the midst of its answer",
            Self::ByClient => "the client broke off its request",
        })
    }
}

impl Error for Cut {}

enum Sending {
    Body(Attempt, Sent),
    /// Nothing is left to be had, but maybe to be written.
    Rest,
    Done,
    /// The worker takes no more; it may still say why.
    Refused,
}

/// Whether what there is of a body waits for a moment for what else has come already: the engine
/// towards the client hands over one read at a time, and each write costs more than that.
#[derive(PartialEq, Eq)]
enum Gathering {
    Begins,
    Waited,
}

enum Receiving {
    Head,
    Length(u64),
    Chunked(Chunks),
    UntilClose,
    Ended,
}

impl Exchange {
    /// Begins with a head that is written and a body that is sent as the head says.
    pub(crate) fn new(
        mut line: Line,
        method: Method,
        head: Bytes,
        body: Attempt,
        sent: Sent,
    ) -> Self {
        line.push(head);
        Self {
            line,
            method,
            sending: match sent {
                Sent::Nothing => Sending::Rest,
                Sent::Length(_) | Sent::Chunked => Sending::Body(body, sent),
            },
            gathering: Gathering::Begins,
            receiving: Receiving::Head,
            afterwards: Afterwards::Closes,
        }
    }

    /// Sends on, and waits for the head of the answer.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<response::Parts, Failure>> {
        let sent = self.poll_send(cx);
        if let Poll::Ready(Err(BodyFailed)) = sent {
            return Poll::Ready(Err(Failure::Body));
        }
        loop {
            if !self.line.come.is_empty()
                && let Some(head) = answer_head::take(&mut self.line.come, &self.method)
                    .map_err(|Garbled| Failure::Garbled)?
            {
                return Poll::Ready(Ok(self.begin(head)));
            }
            match ready!(self.line.poll_read(cx)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(Failure::Ended)),
                Ok(_) => {}
            }
        }
    }

    fn begin(&mut self, head: AnswerHead) -> response::Parts {
        self.afterwards = head.afterwards;
        self.receiving = match head.framing {
            Framing::Length(0) => Receiving::Ended,
            Framing::Length(length) => Receiving::Length(length),
            Framing::Chunked => Receiving::Chunked(Chunks::new()),
            Framing::UntilClose => Receiving::UntilClose,
        };
        head.parts
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyFailed>> {
        loop {
            let mut waits_for_body = false;
            while let Sending::Body(body, sent) = &mut self.sending
                && self.line.has_room()
            {
                match next_piece(body, sent, &mut self.line, cx) {
                    Poll::Ready(Ok(More::Maybe)) => {}
                    Poll::Ready(Ok(More::No)) => self.sending = Sending::Rest,
                    Poll::Ready(Ok(More::Elsewhere)) => self.sending = Sending::Refused,
                    Poll::Ready(Err(failed)) => return Poll::Ready(Err(failed)),
                    Poll::Pending => {
                        waits_for_body = true;
                        break;
                    }
                }
            }
            if waits_for_body && self.gathering == Gathering::Begins && self.line.is_waiting() {
                self.gathering = Gathering::Waited;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.gathering = Gathering::Begins;
            if matches!(self.sending, Sending::Done | Sending::Refused) {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.line.poll_write(cx)).is_err() {
                self.sending = Sending::Refused;
            } else if matches!(self.sending, Sending::Rest) {
                self.sending = Sending::Done;
            } else if waits_for_body {
                return Poll::Pending;
            }
        }
    }

    /// The next piece of the answer's body.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Poll::Ready(Err(BodyFailed)) = self.poll_send(cx) {
            return Poll::Ready(Some(Err(Cut::ByClient)));
        }
        loop {
            match self.next_frame() {
                Ok(Next::Frame(frame)) => return Poll::Ready(Some(Ok(frame))),
                Ok(Next::Ended) => return Poll::Ready(None),
                Ok(Next::Later) => {}
                Err(cut) => return Poll::Ready(Some(Err(cut))),
            }
            let read = ready!(self.line.poll_read(cx));
            if matches!(read, Ok(0)) && matches!(self.receiving, Receiving::UntilClose) {
                self.receiving = Receiving::Ended;
            } else if !matches!(read, Ok(1..)) {
                return Poll::Ready(Some(Err(Cut::ByWorker)));
            }
        }
    }

    /// What can be made of what came.
    fn next_frame(&mut self) -> Result<Next, Cut> {
        let come = &mut self.line.come;
        let piece = match &mut self.receiving {
            Receiving::Head | Receiving::Ended => return Ok(Next::Ended),
            Receiving::UntilClose => come::take(come, usize::MAX),
            Receiving::Length(left) => {
                let piece = come::take(come, usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= piece.len() as u64;
                if *left == 0 {
                    self.receiving = Receiving::Ended;
                }
                piece
            }
            Receiving::Chunked(chunks) => {
                let next = chunks.next(come).map_err(|_| Cut::ByWorker)?;
                // The end has often come together with the last data. What is wrong behind data is
                // told after it.
                let _later = chunks.skip_frame(come);
                let ended = chunks.is_ended();
                if let Some(piece) = next {
                    if ended && !chunks.has_trailers() {
                        self.receiving = Receiving::Ended;
                    }
                    piece
                } else if ended {
                    let trailers = chunks.trailers().map_err(|_| Cut::ByWorker)?;
                    self.receiving = Receiving::Ended;
                    return Ok(match trailers {
                        Some(trailers) => Next::Frame(Frame::trailers(trailers)),
                        None => Next::Ended,
                    });
                } else {
                    return Ok(Next::Later);
                }
            }
        };
        Ok(if piece.is_empty() {
            Next::Later
        } else {
            Next::Frame(Frame::data(piece))
        })
    }

    /// Whether the answer has no more to give.
    pub(crate) fn is_end_stream(&self) -> bool {
        matches!(self.receiving, Receiving::Ended)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self.receiving {
            Receiving::Length(left) => SizeHint::with_exact(left),
            Receiving::Ended => SizeHint::with_exact(0),
            Receiving::Head | Receiving::Chunked(_) | Receiving::UntilClose => SizeHint::default(),
        }
    }

    /// The connection, if it can carry another request.
    pub(crate) fn into_line(self) -> Option<Line> {
        let done = matches!(self.sending, Sending::Done) && self.is_end_stream();
        let keeps = done && self.afterwards == Afterwards::Keeps;
        (keeps && self.line.come.is_empty()).then_some(self.line)
    }
}

struct BodyFailed;

enum More {
    Maybe,
    No,
    /// Less came than was announced, as it goes to another worker by now: this connection waits
    /// for the rest, and must carry nothing else.
    Elsewhere,
}

enum Next {
    Frame(Frame<Bytes>),
    /// When more has come.
    Later,
    Ended,
}

/// Takes a piece of the request's body to the connection.
fn next_piece(
    body: &mut Attempt,
    sent: &mut Sent,
    line: &mut Line,
    cx: &mut Context<'_>,
) -> Poll<Result<More, BodyFailed>> {
    let chunked = *sent == Sent::Chunked;
    let trailers = match ready!(Pin::new(&mut *body).poll_frame(cx)) {
        Some(Err(Broken::Elsewhere)) => return Poll::Ready(Ok(More::Elsewhere)),
        Some(Err(_)) => return Poll::Ready(Err(BodyFailed)),
        Some(Ok(frame)) => match frame.into_data() {
            Ok(data) => {
                if let Sent::Length(left) = sent {
                    let Some(rest) = left.checked_sub(data.len() as u64) else {
                        return Poll::Ready(Err(BodyFailed));
                    };
                    *left = rest;
                }
                if chunked && data.has_remaining() {
                    line.push(chunks::frame(data.len()));
                    line.push(data);
                    line.push(chunks::FRAME_END);
                } else {
                    line.push(data);
                }
                if !body.is_end_stream() {
                    return Poll::Ready(Ok(More::Maybe));
                }
                HeaderMap::new()
            }
            Err(frame) => frame.into_trailers().unwrap_or_default(),
        },
        None => HeaderMap::new(),
    };
    if chunked {
        line.push(chunks::last(&trailers));
    }
    Poll::Ready(match sent {
        Sent::Length(1..) => Err(BodyFailed),
        Sent::Length(0) | Sent::Nothing | Sent::Chunked => Ok(More::No),
    })
}
