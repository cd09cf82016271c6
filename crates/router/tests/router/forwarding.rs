//! What goes through and what does not: headers, bodies, streams, cancellation, retries.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Act, Conn, Running, Worker, request, soon, until};

#[tokio::test]
async fn a_request_arrives_as_it_was_sent() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.address).await;
    let body = r#"{ "odd" :1.50,  "ü":"\u00e4" }"#;
    let length = body.len();
    conn.send(&format!(
        "POST /v1/Chat%2Fx?a=1&b=%20&c HTTP/1.1\r\nHost: llm.example\r\nAuthorization: Bearer sk-1\r\nX-Custom: a, b\r\nX-Custom: c\r\nPrefix-Affinity: k\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
    .await
    .unwrap();
    let answer = soon("an answer", conn.response()).await.unwrap();
    let (head, arrived) = worker.last();
    assert_eq!(arrived, body.as_bytes());
    assert!(
        head.starts_with("POST /v1/Chat%2Fx?a=1&b=%20&c HTTP/1.1\r\n"),
        "{head}"
    );
    for kept in [
        "authorization: Bearer sk-1",
        "x-custom: a, b\r\nx-custom: c",
        "prefix-affinity: k",
    ] {
        assert!(head.contains(kept), "{kept} in {head}");
    }
    assert!(
        head.contains(&format!("host: {}\r\n", worker.address)),
        "{head}"
    );
    assert!(
        head.contains(&format!("content-length: {length}\r\n")),
        "{head}"
    );
    for gone in [
        "x-hop",
        "keep-alive",
        "\r\nte:",
        "proxy-connection",
        "proxy-authorization",
        "transfer-encoding",
    ] {
        assert!(!head.contains(gone), "{gone} in {head}");
    }
    assert_eq!(answer.headers["x-worker"], worker.address.to_string());
    for gone in ["x-gone", "keep-alive", "connection"] {
        assert!(!answer.headers.contains_key(gone), "{gone} in {answer:?}");
    }
}

#[tokio::test]
async fn a_big_body_streams_through_in_both_framings() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut conn = Conn::to(router.address).await;
    conn.send(&format!(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    ))
    .await
    .unwrap();
    conn.send_bytes(&body).await;
    assert_eq!(
        soon("an answer", conn.response()).await.unwrap().status,
        200
    );
    assert!(worker.last().1 == body, "by length");

    conn.send("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        .await
        .unwrap();
    for part in body.chunks(70_001) {
        conn.send(&format!("{:x}\r\n", part.len())).await.unwrap();
        conn.send_bytes(part).await;
        conn.send("\r\n").await.unwrap();
    }
    conn.send("0\r\n\r\n").await.unwrap();
    assert_eq!(
        soon("an answer", conn.response()).await.unwrap().status,
        200
    );
    assert!(worker.last().1 == body, "in chunks");
}

#[tokio::test]
async fn a_client_that_expects_100_gets_it_before_the_worker_has_the_body() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.address).await;
    conn.send("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await
        .unwrap();
    let interim = soon("an interim answer", conn.response_head())
        .await
        .unwrap();
    assert_eq!(interim.status, 100);
    conn.send("{}").await.unwrap();
    assert_eq!(
        soon("an answer", conn.response()).await.unwrap().status,
        200
    );
    assert!(!worker.last().0.contains("expect"));
}

