//! The files under `docs/deploy` are usable, and agree with each other.

use headwater_router::Config;
use serde_yaml::Value;

fn drain_seconds(yaml: &str) -> u64 {
    Config::parse(yaml, "router.yaml").unwrap().drain_seconds
}

#[test]
fn systemd_waits_for_longer_than_the_router_drains() {
    let unit = include_str!("../../../../docs/deploy/systemd/headwater-router.service");
    let stop = unit
        .lines()
        .find_map(|line| line.strip_prefix("TimeoutStopSec="));
    let stop: u64 = stop.unwrap().parse().unwrap();
    let config = include_str!("../../../../docs/deploy/systemd/router.yaml");
    assert!(stop > drain_seconds(config));
}

#[test]
fn kubernetes_waits_for_longer_than_the_router_drains() {
    let deployment = include_str!("../../../../docs/deploy/kubernetes/deployment.yaml");
    let deployment: Value = serde_yaml::from_str(deployment).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    let pause = &pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"];
    let configs = [
        include_str!("../../../../docs/deploy/kubernetes/router.yaml"),
        include_str!("../../../../docs/deploy/kubernetes-endpointslices/router.yaml"),
    ];
    let replicas = u32::try_from(deployment["spec"]["replicas"].as_u64().unwrap()).unwrap();
    for yaml in configs {
        assert!(grace > drain_seconds(yaml) + pause.as_u64().unwrap());
        let config = Config::parse(yaml, "router.yaml").unwrap();
        assert_eq!(config.placement.routers, replicas);
        assert_eq!(config.admin.unwrap().port(), 9080);
    }
}

#[test]
fn every_manifest_is_listed() {
    let list = include_str!("../../../../docs/deploy/kubernetes/kustomization.yaml");
    let list: Value = serde_yaml::from_str(list).unwrap();
    let resources = list["resources"].as_sequence().unwrap();
    for file in resources {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy/kubernetes");
        let path = std::path::Path::new(folder).join(file.as_str().unwrap());
        assert!(path.exists(), "{path:?}");
    }
    assert_eq!(resources.len(), 3);
}
