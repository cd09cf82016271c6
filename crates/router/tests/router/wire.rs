//! What clients put on the wire, byte by byte: what is refused, and how.

use std::sync::atomic::Ordering::SeqCst;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::strict::Strict;
use crate::support::{Act, Conn, Running, Worker, soon, until};

/// The statuses of at most so many answers, fewer if the connection ends.
async fn statuses(router: &Running, raw: &[u8], most: usize) -> Vec<u16> {
    let mut conn = Conn::to(router.address).await;
    conn.send_bytes(raw).await;
    let mut statuses = Vec::new();
    while statuses.len() < most {
        match soon("an answer", conn.response()).await {
            Some(answer) => statuses.push(answer.status),
            None => break,
        }
    }
    statuses
}

fn post(headers: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n{body}")
}

#[tokio::test]
async fn what_could_be_read_as_two_requests_is_refused() {
    const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let cases = [
        // A length beside chunks, in both orders.
        post(&format!("Content-Length: 5\r\n{chunked}"), "0\r\n\r\n"),
        post(&format!("{chunked}Content-Length: 5\r\n"), "0\r\n\r\n"),
        // Lengths that differ, or are no lengths.
        post("Content-Length: 2\r\nContent-Length: 3\r\n", "abc"),
        post("Content-Length: 2, 2\r\n", "ab"),
        post("Content-Length: +2\r\n", "ab"),
        post("Content-Length: -2\r\n", "ab"),
        post("Content-Length: 0x2\r\n", "ab"),
        post("Content-Length: 2 2\r\n", "ab"),
        post("Content-Length: 99999999999999999999\r\n", "ab"),
        post("Content-Length:\r\n", ""),
        // Codings that some do not see.
        post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding:\u{b}chunked\r\n", "0\r\n\r\n"),
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        // Lines that some end elsewhere.
        post("X: a\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("X: a\rTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("X: a\nY: b\r\n", ""),
        "GET / HTTP/1.1\nHost: a\n\n".to_owned(),
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: a\r\n\n".to_owned(),
        post("X: a\0b\r\n", ""),
        post("X a: b\r\n", ""),
        post(": b\r\n", ""),
        // Hosts.
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
        // Request lines.
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n".to_owned(),
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n".to_owned(),
        "G\u{e9}T / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
    ];
    for case in cases {
        let found = statuses(&router, format!("{case}{HIDDEN}").as_bytes(), 2).await;
        let refused = matches!(found.as_slice(), [400] | []);
        assert!(refused, "{case:?}: {found:?}");
        assert_eq!(worker.requests(), 0, "{case:?}");
    }
}

#[tokio::test]
async fn which_http_it_is_may_come_in_pieces() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const NO_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let pause = || tokio::time::sleep(std::time::Duration::from_millis(20));
    for cut in [1, 3, 14, 23] {
        let mut conn = Conn::to(router.address).await;
        conn.send_bytes(&PREFACE[..cut]).await;
        pause().await;
        conn.send_bytes(&[&PREFACE[cut..], NO_SETTINGS].concat())
            .await;
        // Its own settings come first: three bytes of length, then their type.
        let answer = soon("settings", conn.some(9)).await.unwrap();
        assert_eq!((answer[3], &answer[5..]), (4, &[0; 4][..]), "{cut}");
    }
    for cut in [1, 2, 3] {
        let mut conn = Conn::to(router.address).await;
        let text = post("Content-Length: 2\r\n", "ab").replace("POST", "PRIVATE");
        conn.send_bytes(&text.as_bytes()[..cut]).await;
        pause().await;
        conn.send_bytes(&text.as_bytes()[cut..]).await;
        let answer = soon("an answer", conn.response()).await.unwrap();
        assert_eq!(answer.status, 200, "{cut}");
    }
}

#[tokio::test]
async fn chunks_that_could_be_read_in_two_ways_end_the_connection() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    for chunk in [
        "0x2\r\nab\r\n0\r\n\r\n",
        "+2\r\nab\r\n0\r\n\r\n",
        "-2\r\nab\r\n0\r\n\r\n",
        "2\nab\r\n0\r\n\r\n",
        "2\r\nabc\r\n0\r\n\r\n",
        "2\r\nab0\r\n\r\n",
        "2;a=\nb\r\nab\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nab\r\n0\r\n\r\n",
        "\r\nab\r\n0\r\n\r\n",
    ] {
        let request = post("Transfer-Encoding: chunked\r\n", chunk);
        let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
        let found = statuses(&router, format!("{request}{hidden}").as_bytes(), 2).await;
        assert!(
            matches!(found.as_slice(), [400] | []),
            "{chunk:?}: {found:?}"
        );
        assert_eq!(worker.requests(), 0, "{chunk:?}");
    }
}

