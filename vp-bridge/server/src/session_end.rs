//! Ends of sessions.

use vp_models::printable::one_line;
use vp_protocols::native::{Connection, Violation};

/// Reason for which all sessions end with the server.
pub(crate) const SHUTDOWN: &str = "the server shuts down";

/// Reason for which a session ended, for the log.
#[derive(Debug)]
pub(crate) enum SessionOutcome {
    /// As it should.
    Fine(String),
    /// The peer did wrong.
    Wrong(String),
}

impl SessionOutcome {
    /// Reason of the end.
    pub(crate) fn why(&self) -> &str {
        let (Self::Fine(why) | Self::Wrong(why)) = self;
        why
    }

    /// Returns the line of the log about the end of a session of that name.
    pub(crate) fn line(&self, name: &str) -> String {
        format!("{name}: {}; session closed", self.why())
    }

    /// Notes in the log how a session of that name ended.
    pub(crate) fn log(&self, name: &str) {
        let line = self.line(name);
        match self {
            Self::Fine(_) => tracing::info!("{line}"),
            Self::Wrong(_) => tracing::warn!("{line}"),
        }
    }
}

impl From<Violation> for SessionOutcome {
    fn from(violation: Violation) -> Self {
        Self::Wrong(violation.to_string())
    }
}

/// State that a session's task gets back from the platform's thread, which leaves the socket alone from then on.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The protocol's state, with the messages that are left to send.
    pub(crate) connection: Connection,
    pub(crate) end: SessionOutcome,
}

/// Returns the name that a stranger gives itself, fit for a line of a log.
pub(crate) fn printable(agent: &str) -> String {
    one_line(&agent.chars().take(64).collect::<String>()).into_owned()
}
