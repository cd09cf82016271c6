//! One request from its head to the head of its answer: key, decision, exchange, retry.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use headwater_placement::{self as placement, WorkerId};
use headwater_signature::{HEADER_ROUTE, Route};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::http::{request, response};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::answer;
use crate::answer_body::AnswerBody;
use crate::breaker::Verdict;
use crate::channel::{Channel, Connection};
use crate::client::Turn;
use crate::config::BodyKey;
use crate::config_failure::On429;
use crate::endpoint::Endpoint;
use crate::fault::{Again, Fault};
use crate::head_scan::Head;
use crate::headers::{self, Expects};
use crate::inflight::InFlight;
use crate::key::{BODY_KEY_BYTES, Key};
use crate::load_header::{self, Asked};
use crate::member::{Health, Process};
use crate::model_pool::PoolId;
use crate::pool::Pool;
use crate::relay::{Answer, Download, Relay, Tail};
use crate::roster::Placed;
use crate::shared::{Place, Shared};
use crate::silence::Silence;
use crate::upload::{Upload, UploadLimits};

const ROUTE: HeaderName = HeaderName::from_static(HEADER_ROUTE);

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// What one thread needs to serve requests.
pub(crate) struct Proxy {
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Rc<Pool>,
    /// Tells the thread that a request is held.
    pub(crate) somebody_waits: Notify,
    /// Tells those who wait for an answer that a worker was found to be down.
    pub(crate) worker_lost: Notify,
    /// Tells those of them whom no other worker could get to look for one again.
    pub(crate) look_again: Notify,
}

/// A worker's answer: its head, and the body on its way.
type Answered = (response::Parts, Box<Relay>);

/// A request as workers get it, as often as it takes.
struct Outgoing {
    head: request::Parts,
    upload: Upload,
    /// Whether workers are asked for their load, and by whom.
    asked: Option<Asked>,
}

/// How one worker took a request.
enum Outcome {
    Answered(Answered),
    /// With an answer that is worth a try elsewhere, and its name as a cause.
    Declined(Answered, &'static str),
    Failed(Fault),
}

impl Proxy {
    /// Answers one request, by a worker if any can.
    pub(crate) async fn serve(
        &self,
        mut turn: Turn,
        mut request: Request<Incoming>,
    ) -> Response<Download> {
        let counters = &self.shared.counters;
        counters.requests.add(1);
        self.shared.budget.earn();
        // Looked at before a trace adds a header of ours.
        let fits = headers::refuse_many(request.headers());
        if let Some(telemetry) = &self.shared.telemetry {
            turn.telling = telemetry.begin(&mut request).map(Box::new);
        }
        let is_http1 = request.version() != Version::HTTP_2;
        let (head, body) = request.into_parts();
        let upload = Upload::new(body, self.upload_limits());
        // The engine closes the connection behind an answer to less than a whole request. The
        // client is told, and may say all that it has to say before.
        let answered = match fits {
            Ok(()) => self.forward(&mut turn, head, &upload).await,
            Err(fault) => Err(fault),
        };
        let (head, body) = match answered {
            Ok((mut head, relay)) => {
                if relay.is_early && is_http1 {
                    head.headers.insert(CONNECTION, CLOSE);
                    turn.refused();
                }
                turn.answered(&head);
                (head, Download::of_worker(relay, turn))
            }
            Err(fault) => {
                counters.refused.add(fault.as_str());
                turn.refused();
                let (response, text) = answer::of_fault(fault);
                let mut head = response.into_parts().0;
                if is_http1 && !upload.throw_away().await {
                    head.headers.insert(CONNECTION, CLOSE);
                }
                turn.answered(&head);
                (head, Download::of_router(text, turn))
            }
        };
        counters.response(head.status);
        Response::from_parts(head, body)
    }

