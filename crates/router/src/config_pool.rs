//! Pools by model and discovered workers, as a configuration has them.

use headwater_placement::Policy;
use serde::Deserialize;

use crate::config::WorkerConfig;
use crate::config_file;
use crate::config_placement::PlacementConfig;
use crate::config_value as value;

/// Workers that serve what the rule matches; what no pool matches goes to the others.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PoolConfig {
    /// What it is called in output.
    #[serde(deserialize_with = "value::pool_name")]
    pub name: String,
    /// Which requests are its own.
    #[serde(rename = "match")]
    pub rule: PoolRule,
    /// Its engines. No worker may be in two pools: its load would be counted twice.
    #[serde(default, deserialize_with = "config_file::workers")]
    pub workers: Vec<WorkerConfig>,
    /// Where further engines are found.
    #[serde(default)]
    pub discover: Vec<DiscoverConfig>,
    /// How its requests are placed; as elsewhere unless set.
    #[serde(default, deserialize_with = "value::some_policy")]
    pub policy: Option<Policy>,
    /// Limits of its placement; as elsewhere unless set.
    #[serde(default)]
    pub placement: Option<PlacementConfig>,
}

/// A header, a path or both; the body is never looked into.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PoolRule {
    /// A header that must have one of `values`, such as `x-model`.
    #[serde(deserialize_with = "value::some_header")]
    pub header: Option<String>,
    /// The values, as they are written.
    pub values: Vec<String>,
    /// A folder that the path must begin with, such as `/v1/embeddings`.
    #[serde(deserialize_with = "value::some_path")]
    pub path: Option<String>,
}

/// Where workers are found: exactly one of `dns`, `srv` and `service`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DiscoverConfig {
    /// A host whose every address is a worker at `port`.
    #[serde(default, deserialize_with = "value::some_host")]
    pub dns: Option<String>,
    /// A name of SRV records, such as `_http._tcp.engines.example`: hosts, ports and weights.
    #[serde(default, deserialize_with = "value::some_host")]
    pub srv: Option<String>,
    /// A Kubernetes service as `namespace/name`; its ready pods are workers, by the
    /// EndpointSlices that the API server of the router's own cluster has.
    #[serde(default, deserialize_with = "value::some_service")]
    pub service: Option<String>,
    /// The workers' port: required with `dns`; with `service` the first of the slice unless set.
    #[serde(default)]
    pub port: Option<std::num::NonZeroU16>,
    /// With `service` the name of the port among those of the slice, such as `http`.
    #[serde(default, deserialize_with = "value::some_port_name")]
    pub port_name: Option<String>,
    /// The name server as an address and a port; those of `/etc/resolv.conf` unless set.
    #[serde(default, deserialize_with = "value::some_address")]
    pub server: Option<std::net::SocketAddr>,
    /// Seconds between two questions at most; a shorter time to live of an answer counts.
    /// Default 30.
    #[serde(
        default = "value::default_discover_seconds",
        deserialize_with = "value::seconds"
    )]
    pub interval_seconds: u64,
}

impl PoolRule {
    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match (&self.header, self.values.is_empty(), &self.path) {
            (None, true, None) => Some("matches every request; give a `header` or a `path`"),
            (Some(_), true, _) => Some("names a header without `values`; list them"),
            (None, false, _) => Some("has `values` without a `header`; name it"),
            _ => None,
        }
    }
}

impl DiscoverConfig {
    /// What is asked for.
    pub(crate) fn name(&self) -> &str {
        let named = self.dns.as_ref().or(self.srv.as_ref());
        named.or(self.service.as_ref()).map_or("", String::as_str)
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let named = [&self.dns, &self.srv, &self.service];
        match named.iter().filter(|name| name.is_some()).count() {
            1 => {}
            _ => return Some("must have exactly one of `dns`, `srv` and `service`"),
        }
        if self.dns.is_some() && self.port.is_none() {
            return Some("has addresses without a port; set `port`");
        }
        if self.port_name.is_some() && self.service.is_none() {
            return Some("names a port without a `service`; give its number as `port`");
        }
        if self.port_name.is_some() && self.port.is_some() {
            return Some("has `port` and `port_name`; leave one of them out");
        }
        if self.srv.is_some() && self.port.is_some() {
            return Some("has a port that the SRV records give; leave it out");
        }
        None
    }
}
