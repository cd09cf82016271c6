//! TLS on both sides and HTTP/2 to workers: one router stands behind another.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Act, Conn, Running, Worker, request, soon, until};

/// Writes an authority's certificate, and one for this machine that the authority signed.
fn write_certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let params = CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
}

fn tls(folder: &Path) -> String {
    let folder = folder.display();
    format!("tls: {{certificate: {folder}/cert.pem, key: {folder}/key.pem}}\n")
}

/// Waits until the other side is believed.
async fn until_answered(router: &Running) {
    soon("an answer", async {
        while router.ask(&[], "{}").await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
}

async fn until_reload_failed(router: &Running) {
    soon("an error that is counted", async {
        while router.metric("headwater_reload_errors_total").await < 0.5 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// A router that reaches another one in the given way.
fn before(other: &Running, scheme: &str, settings: &str) -> Running {
    Running::before(&[format!("{scheme}://{}", other.address)], settings)
}

#[tokio::test]
async fn requests_bodies_and_streams_go_through_tls_and_http2() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    for scheme in ["https", "h2c"] {
        let worker = Worker::start().await;
        let settings = if scheme == "https" {
            tls(folder.path())
        } else {
            String::new()
        };
        let inner = Running::start(&[&worker], &settings);
        let ca = format!("worker_tls: {{ca: {}/ca.pem}}\n", folder.path().display());
        let outer = before(&inner, scheme, &ca);
        let mut conn = Conn::to(outer.address).await;
        let body = "x".repeat(300_000);
        for _ in 0..3 {
            let answer = conn.ask(&[("x-custom", "a")], &body).await;
            assert_eq!(
                (answer.status, answer.text()),
                (200, worker.address.to_string().as_str())
            );
            assert!(answer.headers.contains_key("prefix-route"));
        }
        let (head, arrived) = worker.last();
        assert!(head.contains("x-custom: a") && arrived == body.as_bytes());
        let connects = outer.metric("headwater_upstream_connects_total").await;
        assert!(connects < 1.5, "{scheme}: {connects} connections");

        worker.does(Act::Stream);
        conn.send(&request(&[], "{}")).await.unwrap();
        soon("a head", conn.response_head()).await.unwrap();
        for number in 0..3 {
            worker.events.add_permits(1);
            let chunk = soon("an event", conn.chunk()).await.unwrap();
            assert_eq!(chunk, format!("data: {number}\n\n").as_bytes());
        }
        let left = || worker.left.load(SeqCst);
        drop(conn);
        until("the end of a stream without a client", || left() == 1).await;
        // Others on the same connection go on.
        worker.does(Act::Hang);
        let mut waiting = Conn::to(outer.address).await;
        waiting.send(&request(&[], "{}")).await.unwrap();
        let before = worker.requests();
        until("a request", || worker.requests() > before).await;
        worker.does(Act::Answer);
        assert_eq!(outer.ask(&[], "{}").await.status, 200);
        drop(waiting);
        until("the end of a wait without a client", || left() == 2).await;
        assert_eq!(outer.ask(&[], "{}").await.status, 200);
    }
}

/// A worker that takes HTTP/2 without TLS and nothing else; gives its address and what was asked for.
async fn speaks_http2_only() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, asked) = (
        listener.local_addr().unwrap(),
        Arc::<Mutex<Vec<String>>>::default(),
    );
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let stream = listener.accept().await.unwrap().0;
            let seen = Arc::clone(&seen);
            let answer = service_fn(move |request: Request<Incoming>| {
                seen.lock().unwrap().push(request.uri().path().to_owned());
                let text = match request.uri().path() {
                    "/metrics" => "vllm:num_requests_running 3\n",
                    _ => "fine",
                };
                std::future::ready(Ok::<_, Infallible>(Response::new(text.to_owned())))
            });
            let http2 = http2::Builder::new(TokioExecutor::new());
            tokio::spawn(http2.serve_connection(TokioIo::new(stream), answer));
        }
    });
    (address, asked)
}