    async fn forward(
        &self,
        turn: &mut Turn,
        mut head: request::Parts,
        upload: &Upload,
    ) -> Result<Answered, Fault> {
        let expects = headers::take_expect(&mut head.headers);
        if expects == Expects::ToGoOn {
            upload.waits_for_word();
        }
        refuse(turn.head(), &head)?;
        upload.refuse_announced()?;
        if expects == Expects::Else {
            return Err(Fault::Expectation);
        }
        // The engine says 100 when the body is read in HTTP/1.1 only.
        let may_wait = head.version == Version::HTTP_2 && expects == Expects::ToGoOn;
        let length = upload.length();
        if may_wait {
            begun(upload).await?;
        }
        let mut key = self.key(&head, upload).await?;
        key.body_bytes = length;
        let pool = self.shared.pool_of(&head).ok_or(Fault::NoPool)?;
        make_outgoing(turn.head(), &mut head);
        let asks = self.shared.config.metrics.response_header;
        let asked = asks.then(|| load_header::ask(&mut head.headers));
        let outgoing = Outgoing {
            head,
            upload: upload.clone(),
            asked,
        };

        let mut tried: Vec<WorkerId> = Vec::new();
        // What the client gets if no further worker does better: a worker's own refusal rather
        // than our words about a failure.
        let mut fallback: Option<Result<Answered, Fault>> = None;
        // Why there is a further try. It counts once there is a worker for it.
        let mut cause = None;
        loop {
            let request = key.request(&tried);
            let found = self.place(pool, &request, &outgoing.upload).await;
            if let Some(cause) = cause {
                match found {
                    Ok(_) => self.shared.counters.retries.add(cause),
                    Err(_) => self.shared.budget.give_back(),
                }
            }
            let (placed, guard) = match found {
                Ok(found) => found,
                Err(Fault::NoWorker(why)) => return fallback.unwrap_or(Err(Fault::NoWorker(why))),
                Err(fault) => return Err(fault),
            };
            self.shared.placed(&placed, &request);
            if let Some(telling) = &mut turn.telling {
                telling.placed(placed.tag, placed.matched_tokens, placed.reason.as_str());
            }
            cause = Some(match self.attempt(&placed, guard, &outgoing).await {
                Outcome::Answered(answered) => return Ok(answered),
                Outcome::Declined(answered, cause) => {
                    fallback = Some(Ok(answered));
                    cause
                }
                Outcome::Failed(fault) if fault.again() == Again::Never => return Err(fault),
                Outcome::Failed(fault) => {
                    fallback.get_or_insert(Err(fault));
                    fault.as_str()
                }
            });
            tried.push(placed.endpoint.id);
            if !self.may_retry(pool, &tried, &outgoing.upload) {
                return fallback.unwrap_or(Err(Fault::Closed));
            }
        }
    }

    /// Finds a worker, and waits for it if that is better than to queue at its engine.
    async fn place(
        &self,
        pool: PoolId,
        request: &placement::Request<'_>,
        upload: &Upload,
    ) -> Result<(Placed, InFlight), Fault> {
        let mut held = match self.shared.place(pool, request).map_err(Fault::NoWorker)? {
            Place::Now(placed, guard) => return Ok((placed, guard)),
            Place::Later(held) => held,
        };
        self.somebody_waits.notify_one();
        Box::pin(async move {
            tokio::select! {
                found = held.turn() => found.map_err(Fault::NoWorker),
                fault = upload.read_ahead(&self.shared.held_room) => Err(fault),
            }
        })
        .await
    }

    /// Tries one worker.
    async fn attempt(&self, placed: &Placed, mut guard: InFlight, outgoing: &Outgoing) -> Outcome {
        let endpoint = &placed.endpoint;
        let (head, body) = match self.exchange(endpoint, outgoing).await {
            Ok(answer) => answer,
            Err(fault) => {
                guard.fail();
                self.note(endpoint, fault);
                return Outcome::Failed(fault);
            }
        };
        self.learn(endpoint, verdict_of(head.status), "status_5xx");
        if has_enough(head.status) && !endpoint.press(true) {
            self.shared.press(endpoint, retry_after(&head.headers));
        }
        let cause = self.retry_status(head.status);
        if cause.is_some() {
            // Its place is free from now on, even if nobody else takes the request.
            guard.fail();
        }
        let relay = Box::new(Relay {
            tail: self.tail_of(&head, placed),
            body: Some(body),
            cut: None,
            cached_tokens: None,
            is_early: !outgoing.upload.is_complete(),
            silence: self.silence(),
            answer: answer_of(head.status),
            guard,
            endpoint: Arc::clone(endpoint),
            shared: Arc::clone(&self.shared),
            pool: Rc::clone(&self.pool),
        });
        let answered = (make_answer(head, placed), relay);
        match cause {
            None => {
                outgoing.upload.forget();
                Outcome::Answered(answered)
            }
            Some(cause) => Outcome::Declined(answered, cause),
        }
    }

    /// Where an answer's end is kept, if it may say what its engine had cached.
    fn tail_of(&self, head: &response::Parts, placed: &Placed) -> Option<Box<Tail>> {
        let wanted = self.shared.config.metrics.cached_tokens && head.status.is_success();
        (wanted && headers::may_tell_usage(&head.headers)).then(|| Tail::new(placed.matched_tokens))
    }

