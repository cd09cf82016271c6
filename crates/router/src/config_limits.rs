//! What a client may cost, and TLS on both sides, as a configuration has it.

use std::path::PathBuf;

use serde::Deserialize;

use crate::config_value as value;

/// The certificate that clients see; read again when a file changes and on a reload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsConfig {
    /// A PEM file: the certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// A PEM file: its private key.
    pub key: PathBuf,
}

/// How workers behind TLS are known. Their names are always checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkerTlsConfig {
    /// A PEM file with the authorities to believe; read again when it changes and on a reload.
    /// Default: those of the system.
    pub ca: Option<PathBuf>,
}

/// What a client may cost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Bytes of a request's head, 8,192 or more. Default 65,536. Beyond: 431.
    #[serde(deserialize_with = "value::header_bytes")]
    pub header_bytes: usize,
    /// Seconds in which a head must arrive. Default 10. Beyond: 408.
    #[serde(deserialize_with = "value::seconds")]
    pub header_seconds: u64,
    /// Seconds that a connection may wait for its next request. Default 75.
    #[serde(deserialize_with = "value::seconds")]
    pub idle_seconds: u64,
    /// Connections at once. Default 16,384. Beyond: 503.
    #[serde(deserialize_with = "value::connections")]
    pub connections: usize,
    /// Bytes of a request's body. Default: no limit. Beyond: 413.
    #[serde(deserialize_with = "value::body_bytes")]
    pub body_bytes: Option<u64>,
    /// Seconds for which a client may send nothing of its body (beyond: 408) or take nothing
    /// of its answer (beyond: cut off). Default 120.
    #[serde(deserialize_with = "value::some_seconds")]
    pub stall_seconds: Option<u64>,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            header_bytes: 64 * 1024,
            header_seconds: 10,
            idle_seconds: 75,
            connections: 16_384,
            body_bytes: None,
            stall_seconds: Some(120),
        }
    }
}
