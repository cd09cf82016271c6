//! Follows the EndpointSlices of a Kubernetes service: a list, then a watch that says when to
//! list again.
//!
//! A client of our own for two requests: the usual one would more than double the crates of the
//! router. Any event leads to a new list, so there is no second way in which state comes about.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use crate::config::WorkerConfig;
use crate::config_limits::WorkerTlsConfig;
use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::endpoint_slices::{SliceList, Wanted};
use crate::member::Origin;
use crate::model_pool::PoolId;
use crate::shared::Shared;
use crate::tls::{Offer, WorkerTls};

/// Where every pod finds its own token and the API server's authority.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// More text than this is no list of ours.
const LARGEST_LIST: usize = 32 << 20;

const PATIENCE: Duration = Duration::from_secs(10);

/// The API server ends a watch after that many seconds; then it begins anew.
const WATCH_SECONDS: u64 = 240;

/// A rollout changes many endpoints at once: one list for all of them.
const SETTLE: Duration = Duration::from_millis(300);

/// After a failure, longer each time.
const WAITS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

/// Keeps the workers the ready pods of a service, for as long as the router runs.
pub(crate) async fn follow(
    shared: &Arc<Shared>,
    (pool, origin): (PoolId, Origin),
    service: &str,
    port: &Wanted,
    // Asked for anew each time, as an account's token is renewed.
    api: impl Fn() -> io::Result<Api>,
) {
    let mut known: Option<Vec<WorkerConfig>> = None;
    let mut failures = 0_usize;
    loop {
        let followed = async {
            let api = api()?;
            let list = api.list().await?;
            let workers = list.workers(port);
            if known.as_ref() != Some(&workers) {
                let count = workers.len();
                tracing::info!(service, workers = count, "workers discovered");
                shared.set_workers(pool, origin, &workers);
                known = Some(workers);
            }
            failures = 0;
            api.watch(list.version()).await
        };
        match followed.await {
            Ok(()) => tokio::time::sleep(SETTLE).await,
            Err(error) => {
                shared.counters.discovery_errors.add(1);
                tracing::warn!(service, %error, "discovery failed; the workers stay as they are");
                let wait = WAITS.get(failures).or(WAITS.last());
                tokio::time::sleep(wait.copied().unwrap_or(SETTLE)).await;
                failures += 1;
            }
        }
    }
}

/// The API server, as one service is asked for.
pub(crate) struct Api {
    server: Endpoint,
    tls: WorkerTls,
    token: Option<String>,
    path: String,
}

impl Api {
    /// The server of the cluster that this process runs in.
    pub(crate) fn of_pod(service: &str) -> io::Result<Self> {
        let account = PathBuf::from(ACCOUNT);
        let variable = |name: &str| {
            let problem = format!("`{name}` is not set; `service` works within a cluster only");
            std::env::var(name).map_err(|_| io::Error::other(problem))
        };
        let host = variable("KUBERNETES_SERVICE_HOST")?;
        let port = variable("KUBERNETES_SERVICE_PORT")?;
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host
        };
        // Read each time: the token in it is renewed every hour or so.
        let token = std::fs::read_to_string(account.join("token"))?;
        let tls = WorkerTlsConfig {
            ca: Some(account.join("ca.crt")),
        };
        Self::at(&format!("https://{host}:{port}"), tls, Some(token), service)
    }

    fn at(
        url: &str,
        tls: WorkerTlsConfig,
        token: Option<String>,
        service: &str,
    ) -> io::Result<Self> {
        let (namespace, name) = service.split_once('/').unwrap_or(("default", service));
        let server = WorkerConfig::new(url).map_err(io::Error::other)?;
        Ok(Self {
            // No worker's serial is that high.
            server: Endpoint::new(&server, PoolId::default(), u64::MAX),
            tls: WorkerTls::new(tls, "ca.crt").map_err(io::Error::other)?,
            token: token.map(|token| token.trim().to_owned()),
            path: format!(
                "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices\
                 ?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
            ),
        })
    }

    async fn list(&self) -> io::Result<SliceList> {
        let answer = timeout(PATIENCE, async {
            let response = allowed(self.get(&self.path).await?)?;
            let body = Limited::new(response.into_body(), LARGEST_LIST);
            body.collect().await.map_err(io::Error::other)
        });
        let json = answer.await??.to_bytes();
        SliceList::parse(&json).map_err(io::Error::other)
    }

    /// Ends when something has changed since that version, or may have.
    async fn watch(&self, version: &str) -> io::Result<()> {
        let path = format!(
            "{}&watch=true&resourceVersion={version}&timeoutSeconds={WATCH_SECONDS}",
            self.path
        );
        let response = timeout(PATIENCE, self.get(&path)).await??;
        if response.status() == StatusCode::GONE {
            // The version is too old to go on from: only a new list helps.
            return Ok(());
        }
        let response = allowed(response)?;
        let most = Duration::from_secs(WATCH_SECONDS) + PATIENCE;
        match timeout(most, response.into_body().frame()).await {
            Ok(Some(Err(error))) => Err(io::Error::other(error)),
            // An event, the end, or a connection that died without a word.
            Ok(Some(Ok(_)) | None) | Err(_) => Ok(()),
        }
    }

    async fn get(&self, path: &str) -> io::Result<Response<Incoming>> {
        let (stream, _) = dial(&self.server, &self.tls, Offer::Http1).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        tokio::spawn(async move {
            // How it ended is known to whoever waits for the answer.
            let _ended = connection.await;
        });
        let mut request = Request::get(path)
            .header(HOST, self.server.host.clone())
            .header(ACCEPT, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        let response = sender.send_request(request).await;
        response.map_err(io::Error::other)
    }
}

