//! End-to-end headers go on, hop-by-hop ones do not (RFC 9110, 7.6.1), in both directions.

use hyper::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST, HeaderMap,
    HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE,
};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Uri, Version};

use crate::fault::Fault;
use crate::head_scan::Head;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

const HOPS: usize = 8;

static HOP_BY_HOP: [HeaderName; HOPS] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
];

/// Removes every header that is about one hop only, and those that `Connection` names.
///
/// `Trailer` stays: it announces trailers, and those are passed on.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named = named_by_connection(headers);
    // One walk finds what to remove: looking for eight names costs more than most requests need.
    let mut present = [false; HOPS];
    for name in headers.keys().filter(|name| may_be_of_hop(name)) {
        if let Some(index) = HOP_BY_HOP.iter().position(|hop| hop == name)
            && let Some(flag) = present.get_mut(index)
        {
            *flag = true;
        }
    }
    for (name, _) in HOP_BY_HOP.iter().zip(present).filter(|(_, there)| *there) {
        headers.remove(name);
    }
    for name in named {
        headers.remove(name);
    }
}

/// Whether a name begins as one of `HOP_BY_HOP` does: most names need no further look.
fn may_be_of_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str().as_bytes(),
        [b'c', b'o', b'n', b'n', ..]
            | [b'k', b'e', ..]
            | [b'p', b'r', ..]
            | [b't', b'e']
            | [b't', b'r', ..]
            | [b'u', b'p', ..]
    )
}

/// What `Connection` names beyond its own words. Framing and the host cannot be named away:
/// whoever could do that could make two parties read one message differently.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let mut named = Vec::new();
    for value in headers.get_all(CONNECTION) {
        if matches!(value.as_bytes(), b"keep-alive" | b"close" | b"Keep-Alive") {
            continue;
        }
        for word in value.as_bytes().split(|b| *b == b',') {
            let name = HeaderName::from_bytes(word.trim_ascii());
            let kept = ["close", "content-length", "host"];
            named.extend(name.ok().filter(|name| !kept.contains(&name.as_str())));
        }
    }
    named
}

/// Whether the client wants another protocol. `h2c` may be ignored, and is: RFC 9110 lets a
/// server go on in HTTP/1.1. What `Connection` does not name, or HTTP/1.0 says, is no wish (section
/// 7.8).
pub(crate) fn wants_upgrade(version: Version, headers: &HeaderMap) -> bool {
    let h2c = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"h2c");
    let mut wanted = headers.get_all(UPGRADE).iter();
    if version != Version::HTTP_11 || !wanted.any(|value| !h2c(value)) {
        return false;
    }
    let connection = headers.get_all(CONNECTION).iter();
    let mut options = connection.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
}

/// Whether an answer's text may say what an engine had cached: JSON or events, not compressed.
pub(crate) fn may_tell_usage(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let is = |name: &[u8]| {
        let start = kind.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let readable = is(b"application/json") || is(b"text/event-stream");
    readable && !headers.contains_key(CONTENT_ENCODING)
}

/// What a client waits for before it sends its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expects {
    Nothing,
    /// A word that it may go on, which this router gives itself.
    ToGoOn,
    /// What nobody here knows.
    Else,
}

/// Removes an expectation: it is about this hop.
pub(crate) fn take_expect(headers: &mut HeaderMap) -> Expects {
    match headers.remove(EXPECT) {
        None => Expects::Nothing,
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"100-continue") => Expects::ToGoOn,
        Some(_) => Expects::Else,
    }
}

/// HTTP/2 may send each cookie in a field of its own; whoever speaks HTTP/1.1 expects one (RFC 9113,
/// section 8.2.3).
pub(crate) fn join_cookies(headers: &mut HeaderMap) {
    let mut cookies = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let (Some(first), Some(second)) = (cookies.next(), cookies.next()) else {
        return;
    };
    let mut all = first.to_vec();
    for cookie in std::iter::once(second).chain(cookies) {
        all.extend_from_slice(b"; ");
        all.extend_from_slice(cookie);
    }
    if let Ok(all) = HeaderValue::from_bytes(&all) {
        headers.insert(COOKIE, all);
    }
}

/// A target without a path, as `http://a?x=1` has it, names the root; one with nothing at all
/// behind the host asks with `OPTIONS` for the server itself (RFC 9112, 3.2.1 and 3.2.4).
pub(crate) fn with_a_path(seen: Head, target: PathAndQuery) -> PathAndQuery {
    // A head that was not seen keeps the root.
    if seen == Head::PlainOptions && target.as_str() == "/" {
        return PathAndQuery::from_static("*");
    }
    if !target.as_str().starts_with('?') {
        return target;
    }
    PathAndQuery::try_from(format!("/{}", target.as_str())).unwrap_or(target)
}

/// Refuses a request line that names nothing that a worker could look up: a host alone, or `*`
/// where it means nothing.
pub(crate) fn refuse_target(method: &Method, uri: &Uri) -> Result<(), Fault> {
    let usable = match uri.path_and_query().map(PathAndQuery::as_str) {
        Some("*") => method == Method::OPTIONS,
        Some(path) => path.starts_with(['/', '?']),
        // What it names is a host, for a tunnel: refused for what it is.
        None => method == Method::CONNECT,
    };
    usable.then_some(()).ok_or(Fault::Target)
}

/// What the parser of HTTP/1.1 takes at most.
const MOST_HEADERS: usize = 100;

/// Refuses more headers than one client may send, which the parser of HTTP/2 does not count.
pub(crate) fn refuse_many(headers: &HeaderMap) -> Result<(), Fault> {
    let fits = headers.len() <= MOST_HEADERS;
    fits.then_some(()).ok_or(Fault::LargeHead)
}

