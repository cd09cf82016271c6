//! `/etc/resolv.conf`: the servers, and the names that a short name may stand for.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const PORT: u16 = 53;

/// More servers are not asked.
const SERVERS: usize = 3;

/// The part of the file that matters here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResolvConf {
    pub(crate) servers: Vec<SocketAddr>,
    search: Vec<String>,
    /// Names with that many dots are tried as they are first.
    dots: usize,
}

impl ResolvConf {
    pub(crate) fn of_server(server: SocketAddr) -> Self {
        Self {
            servers: vec![server],
            search: Vec::new(),
            dots: 0,
        }
    }

    pub(crate) fn of_system() -> Self {
        Self::parse(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut conf = Self {
            servers: Vec::new(),
            search: Vec::new(),
            dots: 1,
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") => {
                    let server = words.next().and_then(|ip| ip.parse::<IpAddr>().ok());
                    conf.servers
                        .extend(server.map(|ip| SocketAddr::new(ip, PORT)));
                }
                // The last of several counts.
                Some("search" | "domain") => conf.search = words.map(str::to_owned).collect(),
                Some("options") => {
                    let dots = words.find_map(|word| word.strip_prefix("ndots:")?.parse().ok());
                    conf.dots = dots.unwrap_or(conf.dots);
                }
                _ => {}
            }
        }
        conf.servers.truncate(SERVERS);
        if conf.servers.is_empty() {
            let local = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT);
            conf.servers.push(local);
        }
        conf
    }

    /// What to ask for, in order. A name that ends with a dot is whole.
    pub(crate) fn full_names(&self, name: &str) -> Vec<String> {
        if let Some(whole) = name.strip_suffix('.') {
            return vec![whole.to_owned()];
        }
        let with_domain = |domain: &String| format!("{name}.{}", domain.trim_end_matches('.'));
        let mut names: Vec<String> = self.search.iter().map(with_domain).collect();
        if name.matches('.').count() >= self.dots {
            names.insert(0, name.to_owned());
        } else {
            names.push(name.to_owned());
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_kubernetes_is_understood() {
        let text = "search ns.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10 # dns\noptions timeout:1 ndots:5\nnonsense\n";
        let conf = ResolvConf::parse(text);
        assert_eq!(conf.servers, ["10.96.0.10:53".parse().unwrap()]);
        assert_eq!(
            conf.full_names("engines"),
            [
                "engines.ns.svc.cluster.local",
                "engines.svc.cluster.local",
                "engines"
            ]
        );
        assert_eq!(
            conf.full_names("engines.ns.svc.cluster.local."),
            ["engines.ns.svc.cluster.local"]
        );
    }

    #[test]
    fn without_a_file_the_machine_itself_is_asked() {
        let conf = ResolvConf::parse("nameserver what\n");
        assert_eq!(conf.servers, ["127.0.0.1:53".parse().unwrap()]);
        assert_eq!(conf.full_names("a.b"), ["a.b"]);
        assert_eq!(conf.full_names("a"), ["a"]);
    }
}
