//! The operators' port: status page, metrics, state, readiness, and what changes the workers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::admin_access::Access;
use crate::admin_answer::{self, Answer, JSON, PROMETHEUS, Refusal, TEXT};
use crate::admin_explain;
use crate::admin_metrics;
use crate::admin_state;
use crate::admin_workers;
use crate::member::Service;
use crate::shared::Shared;
use crate::status;
use crate::status_feed;

/// A longer body is none that this port understands.
const LARGEST_BODY: usize = 64 << 10;

/// Nor is one that takes longer.
const BODY_TIME: Duration = Duration::from_secs(5);

/// So many connections at a time: descriptors are for requests. One more is closed at once.
const MOST_CONNECTIONS: usize = 256;

/// Answers operators until the thread ends.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>, access: Access) {
    let access = Arc::new(access);
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let (shared, access) = (Arc::clone(&shared), Arc::clone(&access));
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(|request: Request<Incoming>| {
                let (shared, access) = (Arc::clone(&shared), Arc::clone(&access));
                async move { Ok::<_, Infallible>(answer(&shared, &access, request).await) }
            });
            // How an operator's connection ends is of no consequence.
            let _ended = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// What the port knows: the path, and the methods that it takes.
const ROUTES: [(&str, &[Method]); 12] = [
    ("/", &[Method::GET]),
    ("/events", &[Method::GET]),
    ("/metrics", &[Method::GET]),
    ("/state", &[Method::GET]),
    ("/prefixes", &[Method::GET]),
    ("/healthz", &[Method::GET]),
    ("/readyz", &[Method::GET]),
    ("/explain", &[Method::GET, Method::POST]),
    ("/workers", &[Method::POST, Method::DELETE]),
    ("/drain", &[Method::POST]),
    ("/undrain", &[Method::POST]),
    ("/weight", &[Method::POST]),
];

async fn answer(shared: &Arc<Shared>, access: &Access, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if let Err(answer) = access.check(&head.method, path, &head.headers) {
        return *answer;
    }
    // Balancers may ask for heads only; the engine leaves the rest away.
    let method = match head.method {
        Method::HEAD => &Method::GET,
        ref method => method,
    };
    let Some((_, methods)) = ROUTES.iter().find(|(known, _)| *known == path) else {
        return unknown_path();
    };
    if !methods.contains(method) {
        return wrong_method(methods);
    }
    let body = match *method {
        // What comes with a question is not waited for: probes must not depend on it.
        Method::GET => Bytes::new(),
        _ => match timeout(BODY_TIME, Limited::new(body, LARGEST_BODY).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => {
                return Refusal::bad_request("the body is too long or broke off").into_answer();
            }
            Err(_) => return Refusal::bad_request("the body did not come in time").into_answer(),
        },
    };
    let query = head.uri.query().unwrap_or_default();
    let changed = match (path, method) {
        ("/", _) => Ok(status::page()),
        ("/events", _) => Ok(status_feed::answer(shared)),
        ("/metrics", _) => Ok(whole(PROMETHEUS, admin_metrics::text(shared))),
        ("/state", _) => Ok(whole(JSON, admin_state::json(shared))),
        ("/prefixes", _) => Ok(status::prefixes(shared)),
        ("/healthz", _) => Ok(whole(TEXT, "ok\n")),
        ("/readyz", _) => Ok(ready(shared)),
        ("/explain", _) => Ok(admin_explain::answer(shared, &head)),
        ("/workers", &Method::POST) => admin_workers::add(shared, query, &body),
        ("/workers", _) => admin_workers::remove(shared, query),
        ("/weight", _) => admin_workers::set_weight(shared, query),
        ("/drain", _) => admin_workers::set_service(shared, query, Service::Drained),
        _ => admin_workers::set_service(shared, query, Service::In),
    };
    changed.unwrap_or_else(Refusal::into_answer)
}

fn whole(kind: &'static str, text: impl Into<Bytes>) -> Answer {
    admin_answer::text(StatusCode::OK, kind, text)
}

fn unknown_path() -> Answer {
    let list = ROUTES.map(|(path, _)| path).join(" ");
    let hint = format!("there are {list}");
    Refusal::new(StatusCode::NOT_FOUND, "no_such_path", hint).into_answer()
}

fn wrong_method(methods: &[Method]) -> Answer {
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let names = names.join(", ");
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut answer = Refusal::new(status, "wrong_method", format!("use {names}")).into_answer();
    if let Ok(allow) = HeaderValue::from_str(&names) {
        answer.headers_mut().insert(ALLOW, allow);
    }
    answer
}

fn ready(shared: &Shared) -> Answer {
    let why_not = if shared.is_draining() {
        "the router is stopping\n"
    } else if !shared.pools().iter().any(|pool| pool.roster().has_worker()) {
        "no worker is ready\n"
    } else {
        return whole(TEXT, "ready\n");
    };
    admin_answer::text(StatusCode::SERVICE_UNAVAILABLE, TEXT, why_not)
}