/// Refuses heads that workers or proxies could read in another way than this router does.
pub(crate) fn refuse_ambiguous(version: Version, headers: &HeaderMap) -> Result<(), Fault> {
    if version == Version::HTTP_2 {
        return Ok(());
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if headers.contains_key(CONTENT_LENGTH) {
            return Err(Fault::Ambiguous);
        }
        let plain = coding.as_bytes().eq_ignore_ascii_case(b"chunked");
        if !plain || codings.next().is_some() {
            return Err(Fault::Coding);
        }
    }
    let mut hosts = headers.get_all(HOST).iter();
    let is_named = match hosts.next() {
        Some(host) => host
            .as_bytes()
            .iter()
            .all(|byte| OF_HOSTS[usize::from(*byte)]),
        // Neither does the host in the request line stand for it.
        None => version != Version::HTTP_11,
    };
    if !is_named || hosts.next().is_some() {
        return Err(Fault::Host);
    }
    Ok(())
}

/// The bytes of a host and its port (RFC 3986, section 3.2.2), with neither a user nor a path.
const OF_HOSTS: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')'
            )
            || matches!(byte, b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_one_host_and_nothing_else() {
        let check = |hosts: &[&str], expected: bool| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, host.parse().unwrap());
            }
            let found = refuse_ambiguous(Version::HTTP_11, &headers);
            assert_eq!(found.is_ok(), expected, "{hosts:?}");
        };
        check(&["a.example:80"], true);
        check(&["[::1]:80"], true);
        check(&["a", "a"], false);
        check(&[], false);
        for odd in ["a b", "a/c", "me@a", "a\u{e9}"] {
            check(&[odd], false);
        }
    }

    #[test]
    fn cookies_are_one_line_and_a_target_has_a_path() {
        let mut headers = map(&[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]);
        join_cookies(&mut headers);
        let cookies: Vec<_> = headers.get_all(COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; b=2; c=3"]);
        let path = |text: &'static str| {
            with_a_path(Head::Plain, PathAndQuery::from_static(text))
                .as_str()
                .to_owned()
        };
        assert_eq!(
            [path("?x=1"), path("/a?x=1"), path("*")],
            ["/?x=1", "/a?x=1", "*"]
        );
    }

    #[test]
    fn an_upgrade_is_wanted_by_those_who_say_so_twice() {
        let check = |version, headers: &[(&'static str, &'static str)], expected| {
            assert_eq!(
                wants_upgrade(version, &map(headers)),
                expected,
                "{headers:?}"
            );
        };
        let websocket = ("upgrade", "websocket");
        let named = ("connection", "keep-alive, Upgrade");
        check(Version::HTTP_11, &[named, websocket], true);
        check(Version::HTTP_10, &[named, websocket], false);
        check(Version::HTTP_11, &[websocket], false);
        check(Version::HTTP_11, &[named, ("upgrade", "h2c")], false);
    }

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        pairs.iter().map(pair).collect()
    }

    fn check(headers: &[(&'static str, &'static str)], left: &[&str]) {
        let mut headers = map(headers);
        strip_hop_by_hop(&mut headers);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, left);
    }

    #[test]
    fn what_is_about_one_hop_stays_there() {
        check(
            &[("accept", "a"), ("x-custom", "b")],
            &["accept", "x-custom"],
        );
        check(
            &[("connection", "keep-alive"), ("accept", "a")],
            &["accept"],
        );
        check(
            &[
                ("connection", "Keep-Alive, X-Hop ,,x-two"),
                ("x-hop", "1"),
                ("x-two", "2"),
                ("x-three", "3"),
            ],
            &["x-three"],
        );
        check(
            &[
                ("keep-alive", "timeout=5"),
                ("te", "trailers"),
                ("proxy-connection", "keep-alive"),
                ("transfer-encoding", "chunked"),
                ("upgrade", "h2c"),
                ("proxy-authorization", "Basic x"),
                ("proxy-authenticate", "Basic"),
                ("trailer", "x-sum"),
                ("authorization", "Bearer x"),
            ],
            &["authorization", "trailer"],
        );
        check(
            &[
                ("connection", "close, content-length, host"),
                ("host", "a"),
                ("content-length", "3"),
            ],
            &["content-length", "host"],
        );
    }

    #[test]
    fn every_name_of_one_hop_gets_a_look() {
        assert!(HOP_BY_HOP.iter().all(may_be_of_hop));
    }

    #[test]
    fn a_head_with_one_meaning_passes() {
        let check = |headers: &[(&'static str, &'static str)], expected: Result<(), Fault>| {
            let found = refuse_ambiguous(Version::HTTP_11, &map(headers));
            assert_eq!(found, expected, "{headers:?}");
        };
        let host = ("host", "a");
        check(&[host], Ok(()));
        check(&[], Err(Fault::Host));
        check(&[host, host], Err(Fault::Host));
        check(&[host, ("transfer-encoding", "Chunked")], Ok(()));
        let coding = Err(Fault::Coding);
        check(&[host, ("transfer-encoding", "gzip, chunked")], coding);
        let chunked = ("transfer-encoding", "chunked");
        check(&[host, chunked, chunked], coding);
        check(
            &[host, ("content-length", "3"), chunked],
            Err(Fault::Ambiguous),
        );
        let old = refuse_ambiguous(Version::HTTP_10, &map(&[]));
        assert_eq!(old, Ok(()));
    }

    #[test]
    fn the_only_expectation_is_to_go_on() {
        for (value, expected) in [("100-Continue", Expects::ToGoOn), ("x", Expects::Else)] {
            let mut headers = map(&[("expect", value)]);
            assert_eq!(take_expect(&mut headers), expected);
            assert!(headers.is_empty());
        }
    }
}
