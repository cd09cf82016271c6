//! One request from its head to the head of its answer: key, decision, exchange, retry.

use std::rc::Rc;
use std::sync::Arc;

use headwater_placement::WorkerId;
use headwater_signature::{HEADER_ROUTE, Route};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::http::{request, response};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use crate::answer;
use crate::client::Turn;
use crate::config::{BodyKey, On429};
use crate::endpoint::Endpoint;
use crate::fault::{Again, Connection, Fault};
use crate::headers;
use crate::key::{BODY_KEY_BYTES, Key};
use crate::pool::{Channel, Pool, connect};
use crate::relay::{Answer, Download, Relay};
use crate::roster::{Health, Placed};
use crate::shared::Shared;
use crate::upload::Upload;

const ROUTE: HeaderName = HeaderName::from_static(HEADER_ROUTE);

/// What one thread needs to serve requests.
pub(crate) struct Proxy {
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Rc<Pool>,
}

/// A worker's answer, up to its body.
type Answered = (response::Parts, Box<Relay>);

impl Proxy {
    /// Answers one request, by a worker if any can.
    pub(crate) async fn serve(&self, turn: Turn, request: Request<Incoming>) -> Response<Download> {
        let counters = &self.shared.counters;
        counters.requests.add(1);
        self.shared.budget.earn();
        let (head, body) = match self.forward(request).await {
            Ok((head, relay)) => (head, Download::of_worker(relay, turn)),
            Err(fault) => {
                counters.refused.add(fault.as_str());
                let (response, text) = answer::of_fault(fault);
                (response.into_parts().0, Download::of_router(text, turn))
            }
        };
        counters.response(head.status);
        Response::from_parts(head, body)
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Answered, Fault> {
        if request.method() == Method::CONNECT || headers::wants_upgrade(request.headers()) {
            return Err(Fault::Upgrade);
        }
        let (mut head, incoming) = request.into_parts();
        let upload = Upload::new(incoming, self.shared.config.retry.replay_bytes);
        let key = self.key(&head, &upload).await?;
        make_outgoing(&mut head);
        let head = head;

        let mut tried: Vec<WorkerId> = Vec::new();
        // A refusal that is passed on if nobody else does better.
        let mut refusal: Option<Answered> = None;
        loop {
            let (placed, mut guard) = match self.shared.place(&key.request(&tried)) {
                Ok(found) => found,
                Err(why) => return refusal.ok_or(Fault::NoWorker(why)),
            };
            let exchange = self.exchange(&placed.endpoint, &head, &upload).await;
            let cause = match exchange {
                Ok((channel, response)) => {
                    let cause = self.retry_status(response.status());
                    if cause.is_some() {
                        guard.fail();
                    }
                    let endpoint = Arc::clone(&placed.endpoint);
                    let (parts, body) = response.into_parts();
                    let relay = Box::new(Relay {
                        body,
                        answer: answer_of(parts.status),
                        guard,
                        channel: Some(channel),
                        upload: upload.clone(),
                        endpoint,
                        shared: Arc::clone(&self.shared),
                        pool: Rc::clone(&self.pool),
                    });
                    let answered = (make_answer(parts, &placed), relay);
                    let Some(cause) = cause else {
                        return Ok(answered);
                    };
                    refusal = Some(answered);
                    cause
                }
                Err(fault) => {
                    guard.fail();
                    self.note(&placed.endpoint, fault);
                    if fault.again() == Again::Never {
                        return Err(fault);
                    }
                    if !self.may_retry(&tried, &upload) {
                        return refusal.ok_or(fault);
                    }
                    self.shared.counters.retries.add(fault.as_str());
                    tried.push(placed.endpoint.id);
                    continue;
                }
            };
            if let Some(answered) = refusal.take_if(|_| !self.may_retry(&tried, &upload)) {
                return Ok(answered);
            }
            self.shared.counters.retries.add(cause);
            tried.push(placed.endpoint.id);
        }
    }

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
        head: &request::Parts,
        upload: &Upload,
    ) -> Result<(Channel, Response<Incoming>), Fault> {
        if let Some(channel) = self.pool.take(endpoint).await {
            let sent = self
                .send(channel, Connection::Kept, (endpoint, head, upload))
                .await;
            match sent {
                Err(fault) if fault.again() == Again::Here && upload.can_repeat() => {
                    self.shared.counters.retries.add(fault.as_str());
                }
                sent => return sent,
            }
        }
        self.shared.counters.upstream_connects.add(1);
        let channel = connect(endpoint).await?;
        self.send(channel, Connection::Fresh, (endpoint, head, upload))
            .await
    }

    async fn send(
        &self,
        mut channel: Channel,
        connection: Connection,
        (endpoint, head, upload): (&Endpoint, &request::Parts, &Upload),
    ) -> Result<(Channel, Response<Incoming>), Fault> {
        let mut request = Request::new(upload.attempt());
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        request.headers_mut().insert(HOST, endpoint.host.clone());
        let sent = channel.sender.send_request(request).await;
        let response = sent.map_err(|error| Fault::of_exchange(&error, connection))?;
        endpoint.answered(self.shared.now());
        Ok((channel, response))
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

    fn may_retry(&self, tried: &[WorkerId], upload: &Upload) -> bool {
        let left = tried.len() < self.shared.config.retry.max as usize && upload.can_repeat();
        if left && !self.shared.budget.spend() {
            self.shared.counters.retries_denied.add(1);
            return false;
        }
        left
    }

    fn note(&self, endpoint: &Endpoint, fault: Fault) {
        self.shared.counters.upstream_errors.add(fault.as_str());
        match fault {
            // Nobody listens there: the process is gone, and asking again changes nothing.
            Fault::Refused => self
                .shared
                .set_health(endpoint, Health::Down, fault.as_str()),
            Fault::Unreachable | Fault::Closed | Fault::Garbled => {
                self.shared.failed(endpoint, fault.as_str());
            }
            Fault::StaleConnection | Fault::ClientBody | Fault::NoWorker(_) | Fault::Upgrade => {}
        }
    }
}

fn answer_of(status: StatusCode) -> Answer {
    if status.as_u16() < 400 {
        Answer::Given
    } else {
        Answer::Refused
    }
}

/// Leaves what is for the worker: the path and query as they came, end-to-end headers.
fn make_outgoing(head: &mut request::Parts) {
    headers::strip_hop_by_hop(&mut head.headers);
    headers::strip_expect(&mut head.headers);
    if head.uri.authority().is_some()
        && let Some(path) = head.uri.path_and_query().cloned()
    {
        head.uri = Uri::from(path);
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
    if let Ok(value) = HeaderValue::try_from(route.to_string()) {
        head.headers.insert(ROUTE, value);
    }
    head
}