    /// What a request is known by.
    async fn key(&self, head: &request::Parts, upload: &Upload) -> Result<Key, Fault> {
        let shared = &self.shared;
        let mut key = Key::of_headers(&head.headers, &shared.session_headers, &shared.counters);
        if key.is_missing() && shared.config.body_key == BodyKey::Head {
            upload
                .head(BODY_KEY_BYTES, |bytes| key.set_body(bytes))
                .await?;
        }
        shared.counters.keyed_by(key.source());
        Ok(key)
    }

    /// Sends the request to a worker and waits for the head of its answer.
    async fn exchange(
        &self,
        endpoint: &Endpoint,
        outgoing: &Outgoing,
    ) -> Result<(response::Parts, AnswerBody), Fault> {
        if let Some(channel) = self.pool.take(endpoint).await {
            let sent = self
                .send(channel, Connection::Kept, endpoint, outgoing)
                .await;
            match sent {
                Err(fault) if fault.again() == Again::Here && outgoing.upload.can_repeat() => {
                    self.shared.counters.retries.add(fault.as_str());
                }
                sent => return sent,
            }
        }
        self.shared.counters.upstream_connects.add(1);
        // Boxed, as it is rare and large.
        let channel = Box::pin(self.pool.connect(endpoint)).await?;
        self.send(channel, Connection::Fresh, endpoint, outgoing)
            .await
    }

    async fn send(
        &self,
        channel: Channel,
        connection: Connection,
        endpoint: &Endpoint,
        outgoing: &Outgoing,
    ) -> Result<(response::Parts, AnswerBody), Fault> {
        let line = channel.shared_line();
        let sent = channel.send(&outgoing.head, &outgoing.upload, endpoint, connection);
        let answer = self.unless_lost(endpoint, &outgoing.upload, sent);
        let answer = self.in_time(&outgoing.upload, answer).await;
        let answer = answer.and_then(|answer| answer).and_then(|answer| answer);
        if matches!(answer, Err(Fault::Late | Fault::Lost))
            && let Some(line) = &line
        {
            // Whoever comes next should not wait in the same connection.
            self.pool.discard(endpoint, line);
        }
        let (mut head, body) = answer?;
        endpoint.lives();
        if let Some(asked) = outgoing.asked
            && let Some(load) = load_header::take(&mut head.headers, asked)
        {
            self.shared.told_load(endpoint, load);
        }
        Ok((head, body))
    }

    /// Waits for the head of an answer, for as long as is allowed. The time begins anew as long as
    /// the client owes a part of its body: that is not the worker's fault.
    async fn in_time<T>(
        &self,
        upload: &Upload,
        answer: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        let Some(ms) = self.shared.config.retry.first_byte_ms else {
            return Ok(answer.await);
        };
        let mut answer = pin!(answer);
        loop {
            let had_all = upload.is_complete();
            match timeout(Duration::from_millis(ms), &mut answer).await {
                Ok(answer) => return Ok(answer),
                Err(_) if !had_all => {}
                Err(_) => return Err(Fault::Late),
            }
        }
    }

    /// Waits for the head of an answer, unless its worker is found to be down and another one
    /// could get the request: at once, or as soon as there is one.
    async fn unless_lost<T>(
        &self,
        endpoint: &Endpoint,
        upload: &Upload,
        answer: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        let mut answer = pin!(answer);
        let mut news = &self.worker_lost;
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer),
                () = news.notified() => {}
            }
            news = &self.worker_lost;
            if endpoint.is_down() && upload.can_repeat() {
                if self.shared.roster(endpoint.pool).has_other_than(endpoint) {
                    return Err(Fault::Lost);
                }
                news = &self.look_again;
            }
        }
    }

    fn silence(&self) -> Silence {
        let limit = self.shared.config.health.silence_seconds;
        Silence::new(limit.map(Duration::from_secs))
    }

    fn upload_limits(&self) -> UploadLimits {
        let config = &self.shared.config;
        UploadLimits {
            kept_bytes: config.retry.replay_bytes,
            bytes: config.limits.body_bytes,
            stall: config.limits.stall_seconds.map(Duration::from_secs),
        }
    }

    /// Why an answer is worth a try elsewhere, if it is. None of these is a sign of ill health:
    /// they are how a worker says that it has enough.
    fn retry_status(&self, status: StatusCode) -> Option<&'static str> {
        match status {
            StatusCode::BAD_GATEWAY => Some("status_502"),
            StatusCode::SERVICE_UNAVAILABLE => Some("status_503"),
            StatusCode::TOO_MANY_REQUESTS
                if self.shared.config.retry.on_429 == On429::Elsewhere =>
            {
                Some("status_429")
            }
            _ => None,
        }
    }

    /// Takes a retry from the budget, if one is left for this request.
    fn may_retry(&self, pool: PoolId, tried: &[WorkerId], upload: &Upload) -> bool {
        if tried.len() > self.shared.config.retry.max as usize || !upload.can_repeat() {
            return false;
        }
        if self.shared.budget.spend() {
            return true;
        }
        // Where nobody is left it is not the budget that forbids it.
        if self.shared.roster(pool).has_other_than_these(tried) {
            self.shared.counters.retries_denied.add(1);
        }
        false
    }

    fn note(&self, endpoint: &Endpoint, fault: Fault) {
        self.shared.counters.upstream_errors.add(fault.as_str());
        match fault {
            // Nobody listens there: the process is gone, and asking again changes nothing.
            Fault::Refused => {
                let why = fault.as_str();
                self.shared
                    .set_health(endpoint, Health::Down, Process::Gone, why);
            }
            Fault::Unreachable | Fault::Closed | Fault::Garbled | Fault::Late => {
                self.learn(endpoint, Verdict::Failed, fault.as_str());
            }
            _ => self.learn(endpoint, Verdict::Nothing, fault.as_str()),
        }
    }

    /// Tells the worker's breaker, at the least cost where all goes well.
    fn learn(&self, endpoint: &Endpoint, verdict: Verdict, why: &'static str) {
        let matters = match verdict {
            Verdict::Well => endpoint.began_well(),
            Verdict::Nothing => endpoint.is_suspected(),
            Verdict::Failed => true,
        };
        if matters {
            self.shared.learn(endpoint, verdict, why);
        }
    }
}

