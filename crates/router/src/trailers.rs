//! What may follow a body: no trailer is about one hop, or says where a message ends.

use bytes::Bytes;
use hyper::body::Frame;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, TRAILER};

use crate::headers;

/// What no trailer may be, beside the names of one hop (RFC 9110, 6.5.1). HTTP/2 calls a message
/// that has them malformed (RFC 9113, 8.2.2).
const NEVER: [HeaderName; 5] = [AUTHORIZATION, CONTENT_LENGTH, EXPECT, HOST, TRAILER];

/// Leaves what is for the other side.
pub(crate) fn strip(trailers: &mut HeaderMap) {
    headers::strip_hop_by_hop(trailers);
    for name in NEVER {
        trailers.remove(name);
    }
}

/// The same in a part of a body, which trailers are the last of.
pub(crate) fn stripped(mut frame: Frame<Bytes>) -> Frame<Bytes> {
    if let Some(trailers) = frame.trailers_mut() {
        strip(trailers);
    }
    frame
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn trailers_cannot_move_the_end_of_a_message() {
        let mut trailers = HeaderMap::new();
        for name in ["x-sum", "content-length", "transfer-encoding", "te", "host"] {
            trailers.insert(name, HeaderValue::from_static("7"));
        }
        trailers.insert("connection", HeaderValue::from_static("x-hop"));
        trailers.insert("x-hop", HeaderValue::from_static("7"));
        strip(&mut trailers);
        assert_eq!(trailers.len(), 1);
        assert_eq!(trailers["x-sum"], "7");
    }
}