#[tokio::test]
async fn events_come_one_by_one() {
    let worker = Worker::start().await;
    worker.does(Act::Stream);
    let router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    let head = soon("a head", conn.response_head()).await.unwrap();
    assert_eq!(head.status, 200);
    for number in 0..5 {
        // The next event is not even made before this one has arrived.
        worker.events.add_permits(1);
        let chunk = soon("an event", conn.chunk()).await.unwrap();
        assert_eq!(chunk, format!("data: {number}\n\n").as_bytes());
    }
    worker.finish.notify_one();
    assert_eq!(soon("the end", conn.chunk()).await, Some(Vec::new()));
    worker.does(Act::Answer);
    // The connection goes on, on both sides.
    assert_eq!(conn.ask(&[], "{}").await.status, 200);
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_request_at_the_worker() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    worker.does(Act::Hang);
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    until("the request", || worker.requests() == 1).await;
    drop(conn);
    until("a cancelled wait", || worker.left.load(SeqCst) == 1).await;

    // Behind bytes that nobody reads meanwhile its end does not show.
    let mut conn = Conn::to(router.address).await;
    let asked = request(&[], "{}");
    conn.send(&asked).await.unwrap();
    until("the request", || worker.requests() == 2).await;
    conn.send(&format!("\r\n{asked}")).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    drop(conn);
    until("a cancelled wait", || worker.left.load(SeqCst) == 2).await;

    worker.does(Act::Stream);
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    soon("a head", conn.response_head()).await.unwrap();
    worker.events.add_permits(1);
    soon("an event", conn.chunk()).await.unwrap();
    drop(conn);
    until("a cancelled stream", || worker.left.load(SeqCst) == 3).await;
    soon("both counted, none in flight", async {
        loop {
            let waiting = router
                .metric("headwater_cancelled_total{stage=\"waiting\"}")
                .await;
            let streaming = router
                .metric("headwater_cancelled_total{stage=\"streaming\"}")
                .await;
            let state = router.state().await;
            if waiting + streaming > 1.5 && state["workers"][0]["in_flight"] == 0 {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_dead_worker_costs_no_client_anything() {
    let (dead, alive) = (Worker::start().await, Worker::start().await);
    let router = Running::start(&[&dead, &alive], "health: {interval_ms: 50}\n");
    let mut kept = Conn::to(router.address).await;
    for key in 0..20 {
        kept.ask(&[("x-session-id", &key.to_string())], "{}").await;
    }
    assert!(dead.requests() > 0);
    dead.die().await;
    for key in 0..20 {
        let answer = kept.ask(&[("x-session-id", &key.to_string())], "{}").await;
        assert_eq!(
            (answer.status, answer.text()),
            (200, alive.address.to_string().as_str())
        );
    }
    router.until_state(&dead, "down").await;
    let listener = TcpListener::bind(dead.address).await.unwrap();
    let back = Worker::at(listener);
    router.until_state(&back, "ready").await;
}

#[tokio::test]
async fn a_worker_that_fails_before_the_first_byte_is_replaced() {
    for (act, cause) in [
        (Act::Status(503), "status_503"),
        (Act::Status(502), "status_502"),
        (Act::Close, "worker_closed"),
    ] {
        let (bad, good) = (Worker::start().await, Worker::start().await);
        bad.does(act);
        let router = Running::start(&[&bad, &good], "breaker: {failures: 100}\n");
        for key in 0..20 {
            let answer = router
                .ask(&[("x-session-id", &key.to_string())], "{}")
                .await;
            assert_eq!(
                (answer.status, answer.text()),
                (200, good.address.to_string().as_str())
            );
        }
        assert!(bad.requests() > 0, "{cause}");
        assert_eq!(good.last().1, b"{}");
        let line = format!("headwater_retries_total{{cause=\"{cause}\"}}");
        assert!(router.metric(&line).await > 0.5, "{cause}");
    }
}

#[tokio::test]
async fn a_retry_that_nobody_is_there_for_costs_others_nothing() {
    let (alone, fails, answers) = (
        Worker::start().await,
        Worker::start().await,
        Worker::start().await,
    );
    alone.does(Act::Status(503));
    fails.does(Act::Close);
    let pool = format!(
        "retry: {{ratio: 0.001}}\nbreaker: {{failures: 100000}}\n\
         pools: [{{name: p, match: {{path: /alone}}, workers: ['{}']}}]\npolicy: round_robin\n",
        alone.url()
    );
    let router = Running::start(&[&fails, &answers], &pool);
    let mut conn = Conn::to(router.address).await;
    for _ in 0..150 {
        let text = request(&[], "{}").replacen("/v1/chat/completions", "/alone", 1);
        conn.send(&text).await.unwrap();
        let answer = soon("an answer", conn.response()).await.unwrap();
        assert_eq!(answer.status, 503);
    }
    assert_eq!(alone.requests(), 150);
    let retries = "headwater_retries_total{cause=\"status_503\"}";
    assert!(router.metric(retries).await.abs() < 0.1);
    // A saved retry is there for whoever can use it.
    assert_eq!(conn.ask(&[], "{}").await.status, 200);
    assert_eq!(conn.ask(&[], "{}").await.status, 200);
    assert!(fails.requests() > 0);
}

#[tokio::test]
async fn a_retry_is_denied_where_there_is_somebody_for_it() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    for worker in [&one, &two] {
        worker.does(Act::Status(503));
    }
    for (workers, expected) in [(&[&one][..], 0.0), (&[&one, &two], 1.0)] {
        let router = Running::start(workers, "retry: {ratio: 0}\n");
        assert_eq!(router.ask(&[], "{}").await.status, 503);
        let denied = router.metric("headwater_retries_denied_total").await;
        assert!((denied - expected).abs() < 0.1, "{}", workers.len());
    }
}

#[tokio::test]
async fn what_cannot_be_repeated_is_passed_on() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "retry: {replay_bytes: 10}\n");
    // Back-pressure of the only worker.
    for status in [429, 503, 404, 500] {
        worker.does(Act::Status(status));
        let answer = router.ask(&[], "{}").await;
        assert_eq!(
            (answer.status, answer.text()),
            (status, worker.address.to_string().as_str())
        );
        assert!(answer.headers.contains_key("prefix-route"));
    }
    // A body that was sent and is not kept.
    let other = Worker::start().await;
    worker.does(Act::Close);
    other.does(Act::Close);
    let router = Running::start(&[&worker, &other], "retry: {replay_bytes: 10}\n");
    let before = worker.requests() + other.requests();
    let answer = router
        .ask(&[("x-session-id", "1")], "longer than ten bytes")
        .await;
    assert_eq!(answer.status, 502);
    assert_eq!(worker.requests() + other.requests(), before + 1);
}

/// A worker that refuses a request as soon as it has the head, and then reads the body all the
/// same, as servers do that want to keep the connection. Keeps what
/// came on the connection of a large one.
async fn refuses_early(listener: TcpListener, saw: Arc<Mutex<Vec<u8>>>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let saw = Arc::clone(&saw);
        tokio::spawn(async move {
            let (mut bytes, mut all) = (vec![0; 1 << 16], Vec::new());
            let mut answered = false;
            while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                all.extend_from_slice(&bytes[..length]);
                if !answered && all.windows(4).any(|four| four == b"\r\n\r\n") {
                    let is_asked = all.starts_with(b"GET ");
                    answered = !is_asked;
                    let status = if is_asked { "200 OK" } else { "503 Busy" };
                    let refusal = format!("HTTP/1.1 {status}\r\ncontent-length: 4\r\n\r\nbusy");
                    stream.write_all(refusal.as_bytes()).await.unwrap();
                }
                let large = b"content-length: 200000";
                if all.windows(large.len()).any(|text| text == large) {
                    saw.lock().unwrap().clone_from(&all);
                } else if !answered {
                    all.clear();
                }
            }
        });
    }
}

