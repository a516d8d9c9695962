//! Identities of sessions, and what each may do.

use std::sync::Arc;

use vp_models::memory::MemoryPool;
use vp_protocols::native::{RequestId, Welcome};

use super::{Rights, TokenUse};

/// The identity and the rights of a session, for its platform.
#[derive(Debug)]
pub(crate) struct SessionIdentity {
    pub(crate) rights: Rights,
    /// The known client, if the server asks; counted as long as the session exists.
    pub(crate) presence: Option<TokenUse>,
    /// The welcome that it was given already, and the request that is answered once the platform has it.
    pub(crate) welcome: Option<(RequestId, Welcome)>,
}

impl Default for SessionIdentity {
    /// One that is not asked, and may do everything.
    fn default() -> Self {
        Self { rights: Rights::ALL, presence: None, welcome: None }
    }
}

impl SessionIdentity {
    /// The holder of the session's token, if the server asks.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.presence.as_ref().map(|presence| &*presence.holder().name)
    }

    /// Returns the pool from which the platforms that the holder of the session's token begins take memory, beside the server's own limit.
    pub(crate) fn memory(&self) -> Option<&Arc<MemoryPool>> {
        self.presence.as_ref().and_then(|presence| presence.holder().memory())
    }

    /// Returns true if the session may join the shared platform of that name.
    pub(crate) fn may_join(&self, platform: &str) -> bool {
        self.presence.as_ref().is_none_or(|presence| presence.holder().may_join(platform))
    }

    /// Returns the session's name in texts.
    pub(crate) fn name(&self) -> &str {
        self.presence.as_ref().map_or("the session", |presence| &presence.holder().name)
    }
}