#[tokio::test]
async fn a_worker_that_speaks_http2_only_is_asked_for_its_health_and_load_in_it() {
    let (address, asked) = speaks_http2_only().await;
    let settings = "health: {interval_ms: 20}\nmetrics: {interval_ms: 20}\n";
    let router = Running::before(&[format!("h2c://{address}")], settings);
    let count = |path: &str| {
        let asked = asked.lock().unwrap();
        asked.iter().filter(|seen| *seen == path).count()
    };
    until("some checks", || {
        count("/health") > 5 && count("/metrics") > 2
    })
    .await;
    let worker = &router.state().await["workers"][0];
    assert_eq!(worker["state"], "ready", "{worker}");
    assert_eq!(worker["reported"]["running"], 3.0, "{worker}");
    let answer = router.ask(&[], "{}").await;
    assert_eq!((answer.status, answer.text()), (200, "fine"));
}

#[tokio::test]
async fn a_connection_that_is_full_makes_nobody_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let answer = service_fn(|request: Request<Incoming>| async move {
                if request.uri().path() == "/v1/chat/completions" {
                    std::future::pending::<()>().await;
                }
                Ok::<_, Infallible>(Response::new("fine".to_owned()))
            });
            let mut http2 = http2::Builder::new(TokioExecutor::new());
            http2.max_concurrent_streams(1);
            tokio::spawn(http2.serve_connection(TokioIo::new(stream), answer));
        }
    });
    let router = Running::before(&[format!("h2c://{address}")], "");
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut conn = Conn::to(router.address).await;
        conn.send(&request(&[], "{}")).await.unwrap();
        waiting.push(conn);
        let mut other = Conn::to(router.address).await;
        let asked = request(&[], "{}").replace("/v1/chat/completions", "/quick");
        other.send(&asked).await.unwrap();
        let answer = soon("an answer", other.response()).await.unwrap();
        assert_eq!((answer.status, answer.text()), (200, "fine"));
    }
}

#[tokio::test]
async fn traces_go_through_tls_to_a_collector_that_can_prove_who_it_is() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_certificates(folder.path());
    write_certificates(other.path());
    let (worker, collector) = (Worker::start().await, Worker::start().await);
    let proved = Running::start(&[&collector], &tls(folder.path()));
    for (authority, spans) in [(other.path(), 0), (folder.path(), 1)] {
        let settings = format!(
            "traces: {{endpoint: 'https://{}', ca: {}/ca.pem, sample: 1}}\n",
            proved.address,
            authority.display()
        );
        let mut router = Running::start(&[&worker], &settings);
        assert_eq!(router.ask(&[], "{}").await.status, 200);
        router.stop();
        router.ended().await;
        assert_eq!(collector.requests(), spans, "{authority:?}");
    }
    let (head, body) = collector.last();
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert!(told["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"].is_string());
}

#[tokio::test]
async fn a_worker_that_cannot_prove_who_it_is_gets_nothing() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_certificates(folder.path());
    write_certificates(other.path());
    let worker = Worker::start().await;
    let inner = Running::start(&[&worker], &tls(folder.path()));
    let ca = format!("worker_tls: {{ca: {}/ca.pem}}\n", other.path().display());
    let outer = before(&inner, "https", &ca);
    let answer = outer.ask(&[], "{}").await;
    assert!(answer.status >= 502, "{}", answer.status);
    assert_eq!(worker.requests(), 0);
    // The inner router takes the other certificate as soon as its files have it.
    for file in ["cert.pem", "key.pem"] {
        fs::copy(other.path().join(file), folder.path().join(file)).unwrap();
    }
    until_answered(&outer).await;
    // Files that cannot be used change nothing.
    fs::write(folder.path().join("key.pem"), "none").unwrap();
    until_reload_failed(&inner).await;
    assert_eq!(outer.ask(&[], "{}").await.status, 200);
}

#[tokio::test]
async fn an_authority_that_changes_is_believed_without_a_restart() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_certificates(old.path());
    write_certificates(new.path());
    let worker = Worker::start().await;
    let inner = Running::start(&[&worker], &tls(new.path()));
    let ca = format!("worker_tls: {{ca: {}/ca.pem}}\n", old.path().display());
    let outer = before(&inner, "https", &ca);
    assert!(outer.ask(&[], "{}").await.status >= 502);
    fs::copy(new.path().join("ca.pem"), old.path().join("ca.pem")).unwrap();
    until_answered(&outer).await;
    fs::write(old.path().join("ca.pem"), "none").unwrap();
    until_reload_failed(&outer).await;
    assert_eq!(outer.ask(&[], "{}").await.status, 200);
}