#[tokio::test]
async fn a_connection_whose_request_went_on_elsewhere_carries_no_other_one() {
    let saw = Arc::new(Mutex::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let early = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(refuses_early(listener, Arc::clone(&saw)));
    let closes = Worker::start().await;
    closes.does(Act::Close);
    // The early one is the only ready one; the other is tried when it refuses.
    closes.is_idle.store(false, SeqCst);
    let router = Running::before(&[early], "");
    let url = closes.url();
    let added = router.admin_with("POST", "/workers", &[], &url).await;
    assert_eq!(added.status, 201);
    let mut client = Conn::to(router.address).await;
    let body = "x".repeat(200_000);
    let text = request(&[("x-session-id", "a")], &body);
    let (first, rest) = text.split_at(3_000);
    client.send(first).await.unwrap();
    until("the early answer", || !saw.lock().unwrap().is_empty()).await;
    client.send(rest).await.unwrap();
    let answer = soon("the refusal", client.response()).await.unwrap();
    assert_eq!((answer.status, answer.text()), (503, "busy"));
    assert_eq!(closes.last().1.len(), 200_000, "it had all of it");

    closes.does(Act::Answer);
    let key = [("x-session-id", "b")];
    for _ in 0..4 {
        let answer = router.ask(&key, "SECRET").await;
        assert_eq!(answer.status, 200);
    }
    let saw = saw.lock().unwrap();
    assert!(!saw.windows(6).any(|word| word == b"SECRET"));
}

#[tokio::test]
async fn a_429_goes_elsewhere_only_where_asked() {
    let (busy, free) = (Worker::start().await, Worker::start().await);
    busy.does(Act::Status(429));
    let ask = async |settings: &str| {
        let router = Running::start(&[&busy, &free], settings);
        let mut statuses = std::collections::BTreeSet::new();
        for key in 0..20 {
            statuses.insert(
                router
                    .ask(&[("x-session-id", &key.to_string())], "{}")
                    .await
                    .status,
            );
        }
        statuses.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(ask("").await, [200, 429]);
    assert_eq!(ask("retry: {on_429: elsewhere}\n").await, [200]);
}

#[tokio::test]
async fn with_every_worker_down_the_client_is_told_when_to_come_back() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "health: {interval_ms: 20}\n");
    worker.die().await;
    router.until_state(&worker, "down").await;
    let answer = router.ask(&[], "{}").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers["retry-after"], "1");
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(json["error"]["code"], "none_ready");
    assert_eq!(router.admin("GET", "/readyz").await.status, 503);
    assert_eq!(router.admin("GET", "/healthz").await.status, 200);
}

