//! What the router itself answers, in the shape of OpenAI's errors.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::http::Response;

use crate::fault::{Fault, Side};

/// The answer to a request that no worker answered. Nothing in it comes from the request.
pub(crate) fn of_fault(fault: Fault) -> (Response<()>, Bytes) {
    let kind = match fault.side() {
        Side::Client => "invalid_request_error",
        Side::Worker | Side::Ours => "service_unavailable_error",
    };
    let text = body(fault.message(), kind, fault.as_str());
    let mut response = Response::new(());
    *response.status_mut() = fault.status();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if fault.status() == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if fault.ends_connection() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    (response, text.into())
}

/// What a client over the limit of connections gets before its connection is closed.
pub(crate) fn too_many_connections() -> String {
    let text = body(
        "the router has as many connections as it may have; try again",
        "service_unavailable_error",
        "too_many_connections",
    );
    let length = text.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
    )
}

/// What a client gets that has been too slow with its head.
pub(crate) fn too_slow() -> String {
    let text = body(
        "the rest of the request's head did not come in time",
        "invalid_request_error",
        "slow_head",
    );
    let length = text.len();
    format!(
        "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
    )
}

/// What a client gets whose head the engine refuses with a status of its own: the code that it is
/// counted by, and the answer; nothing for any other status.
pub(crate) fn of_bad_head(status: StatusCode) -> Option<(&'static str, String)> {
    let (code, message) = match status {
        StatusCode::BAD_REQUEST => ("malformed_head", "the request's head is not HTTP/1.1"),
        StatusCode::URI_TOO_LONG => ("long_target", "the request's path is too long"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "large_head",
            "the request's head is larger than this router allows, or has more than 100 headers",
        ),
        _ => return None,
    };
    let text = body(message, "invalid_request_error", code);
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    Some((code, head + &text))
}

/// Every argument is a constant of ours that needs no escaping.
fn body(message: &'static str, kind: &'static str, code: &'static str) -> String {
    format!(r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":"{code}"}}}}"#)
}

#[cfg(test)]
mod tests {
    use headwater_placement::NoWorker;

    use super::*;

    #[test]
    fn an_error_reads_like_openais() {
        let (response, text) = of_fault(Fault::NoWorker(NoWorker::NoneReady));
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "1");
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(json["error"]["code"], "none_ready");
        assert!(json["error"]["param"].is_null());
    }
}
