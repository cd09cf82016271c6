//! An answer's body on its way to the client, with what must end when it ends.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

use crate::answer_body::AnswerBody;
use crate::breaker::Verdict;
use crate::client::Turn;
use crate::endpoint::Endpoint;
use crate::exchange::Cut;
use crate::inflight::InFlight;
use crate::pool::Pool;
use crate::shared::Shared;
use crate::silence::Silence;
use crate::telemetry::Ending;
use crate::usage::UsageTail;

/// The body of what a client gets.
pub(crate) struct Download {
    from: From,
    /// The client's turn lasts until its answer is through.
    turn: Turn,
}

enum From {
    Worker(Box<Relay>),
    Router(Full<Bytes>),
}

/// A worker's answer as it comes.
pub(crate) struct Relay {
    /// Nothing once it has come to its end, or was cut.
    pub(crate) body: Option<AnswerBody>,
    pub(crate) cut: Option<Cut>,
    /// Whether it began before the worker had all of the request.
    pub(crate) is_early: bool,
    pub(crate) silence: Silence,
    pub(crate) answer: Answer,
    pub(crate) cached_tokens: Option<u32>,
    /// Of an answer that may say what was cached, its end.
    pub(crate) tail: Option<Box<Tail>>,
    pub(crate) guard: InFlight,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Rc<Pool>,
}

/// What is kept of an answer to learn what its engine had cached.
pub(crate) struct Tail {
    usage: UsageTail,
    /// Tokens that the worker was believed to hold.
    expected_tokens: u32,
}

impl Tail {
    pub(crate) fn new(expected_tokens: u32) -> Box<Self> {
        Box::new(Self {
            usage: UsageTail::default(),
            expected_tokens,
        })
    }
}

/// Whether the worker answered the prompt or refused it, which leaves nothing in its cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Given,
    Refused,
}

impl Download {
    pub(crate) fn of_worker(relay: Box<Relay>, turn: Turn) -> Self {
        Self {
            from: From::Worker(relay),
            turn,
        }
    }

    pub(crate) fn of_router(text: Bytes, turn: Turn) -> Self {
        Self {
            from: From::Router(Full::new(text)),
            turn,
        }
    }
}

impl Relay {
    fn first_byte(&mut self) {
        if self.answer == Answer::Given {
            self.guard.first_byte();
        }
    }

    /// Nobody will poll again. A body without content never was.
    fn close(&mut self) {
        if self.is_end_stream() {
            self.end();
        }
    }

    /// How it ended, or did until now.
    fn ending(&self) -> Ending {
        match self.cut {
            Some(Cut::ByWorker | Cut::Silent) => Ending::WorkerCut,
            None if self.body.is_none() => Ending::Complete,
            None if self.shared.is_over() => Ending::RouterStopped,
            Some(_) | None => Ending::ClientGone,
        }
    }

    /// All of it has come: the request is over and its connection free.
    fn end(&mut self) {
        let Some(body) = self.body.take() else {
            return;
        };
        self.learn_cached();
        match self.answer {
            Answer::Given => {
                self.guard.finish();
                if self.endpoint.ended_well() {
                    self.shared.learn(&self.endpoint, Verdict::Well, "served");
                }
            }
            Answer::Refused => self.guard.fail(),
        }
        if let Some(channel) = body.into_channel() {
            self.pool.put(&self.endpoint, channel);
        }
    }

    fn learn_cached(&mut self) {
        let Some(tail) = self.tail.take() else {
            return;
        };
        self.first_byte();
        if let Some(tokens) = tail.usage.cached_tokens() {
            self.guard.cached(tokens);
            self.cached_tokens = Some(tokens);
            let counters = &self.shared.counters;
            counters.cache_reports.add(1);
            counters.cache_reported_tokens.add(tokens.into());
            let expected = tail.expected_tokens;
            counters.cache_expected_tokens.add(expected.into());
        }
    }

    /// It broke off: the client must see that the answer is not whole.
    fn break_off(&mut self, cut: Cut) {
        self.body = None;
        self.cut = Some(cut);
        self.guard.fail();
        let cause = match cut {
            Cut::ByWorker => "cut_short",
            Cut::Silent => "silent",
            Cut::ByClient => return,
        };
        self.shared.counters.upstream_errors.add(cause);
        self.endpoint.cut();
        self.shared.learn(&self.endpoint, Verdict::Failed, cause);
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(self.cut.map(Err));
        };
        let mut polled = body.poll_frame(cx);
        if polled.is_ready() {
            self.silence.ends();
        } else if self.silence.is_over(cx) {
            polled = Poll::Ready(Some(Err(Cut::Silent)));
        }
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) => {
                self.endpoint.lives();
                let ended = body.is_end_stream();
                if let Some(tail) = &mut self.tail
                    && let Some(data) = frame.data_ref()
                {
                    tail.usage.push(data);
                }
                if ended {
                    self.end();
                } else {
                    self.first_byte();
                }
            }
            Poll::Ready(Some(Err(cut))) => {
                self.break_off(*cut);
                // Told at once, it would take what came before with it, even the head.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(None) => self.end(),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let ended = self.body.as_ref().is_none_or(AnswerBody::is_end_stream);
        ended && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(SizeHint::new, AnswerBody::size_hint)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.close();
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        let Some(telling) = &mut self.turn.telling else {
            return;
        };
        let (ending, cached_tokens) = match &mut self.from {
            From::Worker(relay) => {
                relay.close();
                (relay.ending(), relay.cached_tokens)
            }
            From::Router(text) if text.is_end_stream() => (Ending::Complete, None),
            From::Router(_) => (Ending::ClientGone, None),
        };
        if ending == Ending::Complete {
            // One without a body begins with its end.
            telling.came();
        }
        telling.ended(ending, cached_tokens);
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let polled = match &mut self.from {
            From::Worker(relay) => relay.poll_frame(cx),
            From::Router(text) => Pin::new(text)
                .poll_frame(cx)
                .map_err(|never| match never {}),
        };
        if polled.is_ready()
            && let Some(telling) = &mut self.turn.telling
        {
            telling.came();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.from {
            From::Worker(relay) => relay.is_end_stream(),
            From::Router(text) => text.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.from {
            From::Worker(relay) => relay.size_hint(),
            From::Router(text) => text.size_hint(),
        }
    }
}