#[tokio::test]
async fn a_worker_that_says_503_to_health_is_out_and_one_that_knows_no_health_is_in() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "health: {interval_ms: 20}\n");
    worker.health.store(503, SeqCst);
    router.until_state(&worker, "down").await;
    worker.health.store(404, SeqCst);
    router.until_state(&worker, "ready").await;
}

#[tokio::test]
async fn a_stream_that_is_cut_does_not_look_whole() {
    let worker = Worker::start().await;
    worker.does(Act::Cut);
    let router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    assert_eq!(
        soon("a head", conn.response_head()).await.unwrap().status,
        200
    );
    let mut got = Vec::new();
    while let Some(chunk) = soon("a chunk or the cut", conn.chunk()).await {
        assert!(!chunk.is_empty(), "the end of the body");
        got.extend(chunk);
    }
    assert_eq!(got, b"onetwo");
}

#[tokio::test]
async fn what_is_no_request_for_a_worker_is_refused() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "limits: {header_bytes: 8192}\n");
    let upgrade = router
        .ask(&[("connection", "upgrade"), ("upgrade", "websocket")], "")
        .await;
    assert_eq!(upgrade.status, 501);
    let big = "a".repeat(20_000);
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[("x-big", &big)], "")).await;
    assert_eq!(
        soon("an answer", conn.response_head())
            .await
            .unwrap()
            .status,
        431
    );
    assert_eq!(worker.requests(), 0);
}

#[tokio::test]
async fn too_many_connections_are_told_so() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "limits: {connections: 1}\n");
    let mut first = Conn::to(router.address).await;
    assert_eq!(first.ask(&[], "{}").await.status, 200);
    let mut second = Conn::to(router.address).await;
    let answer = soon("an answer", second.response()).await.unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(first.ask(&[], "{}").await.status, 200);
}

