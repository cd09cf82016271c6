//! What workers put on the wire, byte by byte: what goes on to the client, and what does not.

use std::sync::atomic::Ordering::SeqCst;

use crate::support::{Act, Conn, Running, Worker, soon};

const SETTINGS: &str = "retry: {max: 0}\nbreaker: {failures: 1000}\n";

async fn check(bytes: &'static str, expected: (u16, &str)) {
    let worker = Worker::start().await;
    worker.does(Act::Raw(bytes));
    let router = Running::start(&[&worker], SETTINGS);
    let answer = router.ask(&[], "{}").await;
    let text = if answer.status == 502 {
        ""
    } else {
        answer.text()
    };
    assert_eq!((answer.status, text), expected, "{bytes:?}");
}

#[tokio::test]
async fn answers_in_every_framing_arrive() {
    check(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        (200, "ok"),
    )
    .await;
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok";
    check(interim, (201, "ok")).await;
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1;a=b\r\no\r\n01\r\nk\r\n0\r\n\r\n";
    check(chunked, (200, "ok")).await;
    let both = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    check(both, (200, "ok")).await;
    check("HTTP/1.1 204 No Content\r\n\r\n", (204, "")).await;
}

#[tokio::test]
async fn what_could_end_in_two_places_is_no_answer() {
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!",
        "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    ] {
        check(head, (502, "")).await;
    }
}

#[tokio::test]
async fn a_chunk_that_is_none_cuts_the_answer() {
    let worker = Worker::start().await;
    worker.does(Act::Raw(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n",
    ));
    let router = Running::start(&[&worker], SETTINGS);
    let mut conn = Conn::to(router.address).await;
    conn.send(&crate::support::request(&[], "{}")).await;
    let head = soon("a head", conn.response_head()).await.unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(soon("a chunk", conn.chunk()).await, Some(b"ok".to_vec()));
    assert_eq!(soon("the cut", conn.chunk()).await, None);
}

#[tokio::test]
async fn what_follows_an_answer_is_not_the_answer_to_somebody_else() {
    let worker = Worker::start().await;
    worker.does(Act::Raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    ));
    let router = Running::start(&[&worker], SETTINGS);
    let before = worker.connections.load(SeqCst);
    for turn in 1..=3 {
        assert_eq!(router.ask(&[], "{}").await.text(), "ok");
        // Each request had a connection of its own.
        assert!(worker.connections.load(SeqCst) >= before + turn);
    }
}
