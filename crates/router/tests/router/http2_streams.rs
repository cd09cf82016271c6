//! HTTP/2 stream by stream: what one of them does is nothing to the others.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use h2::SendStream;
use h2::client::{ResponseFuture, SendRequest};
use hyper::{Request, Response, StatusCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Conn, Running, Worker, request, soon, until};

/// A client's connection that goes on by itself.
async fn client(address: SocketAddr) -> SendRequest<bytes::Bytes> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (client, connection) = soon("HTTP/2", h2::client::handshake(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Begins a request whose body is still to come.
async fn begin(
    client: &mut SendRequest<bytes::Bytes>,
    path: &str,
    headers: &[(&str, &str)],
) -> (ResponseFuture, SendStream<bytes::Bytes>) {
    let mut request = Request::post(format!("http://router{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    poll_fn(|cx| client.poll_ready(cx)).await.unwrap();
    client
        .send_request(request.body(()).unwrap(), false)
        .unwrap()
}

/// Sends as long as anybody takes it; gives how much that was.
async fn fill(body: &mut SendStream<bytes::Bytes>) -> usize {
    const PAUSE: Duration = Duration::from_millis(300);
    let mut sent = 0;
    body.reserve_capacity(16 << 10);
    while let Ok(Some(Ok(room))) = timeout(PAUSE, poll_fn(|cx| body.poll_capacity(cx))).await {
        body.send_data(vec![b'x'; room].into(), false).unwrap();
        sent += room;
        body.reserve_capacity(16 << 10);
    }
    sent
}

/// Somebody who takes connections and reads nothing of them.
async fn sink() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        loop {
            kept.push(listener.accept().await.unwrap());
        }
    });
    address
}

#[tokio::test]
async fn uploads_that_stall_stop_no_other_one() {
    let (worker, sink) = (Worker::start().await, sink().await);
    let settings = format!(
        "placement: {{hold: {{order: off}}}}\npools: [{{name: s, match: {{path: /sink}}, workers: ['http://{sink}']}}]\n"
    );
    let router = Running::start(&[&worker], &settings);
    let mut client = client(router.address).await;
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let (answer, mut body) = begin(&mut client, "/sink", &[("x-session-id", "a")]).await;
        assert!(fill(&mut body).await > 0);
        stalled.push((answer, body));
    }
    let (answer, mut body) = begin(&mut client, "/v1", &[]).await;
    body.send_data("0123456789".into(), true).unwrap();
    let answer = soon("an answer", answer).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(worker.last().1, b"0123456789");
}

/// A worker that answers what is asked of `/big` without an end; gives how much of that was taken.
async fn floods() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, taken) = (
        listener.local_addr().unwrap(),
        Arc::<AtomicUsize>::default(),
    );
    let sent = Arc::clone(&taken);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let sent = Arc::clone(&sent);
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut answer))) = connection.accept().await {
                    let mut body = answer.send_response(Response::new(()), false).unwrap();
                    if request.uri().path() != "/big" {
                        body.send_data("fine".into(), true).unwrap();
                        continue;
                    }
                    let sent = Arc::clone(&sent);
                    tokio::spawn(async move {
                        loop {
                            sent.fetch_add(fill(&mut body).await, SeqCst);
                        }
                    });
                }
            });
        }
    });
    (address, taken)
}

#[tokio::test]
async fn answers_that_nobody_reads_stop_no_other_one() {
    let (worker, taken) = floods().await;
    let router = Running::before(&[format!("h2c://{worker}")], "");
    // How many requests the worker takes in one connection shows with the second one.
    for _ in 0..2 {
        assert_eq!(router.ask(&[], "{}").await.status, 200);
    }
    let mut slow = Vec::new();
    for _ in 0..3 {
        let before = taken.load(SeqCst);
        let mut conn = Conn::to(router.address).await;
        let asked = request(&[], "{}").replace("/v1/chat/completions", "/big");
        conn.send(&asked).await.unwrap();
        soon("a head", conn.response_head()).await.unwrap();
        slow.push(conn);
        // Counted once no more of it is taken.
        until("a stall", || taken.load(SeqCst) > before).await;
    }
    let answer = router.ask(&[], "{}").await;
    assert_eq!((answer.status, answer.text()), (200, "fine"));
    let connects = router.metric("headwater_upstream_connects_total").await;
    assert!(connects < 1.5, "{connects} connections");
}

#[tokio::test]
async fn who_waits_for_100_is_told_to_send_without() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let mut client = client(router.address).await;
    let expects = [("expect", "100-continue")];
    let (answer, _body) = begin(&mut client, "/waits", &expects).await;
    let answer = soon("an answer", answer).await.unwrap();
    assert_eq!(
        (answer.status(), worker.requests()),
        (StatusCode::EXPECTATION_FAILED, 0)
    );

    // Most clients wait for a second at most.
    let (answer, mut body) = begin(&mut client, "/goes-on", &expects).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    body.send_data("abc".into(), true).unwrap();
    let answer = soon("an answer", answer).await.unwrap();
    assert_eq!(answer.status(), 200);
    let (head, arrived) = worker.last();
    assert!(!head.contains("expect") && arrived == b"abc", "{head}");
}

#[tokio::test]
async fn a_silent_client_without_a_stream_holds_up_no_end() {
    let worker = Worker::start().await;
    let mut router = Running::start(&[&worker], "drain_seconds: 60\n");
    let mut silent = Conn::to(router.address).await;
    // The preface and settings of HTTP/2, and never a word again.
    silent
        .send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    silent.send_bytes(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
    soon("settings", silent.some(9)).await.unwrap();
    let mut polite = client(router.address).await;
    let (answer, mut body) = begin(&mut polite, "/v1", &[]).await;
    body.send_data("{}".into(), true).unwrap();
    assert_eq!(soon("an answer", answer).await.unwrap().status(), 200);
    router.stop();
    router.ended().await;
}
