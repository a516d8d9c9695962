//! What a client shows a server to be let in.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vp_protocols::native::{MAX_TOKEN, Token};
use vp_transport::{secret_file, tls};

/// The variable that has the token.
pub const TOKEN: &str = "VP_TOKEN";
/// The variable that has the name of a file with the token.
pub const TOKEN_FILE: &str = "VP_TOKEN_FILE";
/// The variable that has the name of a file, in PEM, with the certificate of the authority whose servers are trusted.
pub const AUTHORITY: &str = "VP_CA";
/// The variable that has the name of a file, in PEM, with this client's own certificate.
pub const CERTIFICATE: &str = "VP_CERTIFICATE";
/// The variable that has the name of the file with that certificate's key.
pub const KEY: &str = "VP_KEY";

/// What a client shows a server to be let in. Nothing of it is shown by [`Debug`].
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// For servers that want to know who comes.
    pub token: Option<Token>,
    /// Whom it trusts with TLS, and the certificate that it shows.
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
        /// Why.
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
        /// That which is not.
        missing: &'static str,
    },
}

impl Credentials {
    /// What the environment has: the token in [`TOKEN`], or in the file that [`TOKEN_FILE`] names; for TLS [`AUTHORITY`], and
    /// [`CERTIFICATE`] with [`KEY`].
    ///
    /// # Errors
    /// [`CredentialsError`]: a file is named that is none.
    pub fn from_environment() -> Result<Self, CredentialsError> {
        Self::with(None, None)
    }

    /// The same, but for the files of the token and of the authority that are named here.
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
