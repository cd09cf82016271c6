//! Workers and clients of the tests: small, scripted, on port 0, and never waited for forever.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater_router::{Config, Handle, Router};
use headwater_signature::{BlockSize, Fingerprint, PrefixHash, RouteEcho, Rung, Signature};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinHandle;

/// Far longer than anything here takes: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// What a worker does with a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// 200 with its name as JSON.
    Answer,
    /// 200 with its load in the head: it is hot.
    Load,
    /// 200 with this JSON, in small chunks.
    Json(&'static str),
    /// This status, with its name as body.
    Status(u16),
    /// One event for each permit of `Worker::events`, then the end after `finish`.
    Stream,
    /// So many events, ten milliseconds apart, after a pause of so many milliseconds.
    Paced(u32, u64),
    /// Two events, then the connection is cut.
    Cut,
    /// The connection is closed without a byte.
    Close,
    /// Nothing.
    Hang,
    /// An answer without an end, as fast as it is taken.
    Flood,
    /// Bytes that are not HTTP.
    Garbage,
    /// These bytes, whatever they are.
    Raw(&'static str),
}

/// A worker that does as it is told and remembers what it saw.
pub(crate) struct Worker {
    pub(crate) address: SocketAddr,
    pub(crate) act: Mutex<Act>,
    pub(crate) health: AtomicU16,
    pub(crate) metrics: Mutex<String>,
    /// Whether it answers who asks for its metrics.
    pub(crate) tells: AtomicBool,
    /// Every proxied request: its head as it came, and its body.
    pub(crate) seen: Mutex<Vec<(String, Vec<u8>)>>,
    /// Whether it remembers what it sees.
    pub(crate) remembers: AtomicBool,
    /// Trailers of the latest chunked body.
    pub(crate) trailers: Mutex<Vec<String>>,
    /// Clients that left before they had their answer.
    pub(crate) left: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    /// Connections that are open now.
    pub(crate) open: AtomicUsize,
    /// Whether it answers who asks for its health.
    pub(crate) is_idle: AtomicBool,
    pub(crate) health_checks: AtomicUsize,
    /// Bytes of a flood that were taken.
    pub(crate) flooded: AtomicUsize,
    pub(crate) events: Semaphore,
    pub(crate) finish: Notify,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Worker {
    pub(crate) async fn start() -> Arc<Self> {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn at(listener: TcpListener) -> Arc<Self> {
        let worker = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            act: Mutex::new(Act::Answer),
            health: AtomicU16::new(200),
            metrics: Mutex::default(),
            tells: AtomicBool::new(true),
            seen: Mutex::default(),
            remembers: AtomicBool::new(true),
            trailers: Mutex::default(),
            left: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            is_idle: AtomicBool::new(true),
            health_checks: AtomicUsize::new(0),
            flooded: AtomicUsize::new(0),
            events: Semaphore::new(0),
            finish: Notify::new(),
            accepting: Mutex::default(),
        });
        worker.accept(listener);
        worker
    }

    fn accept(self: &Arc<Self>, listener: TcpListener) {
        let of = Arc::clone(self);
        let accepting = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A set keeps what has ended until somebody asks.
                while connections.try_join_next().is_some() {}
                let worker = Arc::clone(&of);
                connections.spawn(async move {
                    let _open = Open::one(&worker.open);
                    worker.attend(stream).await
                });
            }
        });
        *self.accepting.lock().unwrap() = Some(accepting);
    }

    /// The process is there again, at its old address.
    pub(crate) async fn rise(self: &Arc<Self>) {
        let address = self.address;
        let listener = soon("the old port", async {
            loop {
                match TcpListener::bind(address).await {
                    Ok(listener) => return listener,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        self.accept(listener.await);
    }

    /// The process dies: nobody listens, every connection is gone.
    pub(crate) async fn die(&self) {
        let task = self.accepting.lock().unwrap().take().unwrap();
        task.abort();
        let _ = task.await;
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn does(&self, act: Act) {
        *self.act.lock().unwrap() = act;
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> (String, Vec<u8>) {
        self.seen.lock().unwrap().last().unwrap().clone()
    }

    async fn attend(&self, stream: TcpStream) -> Option<()> {
        self.connections.fetch_add(1, SeqCst);
        let mut conn = Conn {
            stream,
            buffer: Vec::new(),
            trailers: Vec::new(),
        };
        loop {
            let head = conn.head().await?;
            let path = head.split(' ').nth(1)?.to_owned();
            if path == "/health" {
                self.health_checks.fetch_add(1, SeqCst);
            }
            if path == "/health" && !self.is_idle.load(SeqCst) {
                conn.fill().await;
                return None;
            }
            if path == "/health" {
                let status = self.health.load(SeqCst);
                conn.send(&format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"))
                    .await?;
                continue;
            }
            if path == "/metrics" && !self.tells.load(SeqCst) {
                conn.fill().await;
                return None;
            }
            if path == "/metrics" {
                let text = self.metrics.lock().unwrap().clone();
                conn.send(&format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}",
                    text.len()
                ))
                .await?;
                continue;
            }
            let body = conn.body(&head).await?;
            *self.trailers.lock().unwrap() = std::mem::take(&mut conn.trailers);
            if self.remembers.load(SeqCst) {
                self.seen.lock().unwrap().push((head, body));
            }
            let act = *self.act.lock().unwrap();
            self.perform(act, &mut conn).await?;
        }
    }

    async fn perform(&self, act: Act, conn: &mut Conn) -> Option<()> {
        let name = self.address.to_string();
        let length = name.len();
        match act {
            Act::Answer => {
                conn.send(&format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nx-worker: {name}\r\nkeep-alive: timeout=5\r\nconnection: x-gone\r\nx-gone: 1\r\n\r\n{name}")).await
            }
            Act::Load => {
                conn.send(&format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nendpoint-load-metrics: TEXT named_metrics.kv_cache_usage_perc=0.95\r\n\r\n{name}")).await
            }
            Act::Json(text) => {
                conn.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await?;
                for part in text.as_bytes().chunks(7) {
                    let part = String::from_utf8_lossy(part);
                    conn.send(&format!("{:x}\r\n{part}\r\n", part.len())).await?;
                }
                conn.send("0\r\n\r\n").await
            }
            Act::Status(status) => {
                conn.send(&format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nx-worker: {name}\r\n\r\n{name}")).await
            }
            Act::Stream => {
                conn.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await?;
                self.stream(conn).await
            }
            Act::Paced(events, pause_ms) => {
                tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                conn.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await?;
                for number in 0..events {
                    let event = format!("data: {number}\n\n");
                    conn.send(&format!("{:x}\r\n{event}\r\n", event.len())).await?;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                conn.send("0\r\n\r\n").await
            }
            Act::Cut => {
                conn.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n").await?;
                None
            }
            Act::Close => None,
            Act::Flood => {
                let mut open = conn.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
                let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
                while open.is_some() {
                    open = conn.send(&chunk).await;
                    self.flooded.fetch_add(chunk.len(), SeqCst);
                }
                self.left.fetch_add(1, SeqCst);
                None
            }
            Act::Raw(bytes) => conn.send(bytes).await,
            Act::Garbage => {
                conn.send("220 mail.example ESMTP\r\n\r\n").await?;
                None
            }
            Act::Hang => {
                conn.fill().await;
                self.left.fetch_add(1, SeqCst);
                None
            }
        }
    }

    async fn stream(&self, conn: &mut Conn) -> Option<()> {
        let mut number = 0;
        loop {
            tokio::select! {
                permit = self.events.acquire() => {
                    permit.ok()?.forget();
                    let event = format!("data: {number}\n\n");
                    number += 1;
                    conn.send(&format!("{:x}\r\n{event}\r\n", event.len())).await?;
                }
                () = self.finish.notified() => return conn.send("0\r\n\r\n").await,
                _ = conn.fill() => {
                    self.left.fetch_add(1, SeqCst);
                    return None;
                }
            }
        }
    }
}

/// Counts a connection while it is open.
struct Open<'a>(&'a AtomicUsize);

impl<'a> Open<'a> {
    fn one(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// One side of a connection, byte by byte.
pub(crate) struct Conn {
    stream: TcpStream,
    buffer: Vec<u8>,
    trailers: Vec<String>,
}

/// A response as it came.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn route(&self) -> headwater_signature::Route<'_> {
        headwater_signature::Route::parse(self.headers["prefix-route"].as_bytes()).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

impl Conn {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        let stream = soon("a connection", TcpStream::connect(address))
            .await
            .unwrap();
        Self {
            stream,
            buffer: Vec::new(),
            trailers: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, text: &str) -> Option<()> {
        self.stream.write_all(text.as_bytes()).await.ok()
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        soon("a write", self.stream.write_all(bytes)).await.unwrap();
    }

    /// Reads something, or tells that there is no more.
    pub(crate) async fn fill(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.buffer).await.ok()?;
        (read > 0).then_some(())
    }

    pub(crate) async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                let rest = self.buffer.split_off(end + 4);
                let head = std::mem::replace(&mut self.buffer, rest);
                return String::from_utf8(head).ok();
            }
            self.fill().await?;
        }
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|w| w == b"\r\n") {
                let rest = self.buffer.split_off(end + 2);
                let line = std::mem::replace(&mut self.buffer, rest);
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.fill().await?;
        }
    }

    /// The next so many bytes, whatever they are.
    pub(crate) async fn some(&mut self, length: usize) -> Option<Vec<u8>> {
        self.take(length).await
    }

    async fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill().await?;
        }
        let rest = self.buffer.split_off(length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// One chunk of a chunked body; empty at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(self.line().await?.trim(), 16).ok()?;
        let chunk = self.take(length).await?;
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                return Some(chunk);
            }
            self.trailers.push(line);
        }
    }

    async fn body(&mut self, head: &str) -> Option<Vec<u8>> {
        let head = head.to_ascii_lowercase();
        if head.contains("transfer-encoding: chunked") {
            let mut body = Vec::new();
            loop {
                let chunk = self.chunk().await?;
                if chunk.is_empty() {
                    return Some(body);
                }
                body.extend(chunk);
            }
        }
        let length = head.split("content-length: ").nth(1);
        let length = length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
        self.take(length).await
    }

    /// The head of a response.
    pub(crate) async fn response_head(&mut self) -> Option<Response> {
        let text = self.head().await?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        let headers = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        Some(Response {
            status,
            headers: headers.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            body: text.into_bytes(),
        })
    }

    pub(crate) async fn response(&mut self) -> Option<Response> {
        let mut response = self.response_head().await?;
        let head = String::from_utf8(std::mem::take(&mut response.body)).ok()?;
        response.body = self.body(&head).await?;
        Some(response)
    }

    /// Sends a request and reads all of its answer.
    pub(crate) async fn ask(&mut self, headers: &[(&str, &str)], body: &str) -> Response {
        self.send(&request(headers, body)).await.unwrap();
        soon("an answer", self.response()).await.expect("an answer")
    }
}

pub(crate) fn request(headers: &[(&str, &str)], body: &str) -> String {
    let mut text = "POST /v1/chat/completions HTTP/1.1\r\nhost: router\r\n".to_owned();
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text + &format!("content-length: {}\r\n\r\n{body}", body.len())
}

/// A router that runs in the test's process.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    /// Settings beyond the addresses as YAML lines.
    pub(crate) fn start(workers: &[&Arc<Worker>], settings: &str) -> Self {
        let urls: Vec<String> = workers.iter().map(|worker| worker.url()).collect();
        Self::before(&urls, settings)
    }

    /// The same for workers at these URLs.
    pub(crate) fn before(urls: &[String], settings: &str) -> Self {
        let workers = match urls {
            [] => String::new(),
            _ => format!("workers: [{}]\n", urls.join(", ")),
        };
        let yaml = format!("listen: 127.0.0.1:0\nthreads: 1\n{workers}{settings}");
        let router = Router::bind(Config::parse(&yaml, "test.yaml").unwrap()).unwrap();
        let (stop, stopped) = oneshot::channel();
        Self {
            address: router.local_addr(),
            admin: router.admin_addr().unwrap(),
            handle: router.handle(),
            stop: Some(stop),
            task: tokio::spawn(async move {
                let stopped = async {
                    let _ = stopped.await;
                };
                router.run(stopped).await.unwrap();
            }),
        }
    }

    pub(crate) fn stop(&mut self) {
        self.stop.take();
    }

    pub(crate) async fn ended(self) {
        soon("the end of the router", self.task).await.unwrap();
    }

    pub(crate) async fn ask(&self, headers: &[(&str, &str)], body: &str) -> Response {
        Conn::to(self.address).await.ask(headers, body).await
    }

    pub(crate) async fn admin(&self, method: &str, path: &str) -> Response {
        self.admin_with(method, path, &[], "").await
    }

    pub(crate) async fn admin_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let mut conn = Conn::to(self.admin).await;
        let head = request(headers, body);
        let head = head.replacen("POST /v1/chat/completions", &format!("{method} {path}"), 1);
        let head = head.replacen("host: router", "host: localhost", 1);
        conn.send(&head).await.unwrap();
        soon("an answer of the admin port", conn.response())
            .await
            .unwrap()
    }

    /// A value of the metrics page; 0 if its line is not there.
    pub(crate) async fn metric(&self, line: &str) -> f64 {
        let page = self.admin("GET", "/metrics").await;
        let found = page
            .text()
            .lines()
            .find_map(|l| l.strip_prefix(line)?.strip_prefix(' '));
        found.map_or(0.0, |value| value.parse().unwrap())
    }

    pub(crate) async fn state(&self) -> serde_json::Value {
        serde_json::from_slice(&self.admin("GET", "/state").await.body).unwrap()
    }

    pub(crate) async fn until_state(&self, worker: &Worker, state: &str) {
        soon(state, async {
            loop {
                let found = self.state().await;
                let workers = found["workers"].as_array().unwrap();
                let name = worker.address.to_string();
                let of = workers.iter().find(|w| w["name"] == name.as_str());
                if of.is_some_and(|w| w["state"] == state) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

/// A signature of a conversation: `turns` rungs that all begin the same way.
pub(crate) fn signature(conversation: u8, turns: u8) -> Signature {
    let rung = |turn: u8| Rung {
        blocks: 64 * u32::from(turn),
        hash: PrefixHash::from_bytes([conversation, turn, 7, 7, 7, 7, 7, 7]),
    };
    let rungs: Vec<Rung> = (1..=turns).map(rung).collect();
    let fingerprint = Fingerprint::from_bytes([9; 8]);
    let tokens = 64 * 16 * u32::from(turns) + 5;
    Signature::new(
        BlockSize::new(16).unwrap(),
        tokens,
        fingerprint,
        &rungs,
        None,
    )
    .unwrap()
}

pub(crate) fn with_echo(signature: Signature, response: &Response, tokens: u32) -> String {
    let tag = response.route().worker;
    signature.with_echo(RouteEcho { tag, tokens }).to_string()
}