#[tokio::test]
async fn what_has_one_meaning_passes() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (case, body) in [
        (post("Content-Length: 2\r\n", "ab"), "ab"),
        (
            post("Content-Length: 2\r\nContent-Length: 2\r\n", "ab"),
            "ab",
        ),
        (post(chunked, "2;x=\"y\"\r\nab\r\n0\r\n\r\n"), "ab"),
        (post(chunked, "0000002\r\nab\r\n000\r\n\r\n"), "ab"),
        (
            post(chunked, "1\r\na\r\n1\r\nb\r\n0\r\nX-Sum: 1\r\n\r\n"),
            "ab",
        ),
        ("GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), ""),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), ""),
        ("GET / HTTP/1.0\r\n\r\n".to_owned(), ""),
    ] {
        assert_eq!(
            statuses(&router, case.as_bytes(), 1).await,
            [200],
            "{case:?}"
        );
        assert_eq!(worker.last().1, body.as_bytes(), "{case:?}");
    }
    let two = post("Content-Length: 2\r\n", "ab").repeat(2);
    assert_eq!(statuses(&router, two.as_bytes(), 2).await, [200, 200]);
}

#[tokio::test]
async fn what_comes_right_behind_a_request_is_judged_like_the_first() {
    let (worker, strict) = (Worker::start().await, Strict::start());
    let router = Running::start(&[&worker], "");
    let first = post("Content-Length: 2\r\n", "ab");
    let chunked = "Transfer-Encoding: chunked\r\n";
    for second in [
        post("Content-Length: 2\r\nContent-Length: 3\r\n", "abc"),
        post("X: a\r\n Y: b\r\n", ""),
        post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: gzip\r\n", "0\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
    ] {
        let before = worker.requests();
        let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
        let all = format!("{first}{second}{hidden}");
        let found = statuses(&router, all.as_bytes(), 3).await;
        assert!(
            matches!(found.as_slice(), [200, 400] | [200]),
            "{second:?}: {found:?}"
        );
        assert_eq!(worker.requests(), before + 1, "{second:?}");
    }
    // Here the parser takes the length away before anybody else sees it. What is left has one
    // meaning, and the worker gets that meaning alone; the connection may end.
    for both in [
        post(&format!("{chunked}Content-Length: 5\r\n"), "0\r\n\r\n"),
        post(&format!("Content-Length: 5\r\n{chunked}"), "0\r\n\r\n"),
    ] {
        let all = format!("{first}{both}{first}");
        strict.check(all.as_bytes());
        let found = statuses(&router, all.as_bytes(), 3).await;
        let known = matches!(found.as_slice(), [200, 400] | [200, 200] | [200, 200, 200]);
        assert!(known, "{both:?}: {found:?}");
    }
}

#[tokio::test]
async fn a_host_in_the_request_line_and_another_one_name_the_same_worker() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    for case in [
        "GET http://b.example:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://user:secret@b.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://b.example/x?y HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "GET https://b.example/x?y HTTP/1.0\r\n\r\n",
        "GET /x?y HTTP/1.1\r\nHost: b.example\r\nX-Forwarded-Host: c\r\n\r\n",
    ] {
        assert_eq!(
            statuses(&router, case.as_bytes(), 1).await,
            [200],
            "{case:?}"
        );
        let head = worker.last().0;
        assert!(head.starts_with("GET /x?y HTTP/1.1\r\n"), "{head}");
        let hosts: Vec<&str> = head.lines().filter(|l| l.starts_with("host:")).collect();
        assert_eq!(hosts, [format!("host: {}", worker.address)], "{case:?}");
    }
    let before = worker.requests();
    for (case, status) in [
        ("OPTIONS * HTTP/1.1", 200),
        ("GET //b.example/x HTTP/1.1", 200),
        // These name no path.
        ("GET b.example:80 HTTP/1.1", 400),
        ("GET x HTTP/1.1", 400),
        ("GET * HTTP/1.1", 400),
        ("GET http:///x HTTP/1.1", 400),
    ] {
        let raw = format!("{case}\r\nHost: a\r\n\r\n");
        assert_eq!(
            statuses(&router, raw.as_bytes(), 1).await,
            [status],
            "{case:?}"
        );
    }
    assert_eq!(worker.requests(), before + 2);
    assert!(
        worker
            .last()
            .0
            .starts_with("GET //b.example/x HTTP/1.1\r\n")
    );
}

