//! What a list of Kubernetes EndpointSlices says: which pods of a service are ready, and where.

use serde::Deserialize;

use crate::config::WorkerConfig;
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
    port: Option<u16>,
}

impl SliceList {
    pub(crate) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// From where a watch goes on.
    pub(crate) fn version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// Every ready pod as a worker, at this port or at the first of its slice. A pod keeps its
    /// name, whatever address it gets. IPv6 counts only where there is no IPv4.
    pub(crate) fn workers(&self, port: Option<u16>) -> Vec<WorkerConfig> {
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
    fn workers(&self, port: Option<u16>) -> Vec<WorkerConfig> {
        let first = self.ports.iter().flatten().find_map(|port| port.port);
        let Some(port) = port.or(first) else {
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

    fn check(json: &str, port: Option<u16>, expected: &[(&str, &str)]) {
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
            None,
            &[
                ("10.244.2.8:8000", "http://10.244.2.8:8000"),
                ("engines-0:8000", "http://10.244.1.6:8000"),
                ("engines-1:8000", "http://10.244.1.7:8000"),
            ],
        );
        check(
            &LIST.replace("IPv4", "FQDN"),
            Some(9),
            &[("engines-1:9", "http://[fd00::7]:9")],
        );
        let list = SliceList::parse(LIST.as_bytes()).unwrap();
        assert_eq!(list.version(), "4711");
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for bad in ["", "{}", "[]", r#"{"metadata": {}, "items": []}"#] {
            assert!(SliceList::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        check(r#"{"metadata": {"resourceVersion": "1"}}"#, None, &[]);
    }
}
