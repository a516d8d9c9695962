//! Requests to the owners of memory that are not answered yet, and for how long, in wall-clock time.

use std::collections::BTreeMap;
use std::time::Instant;

use vp_protocols::native::SessionId;

/// Names a request to a memory owner between platform and session: the hub's number of it.
pub(super) type Token = u64;

/// Requests without an answer, in the order in which they were asked.
#[derive(Default)]
pub(super) struct Owners(BTreeMap<Token, (SessionId, Instant)>);

impl Owners {
    /// A request goes to its owner, and the owner's time limit begins.
    pub(super) fn asked(&mut self, token: Token, owner: SessionId) {
        self.0.insert(token, (owner, Instant::now()));
    }

    pub(super) fn answered(&mut self, token: Token) {
        self.0.remove(&token);
    }

    /// The session is gone.
    pub(super) fn forget(&mut self, owner: SessionId) {
        self.0.retain(|_, (session, _)| *session != owner);
    }

    /// The owner that has left a request unanswered for longest, and since when.
    pub(super) fn oldest(&self) -> Option<(SessionId, Instant)> {
        self.0.first_key_value().map(|(_, oldest)| *oldest)
    }
}