#[tokio::test]
async fn options_of_a_host_alone_are_of_the_server_itself() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    for (case, expected) in [
        ("OPTIONS http://a", "OPTIONS * "),
        ("OPTIONS https://a:81", "OPTIONS * "),
        ("OPTIONS http://a/", "OPTIONS / "),
        ("OPTIONS http://a?x", "OPTIONS /?x "),
        ("OPTIONS http://a/x", "OPTIONS /x "),
        ("OPTIONS *", "OPTIONS * "),
        ("GET http://a", "GET / "),
    ] {
        let raw = format!("{case} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(statuses(&router, raw.as_bytes(), 1).await, [200], "{case}");
        let head = worker.last().0;
        assert!(head.starts_with(expected), "{case}: {head}");
    }
}

#[tokio::test]
async fn trailers_go_through() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let request = post(
        "Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n",
        "2\r\nab\r\n0\r\nX-Sum: 7\r\nKeep-Alive: 5\r\nContent-Length: 9\r\n\r\n",
    );
    assert_eq!(statuses(&router, request.as_bytes(), 1).await, [200]);
    assert!(worker.last().0.contains("trailer: X-Sum"));
    assert_eq!(*worker.trailers.lock().unwrap(), ["x-sum: 7"]);
}

#[tokio::test]
async fn what_this_proxy_does_not_do_is_said() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "limits: {body_bytes: 10}\n");
    for (case, status) in [
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n".to_owned(), 501),
        (
            post("Connection: upgrade\r\nUpgrade: websocket\r\n", ""),
            501,
        ),
        (
            post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
            501,
        ),
        (post("Expect: 200-ok\r\n", ""), 417),
        (post("Content-Length: 11\r\n", "01234567890"), 413),
    ] {
        assert_eq!(
            statuses(&router, case.as_bytes(), 1).await,
            [status],
            "{case:?}"
        );
    }
    assert_eq!(worker.requests(), 0);
    // A length that shows only as the body comes.
    let body = "6\r\n012345\r\n5\r\n67890\r\n0\r\n\r\n";
    let request = post("Transfer-Encoding: chunked\r\nX-Session-Id: 1\r\n", body);
    assert_eq!(statuses(&router, request.as_bytes(), 1).await, [413]);
    let small = post("Content-Length: 10\r\n", "0123456789");
    assert_eq!(statuses(&router, small.as_bytes(), 1).await, [200]);
}

#[tokio::test]
async fn a_client_that_is_too_slow_is_told_so_and_costs_the_worker_nothing() {
    let worker = Worker::start().await;
    let router = Running::start(
        &[&worker],
        "limits: {header_seconds: 1, stall_seconds: 1}\n",
    );
    let mut head = Conn::to(router.address).await;
    head.send("POST / HTTP/1.1\r\nHost: a\r\n").await.unwrap();
    let mut body = Conn::to(router.address).await;
    let start = post("Content-Length: 9\r\nX-Session-Id: 1\r\n", "abc");
    body.send(&start).await.unwrap();
    for (conn, code) in [(&mut head, "slow_head"), (&mut body, "slow_body")] {
        let answer = soon("an answer", conn.response()).await.unwrap();
        assert_eq!(answer.status, 408);
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(json["error"]["code"], code);
        assert_eq!(soon("the end", conn.fill()).await, None);
    }
    assert_eq!(worker.requests(), 0);
}

#[tokio::test]
async fn who_still_sends_reads_why_it_was_refused() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "limits: {body_bytes: 1000}\n");
    let large = "x".repeat(6_000_000);
    let upgrade = "Connection: upgrade\r\nUpgrade: ";
    for (case, status) in [
        (post(&format!("X: {large}\r\n"), ""), 431),
        (post("Content-Length: 6000000\r\n", &large), 413),
        (post("Transfer-Encoding: gzip, chunked\r\n", &large), 501),
        (
            post("Content-Length: 1\r\nContent-Length: 2\r\n", &large),
            400,
        ),
        // The engine does not end a connection properly where another protocol was offered.
        (
            post(
                &format!("{upgrade}h2c\r\nContent-Length: 6000000\r\n"),
                &large,
            ),
            413,
        ),
        (
            post(
                &format!("{upgrade}websocket\r\nContent-Length: 6000000\r\n"),
                &large,
            ),
            501,
        ),
    ] {
        let mut conn = Conn::to(router.address).await;
        // All of it is taken, though the answer came after the first few bytes.
        conn.send_bytes(case.as_bytes()).await;
        let answer = soon("an answer", conn.response_head()).await;
        assert_eq!(answer.unwrap().status, status);
        while soon("the end", conn.fill()).await.is_some() {}
    }
    assert_eq!(worker.requests(), 0);
}

