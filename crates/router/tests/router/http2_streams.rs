//! HTTP/2 stream by stream: what one of them does is nothing to the others.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use h2::SendStream;
use h2::client::{ResponseFuture, SendRequest};
use hyper::Request;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Running, Worker, soon};

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
