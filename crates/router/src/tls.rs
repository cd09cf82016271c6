//! TLS on both sides: the certificate that clients see, and what is believed of workers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::config_limits::{TlsConfig, WorkerTlsConfig};
use crate::error::RouterError;
use crate::file_stamp::Stamp;

/// The protocols within TLS, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What clients are shown. It can be read again from its files while connections go on.
pub(crate) struct Certificate {
    files: TlsConfig,
    current: Arc<Current>,
    pub(crate) acceptor: TlsAcceptor,
    source: Source,
}

struct Current(RwLock<Arc<CertifiedKey>>);

impl Certificate {
    /// Reads the files and checks that the key belongs to the certificate.
    pub(crate) fn read(files: &TlsConfig) -> Result<Self, RouterError> {
        let source = Source::of([&files.certificate, &files.key]);
        let key = certified_key(files)?;
        let current = Arc::new(Current(RwLock::new(key)));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_error("tls", &error))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Self {
            files: files.clone(),
            current,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            source,
        })
    }

    /// Reads the files again; if they cannot be used, the old certificate stays.
    pub(crate) fn reload(&self) -> Result<(), RouterError> {
        let now = self.source.stamps();
        let key = certified_key(&self.files)?;
        *self
            .current
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner) = key;
        self.source.loaded(now);
        Ok(())
    }
}

/// What can be read from its files again.
#[derive(Clone, Copy)]
pub(crate) enum FromFiles<'a> {
    Certificate(&'a Certificate),
    /// Those that workers must be known to.
    Authorities(&'a WorkerTls),
}

impl FromFiles<'_> {
    pub(crate) fn source(&self) -> &Source {
        match self {
            Self::Certificate(certificate) => &certificate.source,
            Self::Authorities(tls) => &tls.source,
        }
    }
}

/// The files that something was read from.
pub(crate) struct Source {
    files: Vec<PathBuf>,
    loaded: RwLock<Stamps>,
}

/// What each file was.
pub(crate) type Stamps = Vec<Option<Stamp>>;

impl Source {
    fn of<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let files: Vec<_> = files.into_iter().cloned().collect();
        let loaded = RwLock::new(files.iter().map(|path| Stamp::of(path)).collect());
        Self { files, loaded }
    }

    pub(crate) fn stamps(&self) -> Stamps {
        self.files.iter().map(|path| Stamp::of(path)).collect()
    }

    /// Whether the files are others than those that were read. They may be so for a while: whoever
    /// renews several moves one after the other.
    pub(crate) fn has_changed(&self) -> bool {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        *loaded != self.stamps()
    }

    fn loaded(&self, now: Stamps) {
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

fn certified_key(files: &TlsConfig) -> Result<Arc<CertifiedKey>, RouterError> {
    let chain = certificates("tls.certificate", &files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| file_error("tls.key", &files.key, &error))?;
    let key = CertifiedKey::from_der(chain, key, &provider())
        .map_err(|error| file_error("tls.key", &files.key, &error))?;
    Ok(Arc::new(key))
}

fn certificates(
    setting: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, RouterError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| file_error(setting, path, &error))?
        .collect();
    let chain = chain.map_err(|error| file_error(setting, path, &error))?;
    if chain.is_empty() {
        return Err(file_error(setting, path, &"it holds no certificate"));
    }
    Ok(chain)
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(
            &self.0.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a certificate")
    }
}

/// How workers behind TLS are reached. Their authorities are read when the first such worker
/// is: most routers have none, and the system's list is long.
pub(crate) struct WorkerTls {
    settings: WorkerTlsConfig,
    /// What the settings call the authorities' file.
    ca_setting: &'static str,
    connectors: RwLock<Option<Connectors>>,
    /// The authorities' file, if one was named: the system's own list is read once.
    source: Source,
}

#[derive(Clone)]
struct Connectors {
    any: TlsConnector,
    http1: TlsConnector,
}