#[tokio::test]
async fn a_refusal_says_whether_the_connection_goes_on() {
    let worker = Worker::start().await;
    let pool = format!(
        "pools: [{{name: p, match: {{path: /v1}}, workers: ['{}']}}]\n",
        worker.url()
    );
    let router = Running::start(&[], &pool);
    let ask = |headers: &str, length: usize| {
        format!(
            "POST /none HTTP/1.1\r\nHost: a\r\nX-Session-Id: 1\r\n{headers}Content-Length: {length}\r\n\r\n"
        )
    };
    let chunked = ask("Transfer-Encoding: chunked\r\n", 0).replace("Content-Length: 0\r\n", "");
    let waits = "Expect: 100-continue\r\n";
    let all = "x".repeat(1_000);
    let most = "x".repeat(500_000);
    for (head, body, status, closes) in [
        (ask("", 1_000), &*all, 404, false),
        (ask("Expect: tea\r\n", 1_000), &all, 417, false),
        (chunked.clone(), "3\r\nabc\r\n0\r\n\r\n", 404, false),
        (chunked, "3\r\nabc\r\n", 404, true),
        (ask("", 1_001), &all, 404, true),
        (ask("", 500_000), &most, 404, true),
        // What was not asked for need not come.
        (ask(waits, 1_000), "", 404, true),
    ] {
        let mut conn = Conn::to(router.address).await;
        conn.send_bytes(format!("{head}{body}").as_bytes()).await;
        let answer = soon("a refusal", conn.response()).await.unwrap();
        assert_eq!(answer.status, status, "{head:?}");
        let says = answer.headers.get("connection").map(String::as_str);
        assert_eq!(says, closes.then_some("close"), "{head:?}");
        if closes {
            assert_eq!(soon("the end", conn.fill()).await, None, "{head:?}");
        } else {
            let next = "POST /v1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
            conn.send(next).await.unwrap();
            let answer = soon("an answer", conn.response()).await.unwrap();
            assert_eq!(answer.status, 200, "{head:?}");
        }
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_let_go() {
    let worker = Worker::start().await;
    worker.does(Act::Flood);
    let router = Running::start(&[&worker], "limits: {stall_seconds: 1}\n");
    let mut conn = Conn::to(router.address).await;
    conn.send(&post("", "")).await.unwrap();
    until("the worker is free", || worker.left.load(SeqCst) == 1).await;
}

#[test]
fn no_bytes_confuse_the_router_or_reach_the_worker_as_nonsense() {
    let strict = Strict::start();
    let piece = prop::sample::select(vec![
        "POST / HTTP/1.1\r\n",
        "GET /x?y HTTP/1.1\r\n",
        "GET http://a/ HTTP/1.1\r\n",
        "GET / HTTP/1.0\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "Host: a\r\n",
        "Content-Length: 3\r\n",
        "content-length:3\n",
        "Content-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding:  Chunked \r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "Expect: 100-continue\r\n",
        "Connection: close\r\n",
        "Connection: upgrade, content-length\r\n",
        "Upgrade: h2c\r\n",
        "Trailer: x\r\n",
        "Prefix-Signature: v=1, b=16, n=48, fp=:q83vASNFZ4k=:, r=(2;h=:q83vASNFZ4k=:)\r\n",
        " folded\r\n",
        "x: \0\r\n",
        "\r\n",
        "\n",
        "\r",
        "abc",
        "3\r\nabc\r\n",
        "0003;x\r\nabc\r\n",
        "3\nabc\r\n",
        "0\r\n\r\n",
        "0\r\nx: y\r\n\r\n",
        "\u{fffd}",
    ]);
    let pieces = prop::collection::vec(piece, 1..12);
    let config = Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&pieces, |pieces| {
        strict.check(pieces.concat().as_bytes());
        Ok(())
    });
    run.unwrap();
}