#[tokio::test]
async fn a_head_that_is_none_is_answered_like_any_other_fault() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let many = "x: 1\r\n".repeat(150);
    for (head, status, code) in [
        ("host: a\r\nno colon\r\n", 400, "malformed_head"),
        (many.as_str(), 431, "large_head"),
    ] {
        let mut client = Conn::to(router.address).await;
        let text = format!("GET / HTTP/1.1\r\n{head}\r\n");
        client.send(&text).await.unwrap();
        let answer = soon("a refusal", client.response()).await.unwrap();
        assert_eq!(answer.status, status);
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(json["error"]["code"], code);
        let refused = format!("headwater_refused_total{{cause=\"{code}\"}}");
        assert!((router.metric(&refused).await - 1.0).abs() < 0.1, "{code}");
    }
    let refused = "headwater_responses_total{class=\"4xx\"}";
    assert!((router.metric(refused).await - 2.0).abs() < 0.1);
}

#[tokio::test]
async fn whoever_is_turned_away_gets_to_read_why() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "limits: {connections: 1}\n");
    let mut first = Conn::to(router.address).await;
    assert_eq!(first.ask(&[], "{}").await.status, 200);
    for _ in 0..10 {
        let mut other = Conn::to(router.address).await;
        let text = request(&[], &"x".repeat(300_000));
        let (first, rest) = text.split_at(100_000);
        let sent = other.send(first).await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let sent = sent.and(other.send(rest).await);
        let answer = soon("a refusal", other.response()).await;
        let status = answer.map(|answer| answer.status);
        assert_eq!((sent, status), (Some(()), Some(503)));
    }
}

#[tokio::test]
async fn a_router_that_stops_lets_streams_finish() {
    let worker = Worker::start().await;
    worker.does(Act::Stream);
    let mut router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    soon("a head", conn.response_head()).await.unwrap();
    router.stop();
    soon("a closed port", async {
        while tokio::net::TcpStream::connect(router.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(router.admin("GET", "/readyz").await.status, 503);
    worker.events.add_permits(1);
    assert_eq!(
        soon("an event", conn.chunk()).await.unwrap(),
        b"data: 0\n\n"
    );
    worker.finish.notify_one();
    assert_eq!(soon("the end", conn.chunk()).await, Some(Vec::new()));
    router.ended().await;
}

#[tokio::test]
async fn a_client_may_send_all_it_has_behind_an_early_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.readable().await.unwrap();
            let refusal = b"HTTP/1.1 413 X\r\ncontent-length: 4\r\n\r\nmuch";
            stream.write_all(refusal).await.unwrap();
            open.push(stream);
        }
    });
    let router = Running::before(&[format!("http://{address}")], "");
    let mut conn = Conn::to(router.address).await;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: router\r\nx-session-id: a\r\ncontent-length: 400000\r\n\r\n";
    conn.send(head).await.unwrap();
    conn.send(&"x".repeat(1_000)).await.unwrap();
    let answer = soon("an early answer", conn.response()).await.unwrap();
    assert_eq!((answer.status, answer.text()), (413, "much"));
    assert_eq!(answer.headers["connection"], "close");
    // Nobody waits for it, and nobody minds.
    for _ in 0..39 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        conn.send(&"x".repeat(10_000)).await.expect("no reset");
    }
    assert_eq!(soon("the end", conn.fill()).await, None);
}

#[tokio::test]
async fn a_worker_that_falls_silent_loses_its_answer() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "health: {silence_seconds: 1}\n");
    worker.does(Act::Stream);
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    soon("a head", conn.response_head()).await.unwrap();
    for _ in 0..6 {
        // Slower than the limit in all, not from one to the next.
        worker.events.add_permits(1);
        soon("an event", conn.chunk()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    assert_eq!(soon("a cut", conn.chunk()).await, None);
    let silent = "headwater_upstream_errors_total{cause=\"silent\"}";
    assert_eq!(router.metric(silent).await, 1.0);
    assert_eq!(router.state().await["workers"][0]["in_flight"], 0);
}
