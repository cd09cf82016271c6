//! What a list of Kubernetes EndpointSlices says: which pods of a service are ready, and where.

use serde::Deserialize;

use crate::config::WorkerConfig;
use crate::config_pool::DiscoverConfig;
use crate::discover::{in_order, url};

/// A list as the API server gives it. Unknown fields are ignored: there are many.
#[derive(Deserialize)]
pub(crate) struct SliceList {
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Slice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Slice {
    address_type: String,
    #[serde(default)]
    endpoints: Option<Vec<Endpoint>>,
    #[serde(default)]
    ports: Option<Vec<Port>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    addresses: Vec<String>,
    #[serde(default)]
    conditions: Conditions,
    #[serde(default)]
    target_ref: Option<Target>,
}

#[derive(Default, Deserialize)]
struct Conditions {
    ready: Option<bool>,
    terminating: Option<bool>,
}

#[derive(Deserialize)]
struct Target {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Port {
    name: Option<String>,
    port: Option<u16>,
}

/// Which port of a pod is its engine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first that its slice lists.
    First,
    Number(u16),
    /// The one of this name. A slice has the pods for which the name means the same number.
    Named(String),
}

impl Wanted {
    pub(crate) fn of_config(config: &DiscoverConfig) -> Self {
        match (config.port, &config.port_name) {
            (Some(port), _) => Self::Number(port.into()),
            (None, Some(name)) => Self::Named(name.clone()),
            (None, None) => Self::First,
        }
    }
}

impl SliceList {
    pub(crate) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// From where a watch goes on.
    pub(crate) fn version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// Every ready pod as a worker. A pod keeps its
    /// name, whatever address it gets. IPv6 counts only where there is no IPv4.
    pub(crate) fn workers(&self, port: &Wanted) -> Vec<WorkerConfig> {
        let of_type = |kind: &'static str| {
            let slices = self.items.iter().filter(move |s| s.address_type == kind);
            slices.flat_map(move |slice| slice.workers(port))
        };
        let mut workers: Vec<WorkerConfig> = of_type("IPv4").collect();
        if workers.is_empty() {
            workers = of_type("IPv6").collect();
        }
        in_order(&mut workers);
        workers
    }
}

impl Slice {
    fn workers(&self, wanted: &Wanted) -> Vec<WorkerConfig> {
        let mut ports = self.ports.iter().flatten();
        let port = match wanted {
            Wanted::First => ports.find_map(|port| port.port),
            Wanted::Number(port) => Some(*port),
            Wanted::Named(name) => ports
                .find(|port| port.name.as_ref() == Some(name))
                .and_then(|port| port.port),
        };
        let Some(port) = port else {
            return Vec::new();
        };
        let endpoints = self.endpoints.iter().flatten();
        endpoints.filter_map(|e| e.worker(port)).collect()
    }
}

impl Endpoint {
    fn worker(&self, port: u16) -> Option<WorkerConfig> {
        // Absent means ready, says the API.
        let ready = self.conditions.ready.unwrap_or(true);
        if !ready || self.conditions.terminating.unwrap_or(false) {
            return None;
        }
        let mut worker = WorkerConfig::new(&url(self.addresses.first()?, port)).ok()?;
        let pod = self.target_ref.as_ref().and_then(|t| t.name.as_ref());
        if let Some(pod) = pod {
            worker.name = format!("{pod}:{port}");
        }
        Some(worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an API server writes it, shortened.
    const LIST: &str = r#"{
        "kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1",
        "metadata": {"resourceVersion": "4711"},
        "items": [
            {
                "metadata": {"name": "engines-x7k2p", "labels": {"kubernetes.io/service-name": "engines"}},
                "addressType": "IPv4",
                "endpoints": [
                    {"addresses": ["10.244.1.7"], "conditions": {"ready": true, "serving": true, "terminating": false},
                     "targetRef": {"kind": "Pod", "name": "engines-1", "namespace": "llm"}, "nodeName": "n1"},
                    {"addresses": ["10.244.1.6"], "conditions": {},
                     "targetRef": {"kind": "Pod", "name": "engines-0", "namespace": "llm"}},
                    {"addresses": ["10.244.2.9"], "conditions": {"ready": false, "serving": true, "terminating": true},
                     "targetRef": {"kind": "Pod", "name": "engines-2", "namespace": "llm"}},
                    {"addresses": ["10.244.2.8"], "conditions": {"ready": true}}
                ],
                "ports": [{"name": "http", "protocol": "TCP", "port": 8000}, {"name": "metrics", "port": 9000}]
            },
            {"metadata": {"name": "engines-6"}, "addressType": "IPv6",
             "endpoints": [{"addresses": ["fd00::7"], "targetRef": {"name": "engines-1"}}], "ports": [{"port": 8000}]},
            {"metadata": {"name": "empty"}, "addressType": "IPv4", "endpoints": null, "ports": null}
        ]
    }"#;

    fn check(json: &str, port: &Wanted, expected: &[(&str, &str)]) {
        let list = SliceList::parse(json.as_bytes()).unwrap();
        let workers = list.workers(port);
        let found: Vec<(String, String)> = workers
            .iter()
            .map(|w| (w.name.clone(), w.url.to_string()))
            .collect();
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, url)| ((*name).to_owned(), (*url).to_owned()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn ready_pods_are_workers_under_their_names() {
        check(
            LIST,
            &Wanted::First,
            &[
                ("10.244.2.8:8000", "http://10.244.2.8:8000"),
                ("engines-0:8000", "http://10.244.1.6:8000"),
                ("engines-1:8000", "http://10.244.1.7:8000"),
            ],
        );
        check(
            &LIST.replace("IPv4", "FQDN"),
            &Wanted::Number(9),
            &[("engines-1:9", "http://[fd00::7]:9")],
        );
        let list = SliceList::parse(LIST.as_bytes()).unwrap();
        assert_eq!(list.version(), "4711");
    }

    #[test]
    fn a_named_port_is_looked_up_in_each_slice() {
        // While a rollout renumbers the port, each slice has the pods of one number. A pod may
        // stand in two slices for a moment.
        let slice = |pod: &str, port: u16| {
            format!(
                r#"{{"addressType": "IPv4", "endpoints": [{{"addresses": ["10.0.0.{pod}"], "targetRef": {{"name": "engines-{pod}"}}}}], "ports": [{{"name": "metrics", "port": 9000}}, {{"name": "http", "port": {port}}}]}}"#
            )
        };
        let slices = [slice("1", 8_000), slice("2", 8_001), slice("1", 8_000)];
        let list = format!(
            r#"{{"metadata": {{"resourceVersion": "1"}}, "items": [{}]}}"#,
            slices.join(",")
        );
        check(
            &list,
            &Wanted::Named("http".to_owned()),
            &[
                ("engines-1:8000", "http://10.0.0.1:8000"),
                ("engines-2:8001", "http://10.0.0.2:8001"),
            ],
        );
        check(&list, &Wanted::Named("grpc".to_owned()), &[]);
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for bad in ["", "{}", "[]", r#"{"metadata": {}, "items": []}"#] {
            assert!(SliceList::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        check(
            r#"{"metadata": {"resourceVersion": "1"}}"#,
            &Wanted::First,
            &[],
        );
    }
}
