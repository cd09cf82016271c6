//! What a configuration file may say, and what a wrong one is told.

use headwater_router::{BodyKey, Config};

/// The whole error for a file that is called `r.yaml`.
fn check(yaml: &str, expected: &str) {
    let error = Config::parse(yaml, "r.yaml").unwrap_err();
    // The list of what was expected grows with the settings.
    let told = error.to_string();
    let told = match told.split_once("expected one of `listen`") {
        Some((before, _)) => format!("{before}expected one of `listen`"),
        None => told,
    };
    assert_eq!(told, expected, "{yaml}");
}

#[test]
fn the_smallest_file_has_two_lines() {
    let yaml = "listen: 127.0.0.1:8080\nworkers: [http://127.0.0.1:8001, http://127.0.0.1:8002]\n";
    let config = Config::parse(yaml, "r.yaml").unwrap();
    assert_eq!(config.listen.port(), 8080);
    assert_eq!(config.workers[1].name, "127.0.0.1:8002");
    assert_eq!(
        config.session_headers,
        ["x-session-id", "x-smg-routing-key"]
    );
    assert_eq!(config, Config::new(config.listen, config.workers.clone()));
}

#[test]
fn every_setting_can_be_said() {
    let yaml = "
listen: '[::1]:1'
admin: 127.0.0.1:2
workers:
  - {url: 'http://a:1', weight: 2.5, name: gpu-0}
  - url: http://b:1
policy: round-robin
threads: 3
session_headers: [X-Chat]
body_key: false
placement: {max_ongoing: 8, high_watermark: 0.9, low_watermark: 0.5, home_prior: 0.8}
retry: {max: 1, ratio: 0.1, replay_bytes: 0, on_429: elsewhere}
health: {path: /ping, interval_ms: 200, failures: 5}
metrics: {path: /m, interval_ms: 100}
limits: {header_bytes: 8192, header_seconds: 5, idle_seconds: 6, connections: 7}
drain_seconds: 0
";
    let config = Config::parse(yaml, "r.yaml").unwrap();
    assert_eq!(
        (config.workers[0].name.as_str(), config.workers[0].weight),
        ("gpu-0", 2.5)
    );
    assert_eq!(config.session_headers, ["x-chat"]);
    assert_eq!(config.body_key, BodyKey::Off);
    assert_eq!(config.limits.connections, 7);
}