#[tokio::test]
async fn what_a_worker_gives_back_unread_goes_elsewhere_and_is_no_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut answer))) = connection.accept().await {
                    match request.uri().path() {
                        "/v1/chat/completions" => answer.send_reset(h2::Reason::REFUSED_STREAM),
                        _ => drop(answer.send_response(Response::new(()), true)),
                    }
                }
            });
        }
    });
    let worker = Worker::start().await;
    let workers = [format!("h2c://{address}"), worker.url()];
    let settings = "policy: round_robin\nretry: {ratio: 1}\nbreaker: {failures: 2}\n";
    let router = Running::before(&workers, settings);
    for asked in 1..=12 {
        assert_eq!(router.ask(&[], "{}").await.status, 200);
        assert_eq!(worker.requests(), asked);
    }
    let declined = router.metric("headwater_retries_total{cause=\"worker_declined\"}");
    assert!(declined.await > 4.5, "its breaker never opens");
}

#[tokio::test]
async fn certificates_that_cannot_be_used_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let path = folder.path().display();
    for (settings, part) in [
        (
            format!("tls: {{certificate: {path}/none.pem, key: {path}/key.pem}}"),
            "`tls.certificate`: cannot use",
        ),
        (
            format!("tls: {{certificate: {path}/key.pem, key: {path}/key.pem}}"),
            "it holds no certificate",
        ),
        (
            format!("tls: {{certificate: {path}/ca.pem, key: {path}/key.pem}}"),
            "`tls.key`",
        ),
        (
            format!("worker_tls: {{ca: {path}/none.pem}}"),
            "`worker_tls.ca`: cannot use",
        ),
    ] {
        let yaml = format!("listen: 127.0.0.1:0\nworkers: [http://127.0.0.1:1]\n{settings}\n");
        let config = headwater_router::Config::parse(&yaml, "t.yaml").unwrap();
        let error = headwater_router::Router::bind(config)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A client that believes the folder's authority.
async fn tls_conn(folder: &Path, address: SocketAddr) -> TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    let authority = fs::read(folder.join("ca.pem")).unwrap();
    roots
        .add(CertificateDer::from_pem_slice(&authority).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.unwrap()
}

#[tokio::test]
async fn a_client_within_tls_is_missed_behind_what_nobody_reads_yet() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], &tls(folder.path()));
    worker.does(Act::Hang);
    for (asked, behind) in ["", "\r\n", "GET / HTTP/1.1\r\n"].into_iter().enumerate() {
        let mut conn = tls_conn(folder.path(), router.address).await;
        let text = request(&[], "{}");
        conn.write_all(text.as_bytes()).await.unwrap();
        until("the request", || worker.requests() == asked + 1).await;
        conn.write_all(behind.as_bytes()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        drop(conn);
        until("a cancelled wait", || worker.left.load(SeqCst) == asked + 1).await;
    }
}

#[tokio::test]
async fn a_client_within_tls_is_told_that_there_is_no_room() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let worker = Worker::start().await;
    let settings = format!("{}limits: {{connections: 1}}\n", tls(folder.path()));
    let router = Running::start(&[&worker], &settings);
    let _first = tls_conn(folder.path(), router.address).await;
    let mut second = tls_conn(folder.path(), router.address).await;
    let mut answer = Vec::new();
    soon("an answer", second.read_to_end(&mut answer))
        .await
        .ok();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_the_fault_of_a_worker_that_has_begun() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                let mut begun = Vec::new();
                while let Some(Ok((request, mut answer))) = connection.accept().await {
                    if request.uri().path() == "/v1/chat/completions" {
                        let sent = answer.send_response(Response::new(()), false);
                        begun.push((request, sent));
                    } else {
                        drop(answer.send_response(Response::new(()), true));
                    }
                }
            });
        }
    });
    let router = Running::before(&[format!("h2c://{address}")], "");
    for _ in 0..6 {
        let mut conn = Conn::to(router.address).await;
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: router\r\nx-session-id: a\r\ntransfer-encoding: chunked\r\n\r\n";
        conn.send(&format!("{head}5\r\nhello\r\n")).await.unwrap();
        soon("a head", conn.response_head()).await.unwrap();
        conn.send("no chunk\r\n").await.unwrap();
        while soon("the end", conn.fill()).await.is_some() {}
    }
    let cut = "headwater_upstream_errors_total{cause=\"cut_short\"}";
    assert_eq!(router.metric(cut).await, 0.0);
    assert_eq!(
        router
            .metric("headwater_breaker_total{cause=\"opened\"}")
            .await,
        0.0
    );
}
