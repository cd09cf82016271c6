//! What is told of single requests: a share of them as log lines, a share as traces.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use headwater_signature::{HEADER_ROUTE, Route, RouteTag};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tokio::sync::mpsc;

use crate::collector::Collector;
use crate::config::Config;
use crate::counters::Count;
use crate::error::RouterError;
use crate::trace_context::{SpanId, TRACEPARENT, TRACESTATE, TraceContext};

/// Records that wait to be written. What comes beyond is counted and dropped: telling must
/// never slow down serving.
const WAITING: usize = 4_096;

/// Longer paths are cut.
const LONGEST_PATH: usize = 128;

/// Decides what is told, and hands it to the thread that tells.
pub(crate) struct Telemetry {
    log_share: Share,
    trace_share: Option<Share>,
    dice: AtomicU64,
    sender: mpsc::Sender<Record>,
    receiver: Mutex<Option<mpsc::Receiver<Record>>>,
    /// Where traces go.
    pub(crate) collector: Option<Collector>,
    pub(crate) dropped: Arc<Count>,
}

/// A share of all numbers of 32 bits.
#[derive(Clone, Copy)]
struct Share(u64);

impl Share {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share is 0 to 1"
    )]
    fn of(share: f64) -> Self {
        Self((share * 4_294_967_296.0) as u64)
    }

    fn takes(self, number: u64) -> bool {
        number & 0xffff_ffff < self.0
    }
}

/// One request. No header's value, no key, nothing of a body.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) began: SystemTime,
    began_at: Instant,
    pub(crate) method: Method,
    /// Without its query.
    pub(crate) path: String,
    pub(crate) status: Option<StatusCode>,
    pub(crate) route: Option<Routed>,
    /// Until the first byte of the answer's body, which engines that stream send long after its
    /// head, and until its end.
    pub(crate) first_byte: Option<Duration>,
    pub(crate) total: Duration,
    pub(crate) ending: Ending,
    /// What the engine said that it had found in its cache.
    pub(crate) cached_tokens: Option<u32>,
    /// Whether it becomes a log line.
    pub(crate) log: Logged,
    pub(crate) trace: Option<Span>,
}

/// What the answer's `Prefix-Route` says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Routed {
    pub(crate) worker: RouteTag,
    pub(crate) matched_tokens: u32,
    pub(crate) reason: String,
}

/// How an answer ended, as far as this router can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All of it was handed on.
    Complete,
    /// The client left while it waited or read.
    ClientGone,
    /// The worker broke off after the answer had begun.
    WorkerCut,
    /// The router ended, and with it the time that streams may take to finish.
    RouterStopped,
}

impl Ending {
    /// The name in logs and traces.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientGone => "client_gone",
            Self::WorkerCut => "worker_cut",
            Self::RouterStopped => "router_stopped",
        }
    }
}

/// Whether a record becomes a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logged {
    Yes,
    No,
}

/// This router's part of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) context: TraceContext,
    pub(crate) parent: Option<SpanId>,
}

/// A record until its request ends; then it is handed over.
pub(crate) struct Telling {
    record: Option<Record>,
    sender: mpsc::Sender<Record>,
    dropped: Arc<Count>,
}

impl Telemetry {
    /// Nothing where nothing is to be told.
    pub(crate) fn of_config(config: &Config) -> Result<Option<Self>, RouterError> {
        let log_share = config.request_log.sample;
        let traces = config.traces.as_ref().filter(|t| t.endpoint.is_some());
        if log_share <= 0.0 && traces.is_none() {
            return Ok(None);
        }
        let collector = traces.map(Collector::of_config).transpose()?;
        let (sender, receiver) = mpsc::channel(WAITING);
        Ok(Some(Self {
            log_share: Share::of(log_share),
            trace_share: traces.map(|traces| Share::of(traces.sample)),
            dice: AtomicU64::new(RandomState::new().build_hasher().finish()),
            sender,
            receiver: Mutex::new(Some(receiver)),
            collector: collector.flatten(),
            dropped: Arc::default(),
        }))
    }

    /// The end where records come out; there is one.
    pub(crate) fn receiver(&self) -> Option<mpsc::Receiver<Record>> {
        let mut receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.take()
    }

    /// Begins to tell of a request, if it is one of the share. A traced request gets this
    /// router's span as its parent at the worker; others keep what they came with.
    pub(crate) fn begin<B>(&self, request: &mut Request<B>) -> Option<Telling> {
        let log = if self.log_share.takes(self.roll()) {
            Logged::Yes
        } else {
            Logged::No
        };
        let trace = self.trace(request.headers_mut());
        if log == Logged::No && trace.is_none() {
            return None;
        }
        let path: String = request.uri().path().chars().take(LONGEST_PATH).collect();
        let record = Record {
            began: SystemTime::now(),
            began_at: Instant::now(),
            method: request.method().clone(),
            path,
            status: None,
            route: None,
            first_byte: None,
            total: Duration::ZERO,
            // Unless told otherwise, nobody was there to read on.
            ending: Ending::ClientGone,
            cached_tokens: None,
            log,
            trace,
        };
        Some(Telling {
            record: Some(record),
            sender: self.sender.clone(),
            dropped: Arc::clone(&self.dropped),
        })
    }

