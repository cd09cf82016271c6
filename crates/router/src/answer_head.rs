//! The head of a worker's answer in HTTP/1.1: read, and with it how the body is framed.

use std::mem::MaybeUninit;

use bytes::Bytes;
use httparse::{ParserConfig, Status};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use hyper::http::response;
use hyper::{Method, Response, StatusCode, Version};

/// Longer heads are none.
const MOST_BYTES: usize = 128 << 10;

const MOST_HEADERS: usize = 256;

/// A head, and what follows from it.
#[derive(Debug)]
pub(crate) struct AnswerHead {
    pub(crate) parts: response::Parts,
    pub(crate) framing: Framing,
    pub(crate) afterwards: Afterwards,
}

/// Where a body ends (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// What the worker does with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Keeps,
    Closes,
}

/// What came is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Takes the head of the final answer from what came; nothing if more must come.
pub(crate) fn take(come: &mut Bytes, method: &Method) -> Result<Option<AnswerHead>, Garbled> {
    loop {
        let Some(parts) = take_one(come)? else {
            return Ok(None);
        };
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            // Nobody asked for it.
            return Err(Garbled);
        }
        if !parts.status.is_informational() {
            return AnswerHead::new(parts, method).map(Some);
        }
    }
}

fn take_one(come: &mut Bytes) -> Result<Option<response::Parts>, Garbled> {
    let mut lines = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut answer = httparse::Response::new(&mut []);
    let status = ParserConfig::default()
        .parse_response_with_uninit_headers(&mut answer, come, &mut lines)
        .map_err(|_| Garbled)?;
    let Status::Complete(length) = status else {
        return (come.len() <= MOST_BYTES).then_some(None).ok_or(Garbled);
    };
    let (mut parts, ()) = Response::new(()).into_parts();
    parts.status = answer
        .code
        .and_then(|code| StatusCode::from_u16(code).ok())
        .ok_or(Garbled)?;
    parts.version = match answer.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    };
    // One more is to come: where the answer is from.
    parts.headers.reserve(answer.headers.len() + 1);
    for line in answer.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| Garbled)?;
        // Shares the memory of the head instead of copying each value.
        let value = come.slice_ref(line.value);
        let value = HeaderValue::from_maybe_shared(value).map_err(|_| Garbled)?;
        parts.headers.append(name, value);
    }
    *come = come.split_off(length);
    Ok(Some(parts))
}

impl AnswerHead {
    fn new(mut parts: response::Parts, method: &Method) -> Result<Self, Garbled> {
        let framing = framing(&mut parts, method)?;
        let closes = framing == Framing::UntilClose || says_close(parts.version, &parts.headers);
        let afterwards = if closes {
            Afterwards::Closes
        } else {
            Afterwards::Keeps
        };
        Ok(Self {
            parts,
            framing,
            afterwards,
        })
    }
}

fn framing(parts: &mut response::Parts, method: &Method) -> Result<Framing, Garbled> {
    if let Some(coding) = parts.headers.get(TRANSFER_ENCODING)
        && !is_empty(parts.status, method)
    {
        if parts.version == Version::HTTP_10 {
            return Err(Garbled);
        }
        let chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked");
        if !chunked || parts.headers.get_all(TRANSFER_ENCODING).iter().count() > 1 {
            // Passing the body on without what it was coded with would garble it.
            return Err(Garbled);
        }
        // Where both are said, chunks are what counts.
        parts.headers.remove(CONTENT_LENGTH);
        return Ok(Framing::Chunked);
    }
    let length = settle_length(parts, method)?;
    Ok(match length {
        _ if is_empty(parts.status, method) => Framing::Length(0),
        Some(length) => Framing::Length(length),
        None => Framing::UntilClose,
    })
}

/// Whether an answer has no body, whatever its head says.
fn is_empty(status: StatusCode, method: &Method) -> bool {
    let never = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    never || *method == Method::HEAD
}

/// Reads the length that a head tells, and leaves it there once at most: many clients of HTTP/2
/// take no answer that says it twice (RFC 9110, 8.6).
pub(crate) fn settle_length(
    parts: &mut response::Parts,
    method: &Method,
) -> Result<Option<u64>, Garbled> {
    let headers = &mut parts.headers;
    if parts.status == StatusCode::NO_CONTENT {
        headers.remove(CONTENT_LENGTH);
        return Ok(None);
    }
    let found = length(headers);
    if found.is_err() && is_empty(parts.status, method) {
        // It would be that of an answer to a GET: nothing hangs on it here.
        headers.remove(CONTENT_LENGTH);
        return Ok(None);
    }
    found
}

/// What `Content-Length` says, which may be said several times if it is the same; once afterwards.
fn length(headers: &mut HeaderMap) -> Result<Option<u64>, Garbled> {
    let (mut found, mut times) = (None, 0);
    for value in headers.get_all(CONTENT_LENGTH) {
        let digits = value.as_bytes();
        let only_digits = digits.iter().all(u8::is_ascii_digit);
        let text = value.to_str().ok().filter(|_| only_digits);
        let length = text.and_then(|text| text.parse().ok()).ok_or(Garbled)?;
        if found.is_some_and(|found| found != length) {
            return Err(Garbled);
        }
        found = Some(length);
        times += 1;
    }
    if let Some(length) = found.filter(|_| times > 1) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(found)
}

