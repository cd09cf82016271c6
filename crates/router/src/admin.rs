//! The operators' port: metrics, state, readiness, drain and undrain.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::admin_metrics;
use crate::admin_state;
use crate::roster::Service;
use crate::shared::Shared;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers operators until the thread ends.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let answer = answer(&shared, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            // How an operator's connection ends is of no consequence.
            let _ended = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

fn answer(shared: &Shared, request: &Request<Incoming>) -> Answer {
    let path = request.uri().path();
    let wanted = match path {
        "/drain" | "/undrain" => Method::POST,
        _ => Method::GET,
    };
    let known = [
        "/metrics", "/state", "/healthz", "/readyz", "/drain", "/undrain",
    ];
    if !known.contains(&path) {
        let list = known.join(" ");
        return text(StatusCode::NOT_FOUND, TEXT, format!("there are {list}\n"));
    }
    if request.method() != wanted {
        let mut answer = text(
            StatusCode::METHOD_NOT_ALLOWED,
            TEXT,
            format!("use {wanted}\n"),
        );
        if let Ok(allow) = HeaderValue::from_str(wanted.as_str()) {
            answer.headers_mut().insert(ALLOW, allow);
        }
        return answer;
    }
    match path {
        "/metrics" => text(StatusCode::OK, PROMETHEUS, admin_metrics::text(shared)),
        "/state" => text(StatusCode::OK, JSON, admin_state::json(shared)),
        "/healthz" => text(StatusCode::OK, TEXT, "ok\n".to_owned()),
        "/readyz" => ready(shared),
        "/drain" => set_service(shared, request, Service::Drained),
        _ => set_service(shared, request, Service::In),
    }
}

fn ready(shared: &Shared) -> Answer {
    let why_not = if shared.is_draining() {
        "the router is stopping\n"
    } else if !shared.roster().has_worker() {
        "no worker is ready\n"
    } else {
        return text(StatusCode::OK, TEXT, "ready\n".to_owned());
    };
    text(StatusCode::SERVICE_UNAVAILABLE, TEXT, why_not.to_owned())
}

fn set_service(shared: &Shared, request: &Request<Incoming>, service: Service) -> Answer {
    let query = request.uri().query().unwrap_or_default();
    let Some(name) = worker_of(query) else {
        let hint = "say which: `?worker=NAME`, as /state lists them\n";
        return text(StatusCode::BAD_REQUEST, TEXT, hint.to_owned());
    };
    let at = shared.now();
    match shared.roster().set_service(at, &name, service) {
        Some(()) => text(StatusCode::OK, TEXT, "done\n".to_owned()),
        None => {
            let hint = "there is no worker of that name; /state lists them\n";
            text(StatusCode::NOT_FOUND, TEXT, hint.to_owned())
        }
    }
}

fn worker_of(query: &str) -> Option<String> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("worker="))?;
    let mut name = Vec::new();
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(name).ok().filter(|name| !name.is_empty())
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_named_in_the_query() {
        let check = |query, expected: Option<&str>| {
            assert_eq!(worker_of(query).as_deref(), expected, "{query}");
        };
        check("worker=127.0.0.1:8001", Some("127.0.0.1:8001"));
        check("x=1&worker=a%3A1", Some("a:1"));
        check("worker=", None);
        check("worker=%4", None);
        check("worker=%zz", None);
        check("", None);
    }
}
