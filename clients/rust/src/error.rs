//! Reasons for which there is no session, or a call failed.

use std::io;

use thiserror::Error;
use vp_protocols::native::{ErrorCode, SendError};
use vp_transport::{InClear, Route, UntrustedServer};

/// Reason for which there is no session.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The server cannot be reached, or does not answer in time.
    #[error("cannot connect to {peer}: {source}")]
    Io {
        /// Address at which the server should be.
        peer: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The server turned us away.
    #[error("{peer} refused the session: {code}: {reason}")]
    Refused {
        /// The server.
        peer: String,
        /// Reason, for programs.
        code: ErrorCode,
        /// Reason, for people.
        reason: String,
    },
    /// The session ended before it had begun.
    #[error("{peer}: {why}")]
    Ended {
        /// The server.
        peer: String,
        /// Reason.
        why: String,
    },
    /// The peer speaks another protocol, or breaks this one.
    #[error("{peer} is no server of platforms: {what}")]
    Protocol {
        /// The peer's address.
        peer: String,
        /// Fault of the answer.
        what: String,
    },
    /// The server wants a token, which others on the network could read.
    #[error("{peer} wants a token, and it is not sent: {source}")]
    TokenInClear {
        /// The server.
        peer: String,
        /// Address to which the token would have gone, and what would be right.
        source: InClear,
    },
    /// Another user's process listens where the server should be: it gets neither a token nor files with memory.
    #[error("{peer} is sent neither a token nor memory: {source}")]
    UntrustedServer {
        /// The server's address.
        peer: String,
        /// User who listens, and what would be right.
        source: UntrustedServer,
    },
    /// A hello that cannot be sent.
    #[error("platform or agent name: {0}")]
    Hello(SendError),
}

impl ConnectError {
    /// Checks that a token may be sent that way to a server.
    ///
    /// # Errors
    /// [`ConnectError::TokenInClear`].
    pub(crate) fn check_route(peer: &str, route: Route) -> Result<(), Self> {
        route.check_private().map_err(|source| Self::TokenInClear { peer: peer.to_owned(), source })
    }

    /// Checks that a server may get a token or files.
    ///
    /// # Errors
    /// [`ConnectError::UntrustedServer`].
    pub(crate) fn check_trust(peer: &str, trust: Result<(), UntrustedServer>) -> Result<(), Self> {
        trust.map_err(|source| Self::UntrustedServer { peer: peer.to_owned(), source })
    }
}

/// Reason for which a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The session is over, and every later call fails for the same reason.
    #[error("{0}")]
    Ended(String),
    /// The server refused. The session goes on.
    #[error("{}", refusal(*code, reason))]
    Refused {
        /// Reason, for programs.
        code: ErrorCode,
        /// Reason, for people; may be empty.
        reason: String,
    },
    /// The message cannot be sent, and was not. The session goes on.
    #[error("{0}")]
    Unsent(SendError),
    /// An answer of another kind than the request's.
    #[error("{0} is no answer to what was asked")]
    Unfit(&'static str),
}

fn refusal(code: ErrorCode, reason: &str) -> String {
    match reason {
        "" => code.to_string(),
        reason => reason.to_owned(),
    }
}
