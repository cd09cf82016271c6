//! A request's body on its way to a worker, with as much of it kept as a retry may need.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::HeaderMap;

use crate::fault::Fault;

/// The body as the client sends it; attempts to deliver it are made of it.
#[derive(Clone)]
pub(crate) struct Upload(Rc<RefCell<Source>>);

/// One attempt to deliver the body: what is kept from the start, then what still comes.
pub(crate) struct Attempt {
    source: Rc<RefCell<Source>>,
    next: usize,
}

struct Source {
    incoming: Incoming,
    kept: Vec<Bytes>,
    kept_bytes: usize,
    most_kept: usize,
    /// Trailers that came while only the head of the body was wanted.
    trailers: Option<HeaderMap>,
    /// Something was passed on that is not kept: this was the last attempt.
    lost: bool,
    ended: bool,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, most_kept: usize) -> Self {
        Self(Rc::new(RefCell::new(Source {
            incoming,
            kept: Vec::new(),
            kept_bytes: 0,
            most_kept,
            trailers: None,
            lost: false,
            ended: false,
        })))
    }

    /// Reads until `bytes` have come or the body ends, and shows them without consuming any.
    pub(crate) async fn head<T>(
        &self,
        bytes: usize,
        show: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        poll_fn(|cx| self.0.borrow_mut().poll_head(cx, bytes))
            .await
            .map_err(|_| Fault::ClientBody)?;
        let source = self.0.borrow();
        Ok(match source.kept.as_slice() {
            [one] => show(one),
            parts => show(&parts.concat()),
        })
    }

    pub(crate) fn attempt(&self) -> Attempt {
        Attempt {
            source: Rc::clone(&self.0),
            next: 0,
        }
    }

    /// Whether another attempt would deliver the same bytes.
    pub(crate) fn can_repeat(&self) -> bool {
        !self.0.borrow().lost
    }

    /// Whether the client has sent all of it.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.borrow().is_complete()
    }
}

impl Source {
    fn is_complete(&self) -> bool {
        self.ended || self.incoming.is_end_stream()
    }

    fn poll_head(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<Result<(), hyper::Error>> {
        while self.kept_bytes < bytes && !self.is_complete() {
            match ready!(Pin::new(&mut self.incoming).poll_frame(cx)).transpose()? {
                Some(frame) => match frame.into_data() {
                    Ok(data) => self.keep(data),
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
                None => self.ended = true,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn keep(&mut self, data: Bytes) {
        self.kept_bytes += data.len();
        self.kept.push(data);
    }

    /// Notes what goes by; gives whether it is kept.
    fn pass(&mut self, frame: &Frame<Bytes>) -> Kept {
        match frame.data_ref() {
            Some(data) if !self.lost && self.kept_bytes + data.len() <= self.most_kept => {
                self.keep(data.clone());
                Kept::Yes
            }
            _ => {
                self.lost = true;
                self.kept = Vec::new();
                Kept::No
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

impl Body for Attempt {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let mut source = this.source.borrow_mut();
        if let Some(data) = source.kept.get(this.next) {
            this.next += 1;
            return Poll::Ready(Some(Ok(Frame::data(data.clone()))));
        }
        if let Some(trailers) = source.trailers.take() {
            source.lost = true;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        if source.ended {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut source.incoming).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) if source.pass(frame) == Kept::Yes => this.next += 1,
            Some(_) => {}
            None => source.ended = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let source = self.source.borrow();
        source.kept.len() <= self.next && source.trailers.is_none() && source.is_complete()
    }

    fn size_hint(&self) -> SizeHint {
        let source = self.source.borrow();
        let unsent: usize = source.kept.iter().skip(self.next).map(Bytes::len).sum();
        match source.incoming.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + unsent as u64),
            None => SizeHint::default(),
        }
    }
}
