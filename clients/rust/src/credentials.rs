//! The credentials of a client.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vp_protocols::native::{MAX_TOKEN, Token};
use vp_transport::{secret_file, tls};

/// The variable that has the token.
pub const TOKEN: &str = "VP_TOKEN";
/// The environment variable with the name of a file that has the token.
pub const TOKEN_FILE: &str = "VP_TOKEN_FILE";
/// The environment variable with the name of a file, in PEM, that has the certificate of the authority whose
/// servers are trusted.
pub const AUTHORITY: &str = "VP_CA";
/// The environment variable with the name of a file, in PEM, that has this client's own certificate.
pub const CERTIFICATE: &str = "VP_CERTIFICATE";
/// The environment variable with the name of the file that has this certificate's key.
pub const KEY: &str = "VP_KEY";

/// The credentials of a client. [`Debug`] shows nothing of them.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// Token for servers that ask for authentication.
    pub token: Option<Token>,
    /// The authority that it trusts with TLS, and its own certificate.
    pub tls: Option<tls::Client>,
}

/// Credentials that cannot be read.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// A file of a token.
    #[error("cannot read the token in {}: {source}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// A file that TLS needs.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    /// One of two files that go together.
    #[error(
        "{there} is set, and {missing} is not: a certificate goes with its key, and with the authority that is trusted ({AUTHORITY})"
    )]
    Half {
        /// The variable that is set.
        there: &'static str,
        /// The variable that is not set.
        missing: &'static str,
    },
}

impl Credentials {
    /// The credentials in the environment: the token in [`TOKEN`], or in the file that [`TOKEN_FILE`] names;
    /// for TLS [`AUTHORITY`], and [`CERTIFICATE`] with [`KEY`].
    ///
    /// # Errors
    /// [`CredentialsError`]: a file is named that is none.
    pub fn from_environment() -> Result<Self, CredentialsError> {
        Self::with(None, None)
    }

    /// Takes the credentials of the environment, but the token and the authority from these files, where they are given.
    ///
    /// # Errors
    /// [`CredentialsError`].
    pub fn with(token_file: Option<&Path>, authority: Option<&Path>) -> Result<Self, CredentialsError> {
        let variable = |name| env::var_os(name).map(PathBuf::from);
        let token = match (token_file.map(Path::to_owned).or_else(|| variable(TOKEN_FILE)), env::var(TOKEN)) {
            (Some(path), _) => Some(token_of(&path)?),
            (None, Ok(token)) => Some(Token::new(token.trim())),
            (None, Err(_)) => None,
        };
        let authority = authority.map(Path::to_owned).or_else(|| variable(AUTHORITY));
        let half = |there, missing| Err(CredentialsError::Half { there, missing });
        let own = match (variable(CERTIFICATE), variable(KEY)) {
            (None, None) => None,
            (Some(_), None) => return half(CERTIFICATE, KEY),
            (None, Some(_)) => return half(KEY, CERTIFICATE),
            (Some(_), Some(_)) if authority.is_none() => return half(CERTIFICATE, AUTHORITY),
            (Some(certificate), Some(key)) => Some((certificate, key)),
        };
        let own = own.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
        let tls = authority.map(|authority| tls::Client::new(&authority, own)).transpose()?;
        Ok(Self { token, tls })
    }
}

/// The token in a file, without the white space around it.
///
/// # Errors
/// [`CredentialsError::Token`], also for a file that everybody may read.
pub fn token_of(path: &Path) -> Result<Token, CredentialsError> {
    // A line end behind it, of any kind.
    match secret_file::read(path, MAX_TOKEN as u64 + 2) {
        Ok(text) => Ok(Token::new(text.trim())),
        Err(source) => Err(CredentialsError::Token { path: path.to_owned(), source }),
    }
}
