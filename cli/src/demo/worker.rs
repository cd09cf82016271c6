//! One worker: a model engine behind a real HTTP server that speaks as vLLM does.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::cache::PromptBlocks;
use super::dice::Dice;
use super::engine::{Engine, Running};

/// A running server; dropping it ends the server and its connections.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) url: String,
    pub(super) engine: Arc<Engine>,
    _server: JoinSet<()>,
}

impl Worker {
    /// Starts a worker with a cold cache on a free port of this machine.
    pub(super) async fn start(cache_blocks: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let engine = Arc::new(Engine::new(cache_blocks));
        let mut server = JoinSet::new();
        server.spawn(accept(listener, Arc::clone(&engine)));
        Ok(Self {
            url,
            engine,
            _server: server,
        })
    }
}

async fn accept(listener: TcpListener, engine: Arc<Engine>) {
    let started = seconds_since_epoch();
    // Owned here, so that the connections end together with the server.
    let mut connections = JoinSet::new();
    loop {
        // Nothing is sent to a model engine that would make accepting fail for good.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        connections.spawn(serve(stream, Arc::clone(&engine), started));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, engine: Arc<Engine>, started: f64) {
    // Tokens are small writes that must not wait for each other.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(request, Arc::clone(&engine), started));
    let connection = hyper::server::conn::http1::Builder::new();
    // A peer that hangs up in the middle of an answer is not the worker's error.
    let _ = connection
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    engine: Arc<Engine>,
    started: f64,
) -> Result<Response<Chunks>, Infallible> {
    let reply = match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") => text(StatusCode::OK, String::new()),
        (&Method::GET, "/metrics") => text(StatusCode::OK, metrics(&engine, started)),
        (&Method::POST, "/v1/completions") => complete(request, engine).await,
        _ => text(StatusCode::NOT_FOUND, "no such path".to_owned()),
    };
    Ok(reply)
}

/// The part of an OpenAI completion request that the model engine looks at.
#[derive(Deserialize)]
struct CompletionRequest {
    prompt: String,
    max_tokens: usize,
}

async fn complete(request: Request<Incoming>, engine: Arc<Engine>) -> Response<Chunks> {
    let Ok(body) = request.into_body().collect().await else {
        return text(StatusCode::BAD_REQUEST, "the body ended early".to_owned());
    };
    let wanted: CompletionRequest = match serde_json::from_slice(&body.to_bytes()) {
        Ok(wanted) => wanted,
        Err(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            () = generate(&wanted, &engine, &sender) => {}
        }
    });
    // As in vLLM, the headers of a stream go out before its first token is known.
    reply(StatusCode::OK, "text/event-stream", Chunks(receiver))
}

/// Streams one token an event, then the usage.
async fn generate(wanted: &CompletionRequest, engine: &Arc<Engine>, out: &mpsc::Sender<Bytes>) {
    let prompt = PromptBlocks::of(&wanted.prompt);
    let mut words = Dice::new(prompt.tokens() as u64);
    let running = engine.prefill(prompt).await;
    for step in 0..wanted.max_tokens {
        if step > 0 {
            running.decode().await;
        }
        let token = words.pick(TOKENS);
        send(out, &json!({ "choices": [{ "index": 0, "text": token }] })).await;
    }
    send(out, &usage(&running, wanted.max_tokens)).await;
    drop(running);
    let _ = out.send(Bytes::from_static(b"data: [DONE]\n\n")).await;
}

fn usage(running: &Running, completion_tokens: usize) -> serde_json::Value {
    json!({
        "choices": [],
        "usage": {
            "prompt_tokens": running.prompt_tokens(),
            "completion_tokens": completion_tokens,
            "prompt_tokens_details": { "cached_tokens": running.cached_tokens() },
        },
    })
}

async fn send(out: &mpsc::Sender<Bytes>, event: &serde_json::Value) {
    // When the client has left, the whole request is about to be cancelled.
    let _ = out.send(Bytes::from(format!("data: {event}\n\n"))).await;
}

fn metrics(engine: &Engine, started: f64) -> String {
    let counts = engine.counts();
    let rows = [
        ("gauge", "vllm:num_requests_running", counts.running as f64),
        ("gauge", "vllm:num_requests_waiting", counts.waiting as f64),
        ("gauge", "vllm:kv_cache_usage_perc", counts.kv_use),
        (
            "counter",
            "vllm:prefix_cache_queries_total",
            counts.prompt_tokens as f64,
        ),
        (
            "counter",
            "vllm:prefix_cache_hits_total",
            counts.cached_tokens as f64,
        ),
    ];
    let mut page = String::new();
    for (kind, name, value) in rows {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "# TYPE {name} {kind}\n{name}{{engine=\"0\",model_name=\"model\"}} {value}\n"
        );
    }
    let _ = write!(
        page,
        "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {started}\n"
    );
    page
}

fn seconds_since_epoch() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

fn text(status: StatusCode, text: String) -> Response<Chunks> {
    let (sender, receiver) = mpsc::channel(1);
    // The channel is new and has room for one.
    let _ = sender.try_send(Bytes::from(text));
    reply(status, "text/plain; charset=utf-8", Chunks(receiver))
}

fn reply(status: StatusCode, content_type: &'static str, chunks: Chunks) -> Response<Chunks> {
    let mut response = Response::new(chunks);
    *response.status_mut() = status;
    let content_type = hyper::header::HeaderValue::from_static(content_type);
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, content_type);
    response
}

/// A body whose pieces come from a channel.
struct Chunks(mpsc::Receiver<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(context)
            .map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// What the model engine says: four bytes a token, as its vocabulary has it.
const TOKENS: &[&str] = &[
    "the ", "due ", "box ", "was ", "yes ", "and ", "may ", "ask ", "for ", "new ", "one ", "not ",
    "you ", "can ", "get ", "it. ", "now ", "our ", "day ", "two ",
];

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(worker: &Worker, path: &str) -> String {
        let response = reqwest::get(format!("{}{path}", worker.url)).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.unwrap()
    }

    async fn post(worker: &Worker, body: &'static str) -> (u16, String) {
        let request = reqwest::Client::new()
            .post(format!("{}/v1/completions", worker.url))
            .body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    #[tokio::test]
    async fn it_answers_as_an_engine_does() {
        let worker = Worker::start(64).await.unwrap();
        assert_eq!(get(&worker, "/health").await, "");
        let (status, stream) =
            post(&worker, r#"{"prompt": "How are you?", "max_tokens": 2}"#).await;
        assert_eq!(status, 200);
        assert_eq!(stream.matches("\"text\"").count(), 2, "{stream}");
        assert!(stream.contains(r#""cached_tokens":0"#), "{stream}");
        assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
        let metrics = get(&worker, "/metrics").await;
        assert!(
            metrics.contains(
                "\nvllm:prefix_cache_queries_total{engine=\"0\",model_name=\"model\"} 3\n"
            )
        );
        assert!(
            metrics.contains("\nprocess_start_time_seconds 1"),
            "{metrics}"
        );
    }

    #[tokio::test]
    async fn a_body_that_is_no_request_is_the_clients_error() {
        let worker = Worker::start(64).await.unwrap();
        assert_eq!(post(&worker, "{}").await.0, 400);
        assert_eq!(worker.engine.counts().requests, 0);
    }
}
