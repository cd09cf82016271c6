//! Where traces go: a collector that takes OTLP over HTTP, in the clear or through TLS.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;

use crate::config::WorkerConfig;
use crate::config_limits::WorkerTlsConfig;
use crate::config_telemetry::TracesConfig;
use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::error::RouterError;
use crate::model_pool::PoolId;
use crate::tls::{Offer, WorkerTls};

/// More of an answer is not read.
const LARGEST_ANSWER: usize = 64 << 10;

/// One collector. Each batch takes a connection of its own: there is one every few seconds.
pub(crate) struct Collector {
    server: Endpoint,
    tls: WorkerTls,
}

impl Collector {
    /// The one that is configured, if any.
    pub(crate) fn of_config(traces: &TracesConfig) -> Result<Option<Self>, RouterError> {
        let Some(url) = &traces.endpoint else {
            return Ok(None);
        };
        // The reader of the configuration has let no other URLs through.
        let Ok(server) = WorkerConfig::new(url) else {
            return Ok(None);
        };
        let trusted = WorkerTlsConfig {
            ca: traces.ca.clone(),
        };
        Ok(Some(Self {
            // No worker's serial is that high.
            server: Endpoint::new(&server, PoolId::default(), u64::MAX),
            tls: WorkerTls::new(trusted, "traces.ca")?,
        }))
    }

    /// Hands over a batch; gives what went wrong.
    pub(crate) async fn take(&self, body: String) -> Result<(), String> {
        let (stream, _) = dial(&self.server, &self.tls, Offer::Http1)
            .await
            .map_err(|error| error.to_string())?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        tokio::spawn(async move {
            // How it ended is known to whoever waits for the answer.
            let _ended = connection.await;
        });
        let request = Request::post("/v1/traces")
            .header(HOST, self.server.host.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let status = answer.status();
        // Reading the answer lets the collector end it; its words are of no use.
        let _read = Limited::new(answer.into_body(), LARGEST_ANSWER)
            .collect()
            .await;
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("it answers {status}"))
        }
    }
}