/// Refuses a request whose client waits to be told that its body may come, which cannot be said to
/// it. Most such clients wait for a second and send it then; those that wait on would do so for ever.
async fn begun(upload: &Upload) -> Result<(), Fault> {
    const LONGER_THAN_MOST: Duration = Duration::from_millis(1_500);
    let first = timeout(LONGER_THAN_MOST, upload.head(1, |_| ())).await;
    first.map_err(|_| Fault::NoContinue)?
}

/// Refuses what is no request for a worker, or could be two.
fn refuse(seen: Head, head: &request::Parts) -> Result<(), Fault> {
    if seen == Head::Ambiguous {
        return Err(Fault::Ambiguous);
    }
    headers::refuse_ambiguous(head.version, &head.headers)?;
    headers::refuse_target(&head.method, &head.uri)?;
    if head.method == Method::CONNECT || headers::wants_upgrade(head.version, &head.headers) {
        return Err(Fault::Upgrade);
    }
    Ok(())
}

/// What a status says of a worker: 503 and 429 are how it says that it has enough, and other
/// refusals are about the client.
fn verdict_of(status: StatusCode) -> Verdict {
    match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::NOT_IMPLEMENTED => Verdict::Nothing,
        status if status.is_server_error() => Verdict::Failed,
        status if status.is_client_error() => Verdict::Nothing,
        _ => Verdict::Well,
    }
}

/// Whether a worker says that it has too much to do.
fn has_enough(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
    )
}

/// For how long a worker wants to be left alone: what it says, within reason.
fn retry_after(headers: &HeaderMap) -> Duration {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(5);
    let value = headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok());
    let seconds = value.and_then(|text| text.trim().parse().ok());
    seconds.map_or(LEAST, |s| Duration::from_secs(s).clamp(LEAST, MOST))
}

fn answer_of(status: StatusCode) -> Answer {
    if status.as_u16() < 400 {
        Answer::Given
    } else {
        Answer::Refused
    }
}

/// Leaves what is for the worker: the path and query as they came, end-to-end headers.
fn make_outgoing(seen: Head, head: &mut request::Parts) {
    headers::strip_hop_by_hop(&mut head.headers);
    if head.version == Version::HTTP_2 {
        headers::join_cookies(&mut head.headers);
    }
    if head.uri.authority().is_some()
        && let Some(path) = head.uri.path_and_query().cloned()
    {
        head.uri = Uri::from(headers::with_a_path(seen, path));
    }
}

/// Leaves what is for the client, and says where the answer comes from.
fn make_answer(mut head: response::Parts, placed: &Placed) -> response::Parts {
    headers::strip_hop_by_hop(&mut head.headers);
    head.version = Version::HTTP_11;
    let route = Route {
        worker: placed.tag,
        matched_tokens: placed.matched_tokens,
        reason: placed.reason.as_str(),
    };
    if let Ok(value) = HeaderValue::try_from(route.header()) {
        head.headers.insert(ROUTE, value);
    }
    head
}
