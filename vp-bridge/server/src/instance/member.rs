//! A session, from the view of its instance.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::time::Instant;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use vp_hub::Tag;
use vp_models::platform::Warnings;
use vp_protocols::native::{Capabilities, SessionId};

use super::permits::Permit;
use super::session_stream::SessionStream;
use super::share::Ring;
use super::silence::Silence;
use super::turns::{CommandCosts, Order, is_read_in_turn};
use crate::access::SessionIdentity;

/// Looks at a session, one after the other, at which nothing has come, after which it falls asleep. So many looks take about as long
/// as to fall asleep and to be woken.
pub(super) const LOOKS_AWAKE: usize = 4;

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
    pub(super) account: CommandCosts,
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
    /// Looks at its stream, one after the other, at which nothing was there or to be done.
    pub(super) quiet_looks: usize,
    /// True if the session's socket had something, when that was looked at last.
    pub(super) has_input: bool,
    /// The platform, as it was saved for the session last.
    pub(super) saved: Option<Bytes>,
}

impl Member {
    pub(super) fn new(
        capabilities: Capabilities,
        (name, agent): (String, String),
        identity: SessionIdentity,
        stream: SessionStream,
        account: CommandCosts,
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
            account,
            ring: None,
            has_had_ring: false,
            held_permits: FxHashMap::default(),
            posted: VecDeque::new(),
            failures: Warnings::default(),
            lost_warnings: 0,
            quiet_looks: 0,
            has_input: false,
            saved: None,
        }
    }

    /// Gives back the permits of posted writes that no longer wait, when so many of the session's jobs do.
    pub(super) fn keep_posted(&mut self, waiting: usize) {
        while self.posted.len() > waiting {
            self.posted.pop_front();
        }
    }

    /// Returns true if only the session's stream, or a message for it, can change its state.
    pub(super) fn may_sleep(&mut self) -> bool {
        let has_nothing = self.ring.is_none() && self.posted.is_empty() && self.held_permits.is_empty();
        has_nothing && self.stream.is_quiet()
    }

    /// Lets it fall asleep without further looks, if it may.
    pub(super) fn look_no_more(&mut self) {
        self.quiet_looks = LOOKS_AWAKE;
    }

    /// Returns true if the session has nothing but its turn to wait for, with more than a little to be carried out then.
    pub(super) fn waits_for_turn(&mut self) -> bool {
        self.ring.is_none() && self.ranks().next().is_some() && self.stream.is_told_all()
    }

    /// Returns true if the session has nothing but its turn to be read to wait for.
    pub(super) fn waits_to_be_read(&mut self) -> bool {
        let is_read_later = self.has_input && is_read_in_turn(&self.stream);
        is_read_later && self.ring.is_none() && self.posted.is_empty() && self.stream.is_told_all()
    }

    /// Reads once and decodes, but for what is long in one piece: that is [read in turn](Self::read_in_turn).
    pub(super) fn read_at_once(&mut self) {
        if is_read_in_turn(&self.stream) {
            self.stream.flush();
        } else {
            self.read_in_turn();
        }
    }

    /// Reads once and decodes.
    pub(super) fn read_in_turn(&mut self) {
        self.stream.poll();
        self.has_input = self.stream.has_come();
    }

    /// Returns the session's rank in each of the orders in which it waits for its turn.
    pub(super) fn ranks(&self) -> impl Iterator<Item = (Order, u64)> + use<> {
        self.account.ranks(self.stream.asked())
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

/// Sessions by their numbers.
#[derive(Default)]
pub(super) struct MemberMap(BTreeMap<SessionId, Box<Member>>);

impl MemberMap {
    pub(super) fn insert(&mut self, session: SessionId, member: Box<Member>) {
        self.0.insert(session, member);
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Box<Member>> {
        self.0.remove(&session)
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Member> {
        self.0.get(&session).map(|member| &**member)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        self.0.iter().map(|(session, member)| (*session, &**member))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        self.0.iter_mut().map(|(session, member)| (*session, &mut **member))
    }

    /// The first session after this one, or otherwise the first of all.
    pub(super) fn next(&self, behind: SessionId) -> Option<SessionId> {
        let next = self.0.range((Bound::Excluded(behind), Bound::Unbounded)).next();
        next.or_else(|| self.0.first_key_value()).map(|(session, _)| *session)
    }
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
