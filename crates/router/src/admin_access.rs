//! Who may use the admin port: anybody on loopback, holders of the token elsewhere.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::{Method, StatusCode};

use crate::admin_answer::{Answer, Refusal};

/// Shorter tokens can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// What the port asks for, decided once when it opens.
pub(crate) enum Access {
    /// Only this machine can reach it.
    Open,
    /// Others can reach it and there is no token: probes and metrics only.
    Watching,
    /// The token, except for probes.
    Token(Token),
}

/// A secret. It has no `Display`, and its `Debug` does not show it.
pub(crate) struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads a token from its file: one line.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        let token = text.trim();
        let usable = token.len() >= SHORTEST_TOKEN && token.bytes().all(|b| b.is_ascii_graphic());
        if usable {
            return Ok(Self(token.as_bytes().to_vec()));
        }
        let path = path.display();
        Err(format!(
            "`{path}` does not hold one line of {SHORTEST_TOKEN} or more visible ASCII characters; \
             make one with `openssl rand -hex 32`"
        ))
    }

    /// Compares without telling by its time how much was right.
    fn is(&self, given: &[u8]) -> bool {
        blake3::hash(&self.0) == blake3::hash(given)
    }

    /// `Bearer TOKEN`, or for browsers `Basic` with the token as password.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some(value) = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes) else {
            return false;
        };
        let Some((scheme, given)) = value.split_at_checked(7) else {
            return false;
        };
        if scheme.eq_ignore_ascii_case(b"bearer ") {
            return self.is(given.trim_ascii());
        }
        let Some((b' ', given)) = value
            .get(5..)
            .and_then(<[u8]>::split_first)
            .map(|(s, g)| (*s, g))
        else {
            return false;
        };
        let basic = value
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic"));
        let Ok(pair) = STANDARD.decode(given.trim_ascii()) else {
            return false;
        };
        let mut parts = pair.splitn(2, |b| *b == b':');
        basic && parts.nth(1).is_some_and(|password| self.is(password))
    }
}

impl Access {
    /// Whether a request may go on; if not, the answer it gets.
    pub(crate) fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Box<Answer>> {
        if *method != Method::GET && is_from_another_site(headers) {
            let hint = "a page of another site may not change the router";
            let refusal = Refusal::new(StatusCode::FORBIDDEN, "foreign_origin", hint);
            return Err(Box::new(refusal.into_answer()));
        }
        let probe = matches!(path, "/healthz" | "/readyz");
        match self {
            _ if probe => Ok(()),
            Self::Open if names_this_machine(headers) => Ok(()),
            Self::Open => {
                let hint = "ask by address or as `localhost`: a page of another site may have made its name stand for this machine";
                let refusal = Refusal::new(StatusCode::FORBIDDEN, "foreign_host", hint);
                Err(Box::new(refusal.into_answer()))
            }
            Self::Watching if path == "/metrics" => Ok(()),
            Self::Watching => {
                let hint = "others can reach this port: set `admin_token_file`, or let `admin` be on loopback";
                let refusal = Refusal::new(StatusCode::FORBIDDEN, "no_token_set", hint);
                Err(Box::new(refusal.into_answer()))
            }
            Self::Token(token) if token.is_in(headers) => Ok(()),
            Self::Token(_) => {
                let hint =
                    "send `Authorization: Bearer TOKEN` with the token of `admin_token_file`";
                let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", hint);
                let mut answer = refusal.into_answer();
                let ways = ["Bearer", "Basic realm=\"headwater-router\""];
                for way in ways {
                    let value = HeaderValue::from_static(way);
                    answer.headers_mut().append(WWW_AUTHENTICATE, value);
                }
                Err(Box::new(answer))
            }
        }
    }
}

/// A browser names the page that a request comes from. One of another site could otherwise
/// drain workers with the operator's own reach.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN).map(HeaderValue::as_bytes) else {
        return false;
    };
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    let own = origin
        .strip_prefix(b"http://")
        .or_else(|| origin.strip_prefix(b"https://"));
    own.is_none() || own != host
}

/// Whether a request asks for an address or for `localhost`. Any other name may be a web page's,
/// which its owner lets stand for this machine so that a browser takes both for one site.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else {
        return true;
    };
    let host = host
        .to_str()
        .ok()
        .and_then(|host| host.parse::<Authority>().ok());
    let Some(host) = host else {
        return false;
    };
    let name = host.host().trim_matches(['[', ']']);
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn check(access: &Access, path: &str, header: Option<&str>, expected: u16) {
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.insert(AUTHORIZATION, value.parse().unwrap());
        }
        let found = access.check(&Method::GET, path, &headers);
        let status = found.map_or_else(|answer| answer.status().as_u16(), |()| 200);
        assert_eq!(status, expected, "{path} {header:?}");
    }

    #[test]
    fn beyond_loopback_only_the_token_opens_more_than_probes() {
        check(&Access::Open, "/state", None, 200);
        check(&Access::Watching, "/metrics", None, 200);
        check(&Access::Watching, "/healthz", None, 200);
        check(&Access::Watching, "/state", None, 403);
        let token = Access::Token(Token(SECRET.into()));
        check(&token, "/readyz", None, 200);
        check(&token, "/metrics", None, 401);
        check(&token, "/state", Some("Bearer 0123456789abcdef"), 200);
        check(&token, "/state", Some("bearer  0123456789abcdef"), 200);
        check(&token, "/state", Some("Bearer 0123456789abcdeF"), 401);
        check(&token, "/state", Some("Bearer "), 401);
        check(&token, "/state", Some("0123456789abcdef"), 401);
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        check(&token, "/", Some(&basic("me:0123456789abcdef")), 200);
        check(&token, "/", Some(&basic("0123456789abcdef")), 401);
        check(&token, "/", Some("Basic !"), 401);
        check(&token, "/", Some("B"), 401);
    }

    #[test]
    fn a_page_of_another_site_changes_nothing() {
        let check = |origin: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "127.0.0.1:9080".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            let allowed = Access::Open
                .check(&Method::POST, "/drain", &headers)
                .is_ok();
            assert_eq!(allowed, expected, "{origin:?}");
        };
        check(None, true);
        for (host, expected) in [
            ("127.0.0.1:9080", true),
            ("[::1]:9080", true),
            ("LocalHost", true),
            ("evil.example:9080", false),
            ("a b", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            let allowed = Access::Open.check(&Method::GET, "/state", &headers);
            assert_eq!(allowed.is_ok(), expected, "{host}");
        }
        check(Some("http://127.0.0.1:9080"), true);
        check(Some("http://evil.example"), false);
        check(Some("null"), false);
    }

    #[test]
    fn a_token_is_one_long_line_and_never_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let of = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            Token::read(file.path())
        };
        let token = of("0123456789abcdef\n").unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert!(of("short").unwrap_err().contains("16 or more"));
        assert!(of("0123456789abcdef 2").is_err());
        assert!(of("0123456789abcdef\nsecond-line-as-well").is_err());
        assert!(Token::read(Path::new("/no/such/file")).is_err());
    }
}
