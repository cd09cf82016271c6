//! Workers for measuring: `mock_workers --ports 9001,9002`. Each answers a small JSON, or events
//! where a request says `x-mock: EVENTS PAUSE_MICROS`, and has `/health` and a page of metrics.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const JSON: &str = r#"{"id":"x","object":"chat.completion","model":"mock","choices":[{"index":0,"message":{"role":"assistant","content":"An answer of a few words, as short as it can be."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3051,"completion_tokens":12,"total_tokens":3063}}"#;

/// What is kept of a connection: bytes that came, from `start` on not looked at yet.
struct Conn {
    stream: TcpStream,
    bytes: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut ports = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("a value is missing")?;
        // Other tools of this kind have more options; what is not known is passed over.
        if name == "--ports" {
            for port in value.split(',') {
                ports.push(port.parse::<u16>()?);
            }
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        for port in ports {
            let listener = TcpListener::bind(("127.0.0.1", port)).await?;
            tokio::spawn(serve(listener));
        }
        std::future::pending::<()>().await;
        Ok(())
    })
}

async fn serve(listener: TcpListener) -> Result<Infallible, std::io::Error> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let bytes = Vec::with_capacity(2_048);
        tokio::spawn(attend(Conn { stream, bytes }));
    }
}

/// Answers until the other side leaves.
async fn attend(mut conn: Conn) -> Option<()> {
    loop {
        let head = conn.head().await?;
        let line = head.lines().next()?.to_owned();
        if line.starts_with("GET /metrics") {
            conn.answer("text/plain; version=0.0.4", &metrics()).await?;
        } else if line.starts_with("GET ") {
            conn.answer("text/plain", "ok").await?;
        } else {
            let length = header(&head, "content-length:").and_then(|v| v.parse().ok());
            conn.skip(length.unwrap_or(0)).await?;
            match header(&head, "x-mock:").and_then(events) {
                Some((events, pause)) => conn.stream(events, pause).await?,
                None => conn.answer("application/json", JSON).await?,
            }
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let is = |line: &&str| {
        let start = line.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let line = head.lines().find(is)?;
    line.get(name.len()..).map(str::trim)
}

/// How many events, and the pause before each.
fn events(value: &str) -> Option<(u32, Duration)> {
    let (events, micros) = value.split_once(' ')?;
    let pause = Duration::from_micros(micros.parse().ok()?);
    Some((events.parse().ok()?, pause))
}

/// As many lines as an engine with one model has, of which a router reads a few.
fn metrics() -> String {
    let mut page = String::from(
        "vllm:num_requests_running{model=\"m\"} 1\nvllm:num_requests_waiting{model=\"m\"} 0\n\
         vllm:kv_cache_usage_perc{model=\"m\"} 0.4\n",
    );
    for bucket in 0..120 {
        // Writing to a string cannot fail.
        let _written = writeln!(
            page,
            "vllm:time_to_first_token_seconds_bucket{{le=\"{bucket}\",model=\"m\"}} 7"
        );
    }
    page
}

impl Conn {
    async fn fill(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.bytes).await.ok()?;
        (read > 0).then_some(())
    }

    async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                let head: Vec<u8> = self.bytes.drain(..end + 4).collect();
                return String::from_utf8(head).ok();
            }
            self.fill().await?;
        }
    }

    /// Reads a body and forgets it.
    async fn skip(&mut self, mut bytes: usize) -> Option<()> {
        loop {
            let there = bytes.min(self.bytes.len());
            self.bytes.drain(..there);
            bytes -= there;
            if bytes == 0 {
                return Some(());
            }
            self.fill().await?;
        }
    }

    async fn answer(&mut self, kind: &str, body: &str) -> Option<()> {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).await.ok()
    }

    async fn stream(&mut self, events: u32, pause: Duration) -> Option<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        self.stream.write_all(head.as_bytes()).await.ok()?;
        for number in 0..events {
            tokio::time::sleep(pause).await;
            let event = format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word {number}\"}}}}]}}\n\n"
            );
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            self.stream.write_all(chunk.as_bytes()).await.ok()?;
        }
        self.stream.write_all(b"0\r\n\r\n").await.ok()
    }
}
