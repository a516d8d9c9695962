//! A session, from the view of its instance.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use vp_hub::Tag;
use vp_models::memory::CountedBytes;
use vp_models::platform::Warnings;
use vp_protocols::native::{Capabilities, SessionId};

use super::permits::Permit;
use super::session_stream::SessionStream;
use super::share::Ring;
use super::silence::Silence;
use crate::access::SessionIdentity;

/// The sessions of an instance, in the order in which they are served.
pub(super) type Members = BTreeMap<SessionId, Box<Member>>;

/// A session, seen from its instance.
pub(super) struct Member {
    pub(super) capabilities: Capabilities,
    /// Name of the session in the log, and what it calls itself.
    pub(super) name: String,
    pub(super) agent: String,
    /// Time since which it is here.
    pub(super) since: Instant,
    /// True if the session only looks, and is not a party of the platform.
    pub(super) is_observer: bool,
    /// Identity and rights of the session.
    pub(super) identity: SessionIdentity,
    /// True if the session has a clock of its own.
    pub(super) has_clock: bool,
    pub(super) stream: SessionStream,
    pub(super) silence: Silence,
    pub(super) ring: Option<Ring>,
    /// True if the session has had its ring: it gets one in its life.
    pub(super) has_had_ring: bool,
    /// Of the requests that the hub has not completed.
    pub(super) held_permits: FxHashMap<Tag, Permit>,
    /// Of the posted writes that wait for their turn, oldest first.
    pub(super) posted: VecDeque<Permit>,
    /// Posted writes that failed since the last reply.
    pub(super) failures: Warnings,
    pub(super) lost_warnings: u64,
    /// The platform, as it was saved for the session last.
    pub(super) saved: Option<Bytes>,
    /// The state that the platform is to take up, as far as it has come.
    pub(super) loading: Option<CountedBytes>,
}

impl Member {
    pub(super) fn new(
        capabilities: Capabilities,
        (name, agent): (String, String),
        identity: SessionIdentity,
        stream: SessionStream,
    ) -> Self {
        Self {
            capabilities,
            name,
            agent,
            since: Instant::now(),
            is_observer: false,
            identity,
            has_clock: false,
            stream,
            silence: Silence::default(),
            ring: None,
            has_had_ring: false,
            held_permits: FxHashMap::default(),
            posted: VecDeque::new(),
            failures: Warnings::default(),
            lost_warnings: 0,
            saved: None,
            loading: None,
        }
    }

    /// Gives back the permits of posted writes that no longer wait, when so many of the session's jobs do.
    pub(super) fn keep_posted(&mut self, waiting: usize) {
        while self.posted.len() > waiting {
            self.posted.pop_front();
        }
    }

    /// Returns true if the session hears of all in its stream, and carries it out in that order.
    pub(super) fn is_in_order(&self) -> bool {
        is_in_order(self.capabilities)
    }
}

fn is_in_order(capabilities: Capabilities) -> bool {
    let has_other_ways = capabilities.intersection(Capabilities::LOCAL) != Capabilities::NONE;
    capabilities.contains(Capabilities::MEMORY_IN_ORDER) && !has_other_ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_or_shared_memory_goes_past_the_stream() {
        let promised = Capabilities::ALL.union(Capabilities::MEMORY_IN_ORDER);
        assert!(is_in_order(promised));
        assert!(!is_in_order(Capabilities::ALL));
        for way in [Capabilities::SHARED_MEMORY, Capabilities::REGISTER_RING, Capabilities::LOCAL] {
            assert!(!is_in_order(promised.union(way)));
        }
    }
}
