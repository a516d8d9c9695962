//! Certificates and keys: those that a side presents, and those that it trusts.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

use crate::secret_file;

/// Bytes of a file of certificates or of a key, at most.
const MOST_BYTES: u64 = 1 << 20;

/// A file that TLS cannot use.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The file has no certificate, or no key, or one that cannot be used.
    #[error("{}: {what}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Reason.
        what: String,
    },
}

/// Settings of a client: what it trusts and shows.
#[derive(Clone)]
pub struct Client(pub(super) Arc<ClientConfig>);

/// The certificate that a server presents, and the client certificates that it accepts.
#[derive(Clone)]
pub struct Server {
    pub(super) config: Arc<ServerConfig>,
    knows_clients: bool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn unfit(path: &Path, what: impl fmt::Display) -> TlsError {
    TlsError::Unfit { path: path.to_owned(), what: what.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text))
        .map_err(|source| TlsError::Io { path: path.to_owned(), source })?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(unfit(path, "no certificate is in it, in PEM")),
        Err(error) => Err(unfit(path, error)),
    }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = secret_file::read(path, MOST_BYTES)
        .map_err(|source| TlsError::Io { path: path.to_owned(), source })?;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| unfit(path, "no private key is in it, in PEM"))
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store.add(certificate).map_err(|error| unfit(path, error))?;
    }
    Ok(store)
}

impl Client {
    /// Trusts servers whose certificates are from the authority in that file. `own` is the file of a
    /// certificate to present, and the file of its key. All files are in PEM.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(authority: &Path, own: Option<(&Path, &Path)>) -> Result<Self, TlsError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unfit(authority, error))?
            .with_root_certificates(authorities(authority)?);
        let config = match own {
            None => config.with_no_client_auth(),
            Some((certificate, secret)) => config
                .with_client_auth_cert(certificates(certificate)?, key(secret)?)
                .map_err(|error| unfit(certificate, error))?,
        };
        Ok(Self(Arc::new(config)))
    }
}

impl Server {
    /// Presents the certificate in that file, whose key is in the other one. Clients need no certificate; if
    /// they present one, it must be from the authority in `clients`. All files are in PEM.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(certificate: &Path, secret: &Path, clients: Option<&Path>) -> Result<Self, TlsError> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unfit(certificate, error))?;
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(path) => {
                let store = Arc::new(authorities(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(store, provider());
                let verifier = verifier.allow_unauthenticated().build();
                config.with_client_cert_verifier(verifier.map_err(|error| unfit(path, error))?)
            }
        };
        let mut config = config
            .with_single_cert(certificates(certificate)?, key(secret)?)
            .map_err(|error| unfit(certificate, error))?;
        // Sessions are long: nobody resumes one.
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), knows_clients: clients.is_some() })
    }

    /// Returns true if the server takes certificates of clients.
    pub fn knows_clients(&self) -> bool {
        self.knows_clients
    }
}
