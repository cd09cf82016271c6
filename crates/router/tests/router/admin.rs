//! The operators' port: page, events, explanations, and what changes the workers.

use serde_json::Value;

use crate::support::{Conn, Response, Running, Worker, signature, soon};

fn json(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

#[tokio::test]
async fn the_page_is_one_file_without_outside_assets() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let page = router.admin("GET", "/").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert!(page.headers["content-security-policy"].starts_with("default-src 'none'"));
    let text = page.text();
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    for outside in ["<link rel=\"stylesheet", "src=\"", "@import", "url("] {
        assert!(!text.contains(outside), "{outside}");
    }
    // The only address in it is the name of a namespace.
    let links = text.matches("//www.").count();
    assert_eq!(links, text.matches("http://www.w3.org/2000/svg").count());
    assert_eq!(router.admin("POST", "/").await.status, 405);
}

/// The next event of a stream: its name and its data.
async fn next_event(conn: &mut Conn) -> (String, Value) {
    let mut text = String::new();
    while !text.ends_with("\n\n") {
        let chunk = soon("an event", conn.chunk()).await.unwrap();
        assert!(!chunk.is_empty(), "the stream ended");
        text += str::from_utf8(&chunk).unwrap();
    }
    let (name, data) = text.trim_end().split_once('\n').unwrap();
    let name = name.strip_prefix("event: ").unwrap().to_owned();
    let data = data.strip_prefix("data: ").unwrap();
    (name, serde_json::from_str(data).unwrap())
}

#[tokio::test]
async fn events_begin_with_the_past_and_go_on_with_the_present() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let signed = signature(3, 2).to_string();
    let secret = "my-secret-session";
    for _ in 0..3 {
        let headers = [
            ("prefix-signature", signed.as_str()),
            ("x-session-id", secret),
        ];
        router.ask(&headers, "the words of a prompt").await;
    }
    let mut conn = Conn::to(router.admin).await;
    conn.send("GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let head = soon("a head", conn.response_head()).await.unwrap();
    assert_eq!(head.headers["content-type"], "text/event-stream");
    assert_eq!(head.headers["cache-control"], "no-store");
    let (name, past) = next_event(&mut conn).await;
    assert_eq!(name, "history");
    assert!(past["points"].is_array());
    let mut last = -1.0;
    for _ in 0..2 {
        let (name, now) = next_event(&mut conn).await;
        assert_eq!(name, "now");
        assert!(now["point"]["t"].as_f64().unwrap() > last);
        last = now["point"]["t"].as_f64().unwrap();
        assert_eq!(now["point"]["requests"], 3);
        assert_eq!(now["workers"][0]["name"], worker.address.to_string());
        assert_eq!(now["workers"][0]["state"], "ready");
        assert_eq!(now["prefixes"][0]["hash"], "0301070707070707");
        assert_eq!(now["prefixes"][0]["tokens"], 1_024);
        assert_eq!(now["prefixes"][0]["requests"], 3);
        let text = now.to_string();
        assert!(!text.contains(secret) && !text.contains("words"), "{text}");
    }
}

