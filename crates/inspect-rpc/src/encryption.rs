//! Encryption with a certificate that stands in files. They are looked at when a caller connects, and read anew when they have
//! changed, so a certificate is renewed by replacing its files.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use futures::{Stream, StreamExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::TcpIncoming;

use crate::mark::Mark;

/// How long a peer may take to agree upon the encryption.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// So many peers may be about it at the same time; others wait.
const AT_ONCE: usize = 512;

/// Encrypts what comes in.
pub(crate) struct Encryption(TlsAcceptor);

/// A certificate and its key.
#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    read: Mutex<Read>,
}

/// What was read of them.
#[derive(Debug)]
struct Read {
    /// What the files were when they were last tried.
    marks: [Option<Mark>; 2],
    /// The newest that could be used.
    used: Arc<CertifiedKey>,
}

// === impl Encryption ===

impl Encryption {
    /// Reads the files, as PEM; `browsers` may speak HTTP/1.1.
    ///
    /// # Errors
    /// When they cannot be read, or do not belong together.
    pub(crate) fn open((certificate, key): &(PathBuf, PathBuf), browsers: bool) -> anyhow::Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let read = Read::of(certificate, key, &provider)?;
        let files = Files {
            certificate: certificate.clone(),
            key: key.clone(),
            provider: provider.clone(),
            read: Mutex::new(read),
        };
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(files));
        config.alpn_protocols = vec![b"h2".to_vec()];
        config.alpn_protocols.extend(browsers.then(|| b"http/1.1".to_vec()));
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// The connections of peers with whom it could be agreed.
    pub(crate) fn over(self, incoming: TcpIncoming) -> impl Stream<Item = io::Result<TlsStream<TcpStream>>> {
        let agree = move |peer: io::Result<TcpStream>| {
            let acceptor = self.0.clone();
            async move {
                let peer = match peer {
                    Ok(peer) => peer,
                    Err(error) => return Some(Err(error)),
                };
                match tokio::time::timeout(HANDSHAKE, acceptor.accept(peer)).await {
                    Ok(Ok(agreed)) => Some(Ok(agreed)),
                    Ok(Err(error)) => {
                        tracing::debug!(%error, "a caller did not agree upon the encryption");
                        None
                    }
                    Err(_) => None,
                }
            }
        };
        incoming.map(agree).buffer_unordered(AT_ONCE).filter_map(std::future::ready)
    }
}

// === impl Files ===

impl Files {
    fn newest(&self) -> Arc<CertifiedKey> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = [&self.certificate, &self.key].map(|file| Mark::of(file).ok());
        if marks != read.marks {
            match Read::of(&self.certificate, &self.key, &self.provider) {
                Ok(newer) => {
                    tracing::info!(file = %self.certificate.display(), "the certificate was read anew");
                    *read = newer;
                }
                // One of the two may not have been replaced yet.
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "the former certificate stays");
                    read.marks = marks;
                }
            }
        }
        read.used.clone()
    }
}

impl ResolvesServerCert for Files {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.newest())
    }
}

// === impl Read ===

impl Read {
    fn of(certificate: &PathBuf, key: &PathBuf, provider: &CryptoProvider) -> anyhow::Result<Self> {
        // Before they are read: what changes in between is seen the next time.
        let marks = [certificate, key].map(|file| Mark::of(file).ok());
        let read = |flag: &str, file: &PathBuf| {
            std::fs::read(file).with_context(|| format!("{flag} {}: it cannot be read", file.display()))
        };
        let (certificates, key) = (read("--tls-cert", certificate)?, read("--tls-key", key)?);
        let used = certified(&certificates, &key, provider)
            .context("--tls-cert, --tls-key: write PEM of a certificate and its key")?;
        Ok(Self { marks, used: Arc::new(used) })
    }
}

fn certified(certificates: &[u8], key: &[u8], provider: &CryptoProvider) -> anyhow::Result<CertifiedKey> {
    let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>()?;
    anyhow::ensure!(!chain.is_empty(), "there is no certificate");
    let key = PrivateKeyDer::from_pem_slice(key)?;
    Ok(CertifiedKey::from_der(chain, key, provider)?)
}
