//! The head of a request as a worker gets it in HTTP/1.1.

use bytes::Bytes;
use hyper::Method;
use hyper::body::Body;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request;

/// How much room a header needs beside its name and value.
const LINE_BYTES: usize = b": \r\n".len();

/// How the request's body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// There is none.
    Nothing,
    Length(u64),
    Chunked,
}

impl Sent {
    /// What can be said of a body before it is sent.
    pub(crate) fn of(body: &impl Body) -> Self {
        match body.size_hint().exact() {
            _ if body.is_end_stream() => Self::Nothing,
            Some(0) => Self::Nothing,
            Some(length) => Self::Length(length),
            None => Self::Chunked,
        }
    }
}

/// Writes a head. Hop-by-hop headers are gone already; framing is our own, never the client's.
pub(crate) fn write(head: &request::Parts, host: &HeaderValue, sent: Sent) -> Bytes {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let lines = head.headers.iter();
    let bytes: usize = lines
        .map(|(n, v)| n.as_str().len() + v.len() + LINE_BYTES)
        .sum();
    let mut text = Vec::with_capacity(bytes + path.len() + host.len() + 160);
    for part in [head.method.as_str(), " ", path, " HTTP/1.1\r\n"] {
        text.extend_from_slice(part.as_bytes());
    }
    line(&mut text, &HOST, host.as_bytes());
    for (name, value) in head.headers.iter().filter(|(name, _)| !is_our_own(name)) {
        line(&mut text, name, value.as_bytes());
    }
    match sent {
        Sent::Length(length) => line(&mut text, &CONTENT_LENGTH, length.to_string().as_bytes()),
        Sent::Chunked => line(&mut text, &TRANSFER_ENCODING, b"chunked"),
        Sent::Nothing if expects_body(&head.method) => line(&mut text, &CONTENT_LENGTH, b"0"),
        Sent::Nothing => {}
    }
    text.extend_from_slice(b"\r\n");
    text.into()
}

/// Whether a header is written by this router and not taken from the client.
fn is_our_own(name: &HeaderName) -> bool {
    let name = name.as_str();
    match name.as_bytes() {
        [b'h' | b'c' | b't', ..] => [HOST, CONTENT_LENGTH, TRANSFER_ENCODING]
            .iter()
            .any(|own| own == name),
        _ => false,
    }
}

fn line(text: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    text.extend_from_slice(name.as_str().as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}

/// Whether a worker would wait for a body if nothing were said of it.
fn expects_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn check(method: &str, uri: &str, sent: Sent, expected: &str) {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "client")
            .header("x-a", "1")
            .header("content-length", "77")
            .header("x-a", "2")
            .body(())
            .unwrap();
        let host = HeaderValue::from_static("worker:1");
        let text = write(&request.into_parts().0, &host, sent);
        assert_eq!(String::from_utf8(text.to_vec()).unwrap(), expected);
    }

    #[test]
    fn host_and_framing_are_our_own() {
        let rest = "host: worker:1\r\nx-a: 1\r\nx-a: 2\r\n";
        check(
            "POST",
            "/v1/a%2F?b",
            Sent::Length(3),
            &format!("POST /v1/a%2F?b HTTP/1.1\r\n{rest}content-length: 3\r\n\r\n"),
        );
        check(
            "PUT",
            "/",
            Sent::Chunked,
            &format!("PUT / HTTP/1.1\r\n{rest}transfer-encoding: chunked\r\n\r\n"),
        );
        check(
            "GET",
            "/?",
            Sent::Nothing,
            &format!("GET /? HTTP/1.1\r\n{rest}\r\n"),
        );
        check(
            "POST",
            "*",
            Sent::Nothing,
            &format!("POST * HTTP/1.1\r\n{rest}content-length: 0\r\n\r\n"),
        );
    }
}