fn allowed(response: Response<Incoming>) -> io::Result<Response<Incoming>> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    Err(io::Error::other(format!(
        "the API server answers {status}; may this account list and watch endpointslices?"
    )))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;
    use crate::config::Config;

    /// An API server that tells the heads it gets and gives these answers in turn.
    async fn server(answers: Vec<String>) -> (String, mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, heads) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                sender.send(String::from_utf8(head).unwrap()).unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (url, heads)
    }

    fn answer(status: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")
    }

    #[tokio::test]
    async fn a_list_is_asked_for_and_then_watched() {
        let list = r#"{"metadata": {"resourceVersion": "7"}, "items": [{"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]}]}"#;
        let event = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{...}\r\n";
        let answers = vec![answer("200 OK", list), event.to_owned()];
        let (url, mut heads) = server(answers).await;
        let token = Some("secret\n".to_owned());
        let api = Api::at(&url, WorkerTlsConfig::default(), token, "llm/engines").unwrap();
        let found = api.list().await.unwrap();
        assert_eq!(found.workers(&Wanted::First)[0].name, "10.0.0.1:80");
        let head = heads.recv().await.unwrap();
        let path = "GET /apis/discovery.k8s.io/v1/namespaces/llm/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dengines HTTP/1.1";
        assert!(head.starts_with(path), "{head}");
        assert!(head.contains("authorization: Bearer secret\r\n"), "{head}");
        api.watch(found.version()).await.unwrap();
        let head = heads.recv().await.unwrap();
        assert!(head.contains("&watch=true&resourceVersion=7&"), "{head}");
    }

    #[tokio::test]
    async fn a_refusal_says_what_may_be_missing() {
        let (url, _heads) = server(vec![answer("403 Forbidden", "{}")]).await;
        let api = Api::at(&url, WorkerTlsConfig::default(), None, "llm/engines").unwrap();
        let Err(error) = api.list().await else {
            panic!("it was refused");
        };
        assert!(error.to_string().contains("list and watch endpointslices"));
    }

    /// An API server whose list is what the test says at the moment; a watch is answered by what
    /// the test sends.
    async fn cluster(
        list: Arc<Mutex<String>>,
        mut events: mpsc::UnboundedReceiver<String>,
    ) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let text = if String::from_utf8(head).unwrap().contains("watch=true") {
                    let Some(event) = events.recv().await else {
                        return;
                    };
                    event
                } else {
                    answer("200 OK", &list.lock().unwrap().clone())
                };
                stream.write_all(text.as_bytes()).await.unwrap();
            }
        });
        url
    }

    /// Slices, each of pods with their conditions, at the named port.
    fn list(slices: &[&[(&str, &str)]]) -> String {
        let pod = |(name, conditions): &(&str, &str)| {
            format!(
                r#"{{"addresses": ["10.0.0.{name}"], "conditions": {{{conditions}}}, "targetRef": {{"name": "e{name}"}}}}"#
            )
        };
        let slice = |pods: &&[(&str, &str)]| {
            let pods: Vec<String> = pods.iter().map(pod).collect();
            let ports = r#"[{"name": "metrics", "port": 9}, {"name": "http", "port": 80}]"#;
            let pods = pods.join(",");
            format!(r#"{{"addressType": "IPv4", "endpoints": [{pods}], "ports": {ports}}}"#)
        };
        let slices: Vec<String> = slices.iter().map(slice).collect();
        let slices = slices.join(",");
        format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{slices}]}}"#)
    }

    async fn until_workers(shared: &Shared, expected: &[&str]) {
        let names = || -> Vec<String> {
            let roster = shared.roster(PoolId::default());
            roster.views().map(|(_, view)| view.name.clone()).collect()
        };
        let found = async {
            while names() != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(PATIENCE, found).await;
        waited.unwrap_or_else(|_| panic!("waited in vain for {expected:?}"));
    }

    #[tokio::test]
    async fn whatever_ends_a_watch_the_workers_are_those_of_the_latest_list() {
        let config = Config::parse(
            "{listen: 127.0.0.1:0, discover: [{service: llm/engines, port_name: http}]}",
            "test",
        );
        let shared = Arc::new(Shared::new(config.unwrap()).unwrap());
        let now = Arc::new(Mutex::new(list(&[&[("1", ""), ("2", r#""ready": true"#)]])));
        let (tell, events) = mpsc::unbounded_channel();
        let url = cluster(Arc::clone(&now), events).await;
        let following = Arc::clone(&shared);
        tokio::spawn(async move {
            let api = || Api::at(&url, WorkerTlsConfig::default(), None, "llm/engines");
            let port = Wanted::of_config(&following.config.discover[0]);
            let origin = (PoolId::default(), Origin::Discovered(0));
            follow(&following, origin, "llm/engines", &port, api).await;
        });
        until_workers(&shared, &["e1:80", "e2:80"]).await;
        let change = |text: String, event: &str| {
            *now.lock().unwrap() = text;
            tell.send(event.to_owned()).unwrap();
        };
        let event = |json: &str| {
            let length = json.len() + 1;
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{json}\n\r\n"
            )
        };
        let modified = event(r#"{"type":"MODIFIED","object":{}}"#);
        let expired = event(r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#);

        // A pod that ends gets nothing new, though it still serves what it has.
        let pool = PoolId::default();
        let two = shared.roster(pool).endpoints();
        let two = Arc::clone(two.iter().find(|e| e.name == "e2:80").unwrap());
        let leaving = r#""ready": false, "serving": true, "terminating": true"#;
        change(list(&[&[("1", ""), ("2", leaving)]]), &modified);
        until_workers(&shared, &["e1:80"]).await;
        assert!(two.is_removed());
        // The version has expired, as an event and as a status; pods in several slices.
        change(list(&[&[("1", "")], &[("3", "")]]), &expired);
        until_workers(&shared, &["e1:80", "e3:80"]).await;
        change(list(&[&[], &[("3", "")]]), &answer("410 Gone", "{}"));
        until_workers(&shared, &["e3:80"]).await;
        assert_eq!(shared.counters.discovery_errors.get(), 0);
        // The watch ends without a word, then amid one, then the server is in trouble.
        change(list(&[&[("4", "")]]), &answer("200 OK", ""));
        until_workers(&shared, &["e4:80"]).await;
        change(
            list(&[&[("5", "")]]),
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        );
        until_workers(&shared, &["e5:80"]).await;
        assert_eq!(shared.counters.discovery_errors.get(), 1);
        // Scaled down to nothing, and up again.
        change(list(&[]), &modified);
        until_workers(&shared, &[]).await;
        change(list(&[&[("6", "")]]), &modified);
        until_workers(&shared, &["e6:80"]).await;
    }
}