impl WorkerTls {
    pub(crate) fn new(
        settings: WorkerTlsConfig,
        ca_setting: &'static str,
    ) -> Result<Self, RouterError> {
        let source = Source::of(&settings.ca);
        let tls = Self {
            ca_setting,
            connectors: RwLock::new(None),
            settings,
            source,
        };
        // A file that was named must be good from the start.
        if tls.settings.ca.is_some() {
            tls.read()?;
        }
        Ok(tls)
    }

    /// What opens a connection in which the worker may choose among `offered`.
    pub(crate) fn connector(&self, offered: Offer) -> Result<TlsConnector, RouterError> {
        let known = self
            .connectors
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let connectors = match known {
            Some(connectors) => connectors,
            None => self.read()?,
        };
        Ok(match offered {
            Offer::Any => connectors.any,
            Offer::Http1 => connectors.http1,
        })
    }

    /// Reads the authorities again; if they cannot be used, the old ones stay.
    pub(crate) fn reload(&self) -> Result<(), RouterError> {
        self.read().map(|_| ())
    }

    fn read(&self) -> Result<Connectors, RouterError> {
        let now = self.source.stamps();
        let connectors = self.build()?;
        *self
            .connectors
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(connectors.clone());
        self.source.loaded(now);
        Ok(connectors)
    }

    fn build(&self) -> Result<Connectors, RouterError> {
        let mut roots = RootCertStore::empty();
        match &self.settings.ca {
            Some(file) => {
                for certificate in certificates(self.ca_setting, file)? {
                    roots
                        .add(certificate)
                        .map_err(|error| file_error(self.ca_setting, file, &error))?;
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
            }
        }
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_error(self.ca_setting, &error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut http1 = config.clone();
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        http1.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Connectors {
            any: TlsConnector::from(Arc::new(config)),
            http1: TlsConnector::from(Arc::new(http1)),
        })
    }
}

/// What may be spoken in a connection to a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    Any,
    Http1,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn file_error(setting: &'static str, path: &Path, problem: &dyn fmt::Display) -> RouterError {
    RouterError::Tls {
        message: format!(
            "`{setting}`: cannot use `{}`: {problem}; name a PEM file that this process may read",
            path.display()
        ),
    }
}

fn tls_error(setting: &'static str, problem: &dyn fmt::Display) -> RouterError {
    RouterError::Tls {
        message: format!("`{setting}`: {problem}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::{CertifiedKey as Pair, generate_simple_self_signed};

    use super::*;

    #[test]
    fn a_certificate_is_renewed_once_both_of_its_files_are() {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsConfig {
            certificate: folder.path().join("cert.pem"),
            key: folder.path().join("key.pem"),
        };
        let pair = || {
            let Pair { cert, signing_key } =
                generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
            (cert.pem(), signing_key.serialize_pem())
        };
        let write = |(certificate, key): (Option<&str>, Option<&str>)| {
            let file = [(&files.certificate, certificate), (&files.key, key)];
            for (path, text) in file.into_iter().filter_map(|(p, t)| Some((p, t?))) {
                fs::write(path, text).unwrap();
                // As old as the first ones, as `cp -p` may leave them.
                let old = std::time::SystemTime::UNIX_EPOCH;
                fs::File::open(path).unwrap().set_modified(old).unwrap();
            }
        };
        let (old, new) = (pair(), pair());
        write((Some(&old.0), Some(&old.1)));
        let certificate = Certificate::read(&files).unwrap();
        assert!(!certificate.source.has_changed());
        fs::remove_file(&files.certificate).unwrap();
        write((Some(&new.0), None));
        let halfway = certificate.source.stamps();
        assert!(certificate.source.has_changed() && certificate.reload().is_err());
        assert!(certificate.source.has_changed(), "it is tried again");
        fs::remove_file(&files.key).unwrap();
        write((None, Some(&new.1)));
        assert_ne!(certificate.source.stamps(), halfway);
        assert!(certificate.source.has_changed() && certificate.reload().is_ok());
        assert!(!certificate.source.has_changed());
    }
}
