//! Where a worker listens: `http://host[:port]`, `https://…` or `h2c://…`, checked once.

use std::fmt;

use hyper::Uri;

/// An address of a worker, and what is spoken there. Nothing follows the port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerUrl {
    scheme: Scheme,
    host: String,
    port: u16,
    authority: String,
}

impl WorkerUrl {
    /// Reads a URL; the error says what is wrong with it and what to do.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text
            .parse()
            .map_err(|_| format!("`{text}` is not a URL; write it as `http://host:port`"))?;
        let scheme = Scheme::ALL
            .into_iter()
            .find(|scheme| uri.scheme_str() == Some(scheme.as_str()));
        let Some(scheme) = scheme else {
            return Err(format!(
                "`{text}` has no scheme `http`, `https` or `h2c`; write it as `http://host:port`"
            ));
        };
        if !matches!(uri.path_and_query().map_or("/", |p| p.as_str()), "/") || text.contains('#') {
            return Err(format!(
                "`{text}` has a path, but requests keep their own; end it after the port"
            ));
        }
        let authority = uri.authority().filter(|a| !a.host().is_empty());
        let Some(authority) = authority else {
            return Err(format!(
                "`{text}` names no host; write it as `http://host:port`"
            ));
        };
        if authority.as_str().contains('@') {
            return Err("a worker's URL cannot carry a user or a password; the client's own `Authorization` is passed on".to_owned());
        }
        let port = match authority.port_u16() {
            None if authority.as_str() == authority.host() => scheme.default_port(),
            None | Some(0) => return Err(format!("`{text}` has no usable port; use 1 to 65535")),
            Some(port) => port,
        };
        let host = authority.host().to_ascii_lowercase();
        Ok(Self {
            scheme,
            authority: format!("{host}:{port}"),
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
        })
    }

    /// What is spoken there.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host without brackets: a name or an IP address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`, as `Host` has it and as a worker is named by default.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

/// What is spoken at a worker's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "users choose among these")]
pub enum Scheme {
    /// HTTP/1.1 without TLS.
    Http,
    /// HTTP/2 or HTTP/1.1, whichever the worker prefers, within TLS.
    Https,
    /// HTTP/2 without TLS, from the first byte on.
    H2c,
}

impl Scheme {
    /// Every scheme, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Http, Self::Https, Self::H2c];

    /// The name in a URL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::H2c => "h2c",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http | Self::H2c => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for WorkerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let found = WorkerUrl::parse(text).map(|url| url.authority().to_owned());
        match expected {
            Ok(authority) => assert_eq!(found.as_deref(), Ok(authority), "{text}"),
            Err(part) => assert!(
                found.clone().unwrap_err().contains(part),
                "{text}: {found:?}"
            ),
        }
    }

    #[test]
    fn a_url_is_a_host_and_a_port() {
        check("http://127.0.0.1:8001", Ok("127.0.0.1:8001"));
        check("http://Engine-3/", Ok("engine-3:80"));
        check("http://[::1]:9", Ok("[::1]:9"));
        check("https://a", Ok("a:443"));
        check("h2c://a:1", Ok("a:1"));
        check("ftp://a:1", Err("no scheme"));
        check("127.0.0.1:8001", Err("no scheme"));
        check("http://a:1/v1", Err("has a path"));
        check("http://a:1/#x", Err("has a path"));
        check("http://a:1/?q", Err("has a path"));
        check("http://:1", Err("http://host:port"));
        check("http://a:0", Err("no usable port"));
        check("http://a:", Err("no usable port"));
        check("http://u:p@a:1", Err("cannot carry a user"));
        check("", Err("http://host:port"));
    }
}