    fn trace(&self, headers: &mut HeaderMap) -> Option<Span> {
        let share = self.trace_share?;
        let above = TraceContext::of_headers(headers);
        let sampled = match above {
            // Whoever began the trace has decided.
            Some(above) => above.sampled(),
            None => share.takes(self.roll()),
        };
        if !sampled {
            return None;
        }
        let (own, trace) = (self.roll(), (self.roll(), self.roll()));
        let context = TraceContext::below(above, trace, own);
        if above.is_none() {
            // It belonged to a trace that could not be read.
            headers.remove(TRACESTATE);
        }
        if let Ok(value) = HeaderValue::try_from(context.to_string()) {
            headers.insert(TRACEPARENT, value);
        }
        Some(Span {
            context,
            parent: above.map(|above| above.span),
        })
    }

    /// The next number of a sequence without a pattern (splitmix64).
    fn roll(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.dice.fetch_add(STEP, Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Telling {
    /// The head of the answer is there.
    pub(crate) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        let Some(record) = &mut self.record else {
            return;
        };
        record.status = Some(status);
        let route = headers.get(HEADER_ROUTE).map(HeaderValue::as_bytes);
        let route = route.and_then(|route| Route::parse(route).ok());
        record.route = route.map(|route| Routed {
            worker: route.worker,
            matched_tokens: route.matched_tokens,
            reason: route.reason.to_owned(),
        });
    }

    /// A worker gets the request.
    pub(crate) fn placed(&mut self, worker: RouteTag, matched_tokens: u32, reason: &str) {
        if let Some(record) = &mut self.record {
            record.route = Some(Routed {
                worker,
                matched_tokens,
                reason: reason.to_owned(),
            });
        }
    }

    /// Something of the answer's body is there, or its end.
    pub(crate) fn came(&mut self) {
        if let Some(record) = &mut self.record
            && record.first_byte.is_none()
        {
            record.first_byte = Some(record.began_at.elapsed());
        }
    }

    /// The answer is over.
    pub(crate) fn ended(&mut self, ending: Ending, cached_tokens: Option<u32>) {
        if let Some(record) = &mut self.record {
            record.ending = ending;
            record.cached_tokens = cached_tokens;
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.total = record.began_at.elapsed();
            if self.sender.try_send(record).is_err() {
                self.dropped.add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn telemetry(settings: &str) -> Telemetry {
        let yaml = format!("{{listen: 127.0.0.1:0, workers: [http://a:1], {settings}}}");
        Telemetry::of_config(&Config::parse(&yaml, "test").unwrap())
            .unwrap()
            .unwrap()
    }

    fn request(traceparent: Option<&str>) -> Request<()> {
        let mut request = Request::builder().uri("/v1/chat?secret=1");
        if let Some(value) = traceparent {
            request = request.header(TRACEPARENT, value);
        }
        request.body(()).unwrap()
    }

    const ABOVE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_share_is_told() {
        let telemetry = telemetry("request_log: {sample: 0.25}");
        let told = (0..10_000).filter(|_| telemetry.begin(&mut request(None)).is_some());
        let told = told.count();
        assert!((2_200..2_800).contains(&told), "{told}");
    }

    #[test]
    fn a_trace_goes_on_below_whoever_began_it() {
        let telemetry = telemetry("traces: {endpoint: 'http://127.0.0.1:1', sample: 0}");
        let mut sampled = request(Some(ABOVE));
        let mut telling = telemetry.begin(&mut sampled).unwrap();
        telling.answered(StatusCode::OK, &HeaderMap::new());
        drop(telling);
        let record = telemetry.receiver().unwrap().try_recv().unwrap();
        let span = record.trace.unwrap();
        let sent = sampled.headers()[TRACEPARENT].to_str().unwrap();
        assert_eq!(sent, span.context.to_string());
        assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
        assert!(!sent.contains("b7ad6b7169203331"));
        assert_eq!(span.parent.unwrap().to_string(), "b7ad6b7169203331");
        assert_eq!((record.path.as_str(), record.log), ("/v1/chat", Logged::No));

        // Not sampled above: not told, and passed on as it came.
        let unsampled = ABOVE.replace("-01", "-00");
        let mut request_2 = request(Some(&unsampled));
        assert!(telemetry.begin(&mut request_2).is_none());
        assert_eq!(request_2.headers()[TRACEPARENT], unsampled.as_str());
        assert!(telemetry.begin(&mut request(None)).is_none());
    }

    #[test]
    fn what_is_too_much_is_dropped_and_counted() {
        let telemetry = telemetry("request_log: {sample: 1}");
        for _ in 0..WAITING + 3 {
            drop(telemetry.begin(&mut request(None)));
        }
        assert_eq!(telemetry.dropped.get(), 3);
    }
}
