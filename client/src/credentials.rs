//! What a client shows a server to be let in.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vp_protocols::native::{MAX_TOKEN, Token};
use vp_transport::secret_file;

/// The variable that has the token.
pub const TOKEN: &str = "VP_TOKEN";
/// The variable that has the name of a file with the token.
pub const TOKEN_FILE: &str = "VP_TOKEN_FILE";

/// What a client shows a server to be let in. Nothing of it is shown by [`Debug`].
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// For servers that want to know who comes.
    pub token: Option<Token>,
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
}

impl Credentials {
    /// What the environment has: the token in [`TOKEN`], or in the file that [`TOKEN_FILE`] names.
    ///
    /// # Errors
    /// [`CredentialsError`]: a file is named that is none.
    pub fn from_environment() -> Result<Self, CredentialsError> {
        let token = match (env::var_os(TOKEN_FILE), env::var(TOKEN)) {
            (Some(path), _) => Some(token_of(Path::new(&path))?),
            (None, Ok(token)) => Some(Token::new(token.trim())),
            (None, Err(_)) => None,
        };
        Ok(Self { token })
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