#[tokio::test]
async fn an_explanation_says_where_a_request_would_go_and_changes_nothing() {
    let workers = [Worker::start().await, Worker::start().await];
    let router = Running::start(&[&workers[0], &workers[1]], "");
    let signed = signature(5, 1).to_string();
    let cold = router
        .admin_with("POST", "/explain", &[("prefix-signature", &signed)], "")
        .await;
    let cold = json(&cold);
    assert_eq!(cold["reason"], "home");
    assert_eq!(cold["key"], "signature");
    assert_eq!(cold["rungs"][0]["tokens"], 1_024);
    assert_eq!(cold["candidates"].as_array().unwrap().len(), 2);
    let answer = router.ask(&[("prefix-signature", &signed)], "{}").await;
    assert_eq!(cold["worker"], answer.text());

    let longer = signature(5, 2).to_string();
    let warm = router
        .admin_with("GET", "/explain", &[("prefix-signature", &longer)], "")
        .await;
    let warm = json(&warm);
    assert_eq!(warm["reason"], "resident");
    assert_eq!(warm["worker"], answer.text());
    assert_eq!(warm["matched_tokens"], 1_024);
    let held = |candidate: &Value| candidate["matched_tokens"].as_u64().unwrap();
    let mut matched: Vec<u64> = warm["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(held)
        .collect();
    matched.sort_unstable();
    assert_eq!(matched, [0, 1_024]);

    let bad = router
        .admin_with("GET", "/explain", &[("prefix-signature", "v=1, b=")], "")
        .await;
    assert_eq!(json(&bad)["signature_error"], "syntax");
    assert!((router.metric("headwater_requests_total").await - 1.0).abs() < 0.1);
    assert!((router.metric("headwater_signatures_total").await - 1.0).abs() < 0.1);
    let errors = "headwater_signature_errors_total{kind=\"syntax\"}";
    assert!(router.metric(errors).await.abs() < 0.1);
}

#[tokio::test]
async fn workers_come_and_go_by_hand() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    let router = Running::start(&[&one], "health: {interval_ms: 20}\n");
    let add = format!(
        "{{\"url\": \"{}\", \"name\": \"two\", \"weight\": 2}}",
        two.url()
    );
    let added = router.admin_with("POST", "/workers", &[], &add).await;
    assert_eq!(added.status, 201);
    assert_eq!(json(&added)["worker"], "two");
    soon("the new worker", async {
        while router.state().await["workers"][1]["state"] != "ready" {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
    let weight = |router: Value| router["workers"][1]["weight"].clone();
    assert_eq!(weight(router.state().await), 2.0);
    let set = router.admin("POST", "/weight?worker=two&weight=0.5").await;
    assert_eq!(set.status, 200);
    assert_eq!(weight(router.state().await), 0.5);

    let name = one.address;
    let remove = format!("/workers?worker={name}");
    assert_eq!(router.admin("DELETE", &remove).await.status, 200);
    for key in 0..5 {
        let headers = [("x-session-id", &*key.to_string())];
        assert_eq!(
            router.ask(&headers, "").await.text(),
            two.address.to_string()
        );
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_told_as_json() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let url = worker.url();
    let cases: [(&str, &str, &str, u16, &str); 9] = [
        ("POST", "/workers", "", 400, "bad_request"),
        ("POST", "/workers", "ftp://a", 400, "bad_request"),
        (
            "POST",
            "/workers",
            "{url: 'http://a:1', weight: -1}",
            400,
            "bad_request",
        ),
        ("POST", "/workers", &url, 409, "name_taken"),
        (
            "DELETE",
            "/workers?worker=nobody",
            "",
            404,
            "no_such_worker",
        ),
        ("DELETE", "/workers", "", 400, "bad_request"),
        (
            "POST",
            "/weight?worker=nobody&weight=0",
            "",
            400,
            "bad_request",
        ),
        ("GET", "/nothing", "", 404, "no_such_path"),
        ("PUT", "/drain", "", 405, "wrong_method"),
    ];
    for (method, path, body, status, code) in cases {
        let body = match body {
            text if text == url && path == "/workers" => {
                // The same name as a worker of the configuration, elsewhere.
                &format!(
                    "{{\"url\": \"http://127.0.0.1:9\", \"name\": \"{}\"}}",
                    worker.address
                )
            }
            text => text,
        };
        let answer = router.admin_with(method, path, &[], body).await;
        assert_eq!(answer.status, status, "{method} {path} {body}");
        let error = &json(&answer)["error"];
        assert_eq!(error["code"], code, "{method} {path}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    let foreign = [("origin", "http://evil.example")];
    let answer = router
        .admin_with("POST", "/drain?worker=a", &foreign, "")
        .await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn beyond_loopback_a_token_is_asked_for() {
    let worker = Worker::start().await;
    let watching = Running::start(&[&worker], "admin: 0.0.0.0:0\n");
    assert_eq!(watching.admin("GET", "/healthz").await.status, 200);
    assert_eq!(watching.admin("GET", "/metrics").await.status, 200);
    assert_eq!(watching.admin("GET", "/state").await.status, 403);
    assert_eq!(watching.admin("POST", "/drain?worker=a").await.status, 403);

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "0123456789abcdef\n").unwrap();
    let settings = format!(
        "admin: 0.0.0.0:0\nadmin_token_file: {}\n",
        file.path().display()
    );
    let router = Running::start(&[&worker], &settings);
    assert_eq!(router.admin("GET", "/readyz").await.status, 200);
    let refused = router.admin("GET", "/state").await;
    assert_eq!(refused.status, 401);
    let bearer = [("authorization", "Bearer 0123456789abcdef")];
    let answer = router.admin_with("GET", "/state", &bearer, "").await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn connections_to_this_port_take_descriptors_of_requests_only_up_to_a_number() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(Conn::to(router.admin).await);
    }
    let mut beyond = Conn::to(router.admin).await;
    assert_eq!(soon("its end", beyond.fill()).await, None);
    open.pop();
    soon("a place that is free again", async {
        loop {
            let mut conn = Conn::to(router.admin).await;
            let asked = conn
                .send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .await;
            if asked.is_some() && conn.response().await.is_some() {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_probe_is_answered_whatever_comes_with_it() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.admin).await;
    let asked = "GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n";
    conn.send(asked).await.unwrap();
    let answer = soon("an answer", conn.response()).await.unwrap();
    assert_eq!((answer.status, answer.text()), (200, "ok\n"));
}