#[test]
fn json_is_read_as_well() {
    let json = r#"{"listen": "127.0.0.1:0", "workers": ["http://127.0.0.1:1"]}"#;
    assert!(Config::parse(json, "r.json").is_ok());
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_to_do() {
    let head = "listen: 127.0.0.1:8080\n";
    let both = "listen: 127.0.0.1:8080\nworkers: [http://a:1]\n";
    check(
        &format!("{both}plicy: cost\n"),
        "r.yaml:3:1: plicy: unknown field `plicy`, expected one of `listen`",
    );
    check(
        &format!("{head}workers:\n- http://a:1\n- {{url: http://b:1, weight: -1}}\n"),
        "r.yaml:4:29: workers[1].weight: `-1` is out of range; use a weight from 0.001 to 1000 (drain a worker to send it nothing)",
    );
    check(
        &format!("{head}workers: [http://a:1, http://a:1]\n"),
        "r.yaml:2:23: workers[1]: `http://a:1` is listed twice; remove one, or use `weight`",
    );
    check(
        &format!("{head}workers: [{{url: http://a:1, name: x}}, {{url: http://b:1, name: x}}]\n"),
        "r.yaml:2:39: workers[1]: the name `x` is taken; give each worker its own",
    );
    check(
        &format!("{head}workers: []\n"),
        "r.yaml:2:10: workers: there are no workers; list at least one, such as `http://127.0.0.1:8001`",
    );
    check(
        head,
        "r.yaml:1:1: workers: there are no workers; list at least one, such as `http://127.0.0.1:8001`",
    );
    check(
        &format!("{head}workers: [ftp://a:1]\n"),
        "r.yaml:2:11: workers[0]: `ftp://a:1` has no scheme `http`, `https` or `h2c`; write it as `http://host:port`",
    );
    check(
        "listen: 8080\nworkers: [http://a:1]\n",
        "r.yaml:1:9: listen: `8080` is not an address; write an IP address and a port, such as `127.0.0.1:8080`",
    );
    check(
        "listen: 0.0.0.0:8080\nworkers: [http://a:1, http://127.0.0.1:8080]\n",
        "r.yaml:2:23: workers[1]: this is where the router itself listens; give the engine's own port",
    );
    check(
        "listen: 127.0.0.1:8080\nadmin: 127.0.0.1:7000\nworkers: [http://127.0.0.1:7000]",
        "r.yaml:3:11: workers[0]: this is where the router itself listens; give the engine's own port",
    );
    check(
        &format!("{head}workers:\n\t- http://a:1\n"),
        "r.yaml:3:1: workers: found character that cannot start any token; indent with spaces, as YAML knows no tabs",
    );
    check(
        &format!("{both}policy: best\n"),
        "r.yaml:3:9: policy: `best` is not a policy; use one of `cost`, `ring`, `least_requests`, `round_robin`",
    );
    check(
        &format!("{both}session_headers: [x-request-id]\n"),
        "r.yaml:3:19: session_headers[0]: `x-request-id` is different on every request, so it names no session; leave it out",
    );
    check(
        &format!("{both}limits: {{header_bytes: 100}}\n"),
        "r.yaml:3:24: limits.header_bytes: `100` is out of range; use 8192 to 16777216",
    );
    check(
        &format!("{both}placement:\n  hard_cap: 12\n"),
        "r.yaml:4:13: placement.hard_cap: `12` must be `placement.max_ongoing` or more, which is `16`",
    );
    check(
        &format!("{both}retry: ~\n"),
        "r.yaml:3:8: retry: invalid type: nothing, expected settings under it (`name: value`), or leave it away",
    );
    check(
        &format!("{both}pools: {{a: 1}}\n"),
        "r.yaml:3:8: pools: invalid type: settings, expected a list (`- …`)",
    );
    check(
        &format!("{both}threads: 0\n"),
        "r.yaml:3:10: threads: invalid value: integer `0`, expected a whole number of 1 or more",
    );
    check(
        &format!("{both}placement: {{low_watermark: 0.9}}\n"),
        "r.yaml:3:28: placement.low_watermark: `0.9` must be less than `placement.high_watermark`, which is `0.85`",
    );
}

#[test]
fn pools_and_discoveries_are_checked_as_a_whole() {
    let head = "listen: 127.0.0.1:8080\nworkers: [http://a:1]\n";
    let pool =
        |inside: &str| format!("{head}pools: [{{name: p, workers: [http://b:1], {inside}}}]");
    check(
        &pool("match: {}"),
        "r.yaml:3:49: pools[0].match: the rule matches every request; give a `header` or a `path`",
    );
    check(
        &pool("match: {header: x-model}"),
        "r.yaml:3:49: pools[0].match: the rule names a header without `values`; list them",
    );
    check(
        &format!("{head}pools: [{{name: default, match: {{path: /a}}, workers: [http://b:1]}}]"),
        "r.yaml:3:16: pools[0].name: the name `default` is taken; give each pool its own",
    );
    check(
        &format!("{head}pools: [{{name: p, match: {{path: /a}}, workers: [http://a:1]}}]"),
        "r.yaml:3:48: pools[0].workers[0]: another pool has it already; one pool may match several models",
    );
    check(
        &format!(
            "{head}pools: [{{name: p, match: {{path: /a}}, workers: [{{url: 'h2c://a:1', name: q}}]}}]"
        ),
        "r.yaml:3:48: pools[0].workers[0]: another pool has it already; one pool may match several models",
    );
    check(
        &format!("{head}pools: [{{name: p, match: {{path: /a}}}}]"),
        "r.yaml:3:9: pools[0].workers: there are no workers; list at least one, such as `http://127.0.0.1:8001`",
    );
    check(
        &format!("{head}discover: [{{dns: a}}]"),
        "r.yaml:3:12: discover[0]: this discovery has addresses without a port; set `port`",
    );
    check(
        &format!("{head}discover: [{{dns: a, srv: b, port: 1}}]"),
        "r.yaml:3:12: discover[0]: this discovery must have exactly one of `dns`, `srv` and `service`",
    );
    check(
        &format!("{head}discover: [{{srv: 'a b'}}]"),
        "r.yaml:3:18: discover[0].srv: `a b` is not a host name; write it as `engines.example`",
    );
    let alone = "{listen: 127.0.0.1:1, discover: [{dns: a.b, port: 80}]}";
    assert!(Config::parse(alone, "r.yaml").unwrap().workers.is_empty());
}

#[test]
fn what_is_no_yaml_has_a_place_too() {
    for yaml in [
        "",
        "a",
        "listen: [",
        "workers: {a: b",
        "\u{0}",
        "- 1",
        "listen: &a *a",
    ] {
        let error = Config::parse(yaml, "r.yaml").unwrap_err();
        assert!(error.to_string().starts_with("r.yaml:"), "{error}");
    }
}
