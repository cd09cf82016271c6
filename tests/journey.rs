//! The whole path: `headwater sign` names a prompt, routers that share nothing carry it to the
//! worker that holds its prefix, and every answer says why it came from where it came.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use headwater_router::{Config, Router};
use headwater_signature::{Route, RouteTag};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_prompt_finds_its_worker_again() {
    let fleet = Fleet::start(4).await;
    let router = fleet.router().await;
    let first = router.send(&sign(&[]), "turn 1").await;
    let again = router.send(&sign(&[]), "turn 1").await;
    assert_eq!(first.reason, "home");
    assert_eq!(
        (again.worker, again.reason.as_str()),
        (first.worker, "resident")
    );
    assert!(
        again.matched_tokens > 0,
        "it says how much it expects to be held there"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_over_its_limit_is_left_and_the_answer_says_so() {
    let fleet = Fleet::start(4).await;
    let router = fleet.router().await;
    let headers = sign(&[]);
    let home = router.send(&headers, "turn 1").await;
    // What its engine reports puts the worker over the limit of 16 and over its fair share.
    fleet.workers[home.worker]
        .running
        .store(40, Ordering::Relaxed);
    let away = router
        .send_until(&headers, |answer| answer.worker != home.worker)
        .await;
    assert_eq!(away.reason, "spill_queue");
    // Once it has room again, the conversation is where it was or where it went: on a warm worker.
    fleet.workers[home.worker]
        .running
        .store(0, Ordering::Relaxed);
    let back = router
        .send_until(&headers, |answer| answer.reason == "resident")
        .await;
    assert!([home.worker, away.worker].contains(&back.worker));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routers_that_share_nothing_follow_the_echo() {
    let fleet = Fleet::start(8).await;
    let (one, two) = (fleet.router().await, fleet.router().await);
    // Fill the home of the conversation, so that it starts on a worker that no router would guess.
    let guess = one.send(&sign(&[]), "turn 1").await.worker;
    fleet.workers[guess].running.store(40, Ordering::Relaxed);
    let start = one
        .send_until(&sign(&[]), |answer| answer.worker != guess)
        .await;
    fleet.workers[guess].running.store(0, Ordering::Relaxed);

    let echo = ["--route", &start.route, "--route-tokens", "600"];
    let followed = two.send(&sign(&echo), "turn 2").await;
    assert_eq!(
        (followed.worker, followed.reason.as_str()),
        (start.worker, "echo")
    );
    // Without the echo the second router guesses the home, as it must.
    let third = fleet.router().await;
    assert_eq!(third.send(&sign(&[]), "turn 2").await.worker, guess);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_signature_is_served_and_counted() {
    let fleet = Fleet::start(2).await;
    let router = fleet.router().await;
    let broken = vec![("Prefix-Signature".to_owned(), "v=1, b=16, n=".to_owned())];
    let answer = router.send(&broken, "hello").await;
    assert!(
        ["home", "least_loaded", "session"].contains(&answer.reason.as_str()),
        "{}",
        answer.reason
    );
    let metrics = router.metrics().await;
    let counted = metrics
        .lines()
        .find(|line| line.contains("signature_errors") && line.contains("syntax"));
    assert!(
        counted.is_some_and(|line| line.ends_with(" 1")),
        "{metrics}"
    );
}

/// The headers of a prompt file, as the terminal gives them.
fn sign(more: &[&str]) -> Vec<(String, String)> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../templates/prompts/support.yaml"
    );
    let signed = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["sign", file, "--format", "json"])
        .args(more)
        .output()
        .unwrap();
    assert!(
        signed.status.success(),
        "{}",
        String::from_utf8_lossy(&signed.stderr)
    );
    let report: serde_json::Value = serde_json::from_slice(&signed.stdout).unwrap();
    let headers = report["headers"].as_object().unwrap();
    headers
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect()
}

/// Workers that answer with their own number and report what they are told to.
struct Fleet {
    workers: Vec<Arc<Worker>>,
}

struct Worker {
    number: usize,
    address: SocketAddr,
    running: AtomicU32,
}

impl Fleet {
    async fn start(workers: usize) -> Self {
        let mut started = Vec::new();
        for number in 0..workers {
            started.push(Worker::start(number).await);
        }
        Self { workers: started }
    }

    /// A new router in front of all workers, knowing nothing.
    async fn router(&self) -> Running {
        let urls: Vec<String> = self
            .workers
            .iter()
            .map(|w| format!("http://{}", w.address))
            .collect();
        let yaml = format!(
            "{{listen: 127.0.0.1:0, admin: 127.0.0.1:0, workers: [{}]}}",
            urls.join(", ")
        );
        let router = Router::bind(Config::parse(&yaml, "journey.yaml").unwrap()).unwrap();
        let (address, admin) = (router.local_addr(), router.admin_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(router.run(async {
            let _ = stopped.await;
        }));
        let running = Running {
            address,
            admin,
            client: reqwest::Client::new(),
            _stop: stop,
        };
        running.wait_for_workers().await;
        running
    }
}

impl Worker {
    async fn start(number: usize) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let worker = Arc::new(Self {
            number,
            address,
            running: AtomicU32::new(0),
        });
        let served = Arc::clone(&worker);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let worker = Arc::clone(&served);
                let service = service_fn(move |request| answer(Arc::clone(&worker), request));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        worker
    }
}

async fn answer(
    worker: Arc<Worker>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = match request.uri().path() {
        "/health" => String::new(),
        "/metrics" => format!(
            "vllm:num_requests_running{{engine=\"0\"}} {}\nvllm:num_requests_waiting{{engine=\"0\"}} 0\n",
            worker.running.load(Ordering::Relaxed)
        ),
        _ => worker.number.to_string(),
    };
    Ok(Response::new(Full::new(Bytes::from(text))))
}

struct Running {
    address: SocketAddr,
    admin: SocketAddr,
    client: reqwest::Client,
    /// Dropped with the router's user, which stops the router.
    _stop: oneshot::Sender<()>,
}

/// What came back: from which worker, and what the router says of it.
struct Answer {
    worker: usize,
    route: String,
    reason: String,
    matched_tokens: u32,
}

impl Running {
    async fn send(&self, headers: &[(String, String)], body: &str) -> Answer {
        let mut request = self
            .client
            .post(format!("http://{}/v1/completions", self.address))
            .body(body.to_owned());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let route = response.headers()["prefix-route"]
            .to_str()
            .unwrap()
            .to_owned();
        let worker = response.text().await.unwrap().parse().unwrap();
        let parsed = Route::parse(route.as_bytes()).unwrap();
        assert_ne!(parsed.worker, RouteTag::from_bytes([0; 4]));
        let (reason, matched_tokens) = (parsed.reason.to_owned(), parsed.matched_tokens);
        Answer {
            worker,
            reason,
            matched_tokens,
            route,
        }
    }

    /// Sends until what the router has scraped meanwhile makes the answer fit.
    async fn send_until(
        &self,
        headers: &[(String, String)],
        fits: impl Fn(&Answer) -> bool,
    ) -> Answer {
        for _ in 0..200 {
            let answer = self.send(headers, "again").await;
            if fits(&answer) {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the router never came to the expected answer");
    }

    async fn metrics(&self) -> String {
        self.client
            .get(format!("http://{}/metrics", self.admin))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    }

    /// Until every worker has been asked and has answered: before that the fleet is a part of itself.
    async fn wait_for_workers(&self) {
        for _ in 0..200 {
            let url = format!("http://{}/state", self.admin);
            let state: serde_json::Value = self
                .client
                .get(url)
                .send()
                .await
                .unwrap()
                .json()
                .await
                .unwrap();
            let workers = state["workers"].as_array().unwrap();
            if workers.iter().all(|worker| worker["state"] == "ready") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the workers never became ready");
    }
}