fn says_close(version: Version, headers: &HeaderMap) -> bool {
    let says = |word: &[u8]| {
        let values = headers.get_all(CONNECTION).iter();
        let mut words = values.flat_map(|value| value.as_bytes().split(|b| *b == b','));
        words.any(|found| found.trim_ascii().eq_ignore_ascii_case(word))
    };
    match version {
        Version::HTTP_10 => !says(b"keep-alive"),
        _ => says(b"close"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(method: &Method, head: &str, expected: Result<(u16, Framing, Afterwards), Garbled>) {
        let text = format!("{head}\r\n\r\nrest");
        let mut come = Bytes::from(text);
        let found = take(&mut come, method).map(|head| {
            let head = head.unwrap();
            assert_eq!(come, "rest");
            (head.parts.status.as_u16(), head.framing, head.afterwards)
        });
        assert_eq!(found, expected, "{head:?}");
    }

    #[test]
    fn the_head_says_where_the_body_ends() {
        use Afterwards::{Closes, Keeps};
        use Framing::{Chunked, Length, UntilClose};
        let post = |head: &str, expected| check(&Method::POST, head, expected);
        post(
            "HTTP/1.1 200 OK\r\ncontent-length: 12",
            Ok((200, Length(12), Keeps)),
        );
        post(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked",
            Ok((200, Chunked, Keeps)),
        );
        post("HTTP/1.1 200 OK", Ok((200, UntilClose, Closes)));
        post("HTTP/1.1 204 No Content", Ok((204, Length(0), Keeps)));
        post(
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 9",
            Ok((304, Length(0), Keeps)),
        );
        post(
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1",
            Ok((200, Length(1), Keeps)),
        );
        post(
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: x, Close",
            Ok((200, Length(1), Closes)),
        );
        post(
            "HTTP/1.0 200 OK\r\ncontent-length: 1",
            Ok((200, Length(1), Closes)),
        );
        post(
            "HTTP/1.0 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive",
            Ok((200, Length(1), Keeps)),
        );
        post(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n\
             HTTP/1.1 200 OK\r\ncontent-length: 3",
            Ok((200, Length(3), Keeps)),
        );
        check(
            &Method::HEAD,
            "HTTP/1.1 200 OK\r\ncontent-length: 12",
            Ok((200, Length(0), Keeps)),
        );
    }

    #[test]
    fn what_could_end_in_two_places_is_no_answer() {
        for head in [
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2",
            "HTTP/1.1 200 OK\r\ncontent-length: +1",
            "HTTP/1.1 200 OK\r\ncontent-length: 1, 1",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked",
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked",
            "HTTP/1.1 101 Switching Protocols",
            "HTTP/1.1 200 OK\r\nno header",
            "SSH-2.0-OpenSSH",
        ] {
            check(&Method::POST, head, Err(Garbled));
        }
    }

    #[test]
    fn chunks_count_where_a_length_is_said_too() {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut come = Bytes::from_static(head.as_bytes());
        let head = take(&mut come, &Method::POST).unwrap().unwrap();
        assert_eq!(head.framing, Framing::Chunked);
        assert!(!head.parts.headers.contains_key(CONTENT_LENGTH));
    }

    #[test]
    fn a_length_is_said_once_and_of_what_there_is() {
        let check = |method: &Method, head: &str, expected: &[&str]| {
            let mut come = Bytes::from(format!("HTTP/1.1 {head}\r\n\r\n"));
            let found = take(&mut come, method).unwrap().unwrap().parts.headers;
            let lengths: Vec<_> = found.get_all(CONTENT_LENGTH).iter().collect();
            assert_eq!(lengths, expected, "{head:?}");
        };
        let twice = "content-length: 2\r\nContent-Length: 2";
        let differs = "content-length: 2\r\ncontent-length: 3";
        check(&Method::GET, &format!("200 OK\r\n{twice}"), &["2"]);
        check(&Method::HEAD, &format!("200 OK\r\n{twice}"), &["2"]);
        check(&Method::HEAD, &format!("200 OK\r\n{differs}"), &[]);
        check(&Method::GET, &format!("304 X\r\n{twice}"), &["2"]);
        check(&Method::GET, "204 X\r\ncontent-length: 2", &[]);
    }

    #[test]
    fn part_of_a_head_is_waited_for_but_not_forever() {
        let mut come = Bytes::from_static(b"HTTP/1.1 200 OK\r\nx: y\r\n");
        assert!(take(&mut come, &Method::GET).unwrap().is_none());
        assert_eq!(come.len(), 23);
        let mut endless = Bytes::from(format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(MOST_BYTES)));
        assert!(take(&mut endless, &Method::GET).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_stop_the_reader(text in "(HTTP/1.[01] [0-9]{3} ?)?[\\r\\n a-z:0-9]{0,60}") {
            let _ = take(&mut Bytes::from(text), &Method::GET);
        }
    }
}
