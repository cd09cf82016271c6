//! What clients that speak HTTP/2 get: nothing that is of HTTP/1.1 alone.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::header::HeaderMap;
use hyper::http::response;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::support::{Act, Running, Worker, soon};

/// An answer as it came: its head, its body, and what followed.
struct Answer {
    head: response::Parts,
    body: Bytes,
    trailers: Option<HeaderMap>,
}

/// Asks over a connection of its own.
async fn ask(address: SocketAddr, request: hyper::http::request::Builder) -> Answer {
    let asked = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let executor = TokioExecutor::new();
        let opened = http2::handshake(executor, TokioIo::new(stream)).await;
        let (mut sender, connection) = opened.unwrap();
        let driver = tokio::spawn(connection);
        let request = request.body(Full::new(Bytes::from("{}"))).unwrap();
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap();
        let trailers = body.trailers().cloned();
        driver.abort();
        Answer {
            head,
            body: body.to_bytes(),
            trailers,
        }
    };
    soon("an answer", asked).await
}

async fn check(bytes: &'static str, expected: (u16, &[&str], &str)) {
    let worker = Worker::start().await;
    worker.does(Act::Raw(bytes));
    let router = Running::start(&[&worker], "");
    let request = Request::post(format!("http://{}/v1", router.address));
    let answer = ask(router.address, request).await;
    let lengths: Vec<_> = answer
        .head
        .headers
        .get_all("content-length")
        .iter()
        .collect();
    let found = (answer.head.status.as_u16(), &*answer.body);
    assert_eq!(found, (expected.0, expected.2.as_bytes()), "{bytes:?}");
    assert_eq!(lengths, expected.1, "{bytes:?}");
}

#[tokio::test]
async fn a_length_is_said_once_and_not_where_there_can_be_no_body() {
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi";
    check(twice, (200, &["2"], "hi")).await;
    let none = "HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n";
    check(none, (204, &[], "")).await;
    let unchanged = "HTTP/1.1 304 X\r\ncontent-length: 5\r\n\r\n";
    check(unchanged, (304, &["5"], "")).await;
}

#[tokio::test]
async fn trailers_that_are_about_one_hop_stay_there() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    // A second one, for which the first is a worker that speaks HTTP/2.
    let outer = Running::before(&[format!("h2c://{}", router.address)], "");
    let mixed = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\
                 x-sum: 7\r\nconnection: close\r\ncontent-length: 5\r\nte: gzip\r\n\r\n";
    let only_others = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\
                       transfer-encoding: chunked\r\n\r\n";
    for (bytes, sums) in [(mixed, 1), (only_others, 0)] {
        worker.does(Act::Raw(bytes));
        for address in [router.address, outer.address] {
            let request = Request::post(format!("http://{address}/v1"));
            let answer = ask(address, request).await;
            assert_eq!(&*answer.body, b"hi");
            let trailers = answer.trailers.unwrap_or_default();
            assert_eq!(trailers.len(), sums, "{trailers:?}");
            assert_eq!(trailers.contains_key("x-sum"), sums == 1);
        }
    }
}

#[tokio::test]
async fn more_than_100_headers_are_too_many() {
    let worker = Worker::start().await;
    // A trace adds one, which is not the client's.
    let traces = "traces: {endpoint: 'http://127.0.0.1:9', sample: 1}\n";
    let router = Running::start(&[&worker], traces);
    for (count, status) in [(100, 200), (101, 431)] {
        let request = Request::post(format!("http://{}/v1", router.address));
        // The length is one of them.
        let headers = (1..count).map(|number| format!("x-{number}"));
        let request = headers.fold(request, |request, name| request.header(name, "v"));
        let answer = ask(router.address, request).await;
        assert_eq!(answer.head.status, status, "{count}");
    }
    let refused = "headwater_refused_total{cause=\"large_head\"}";
    assert!((router.metric(refused).await - 1.0).abs() < 0.1);
    assert_eq!(worker.requests(), 1);
}
