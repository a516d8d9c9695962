//! The sessions that share an instance, as it sees them.

use std::collections::VecDeque;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use vp_models::hub::Tag;
use vp_models::platform::Warnings;
use vp_protocols::native::{Capabilities, SessionId};

use super::share::Ring;
use super::silence::Silence;
use super::turns::Account;
use super::{Permit, SessionStream};
use crate::authentication::Guest;

/// A session, seen from its instance.
pub(super) struct Member {
    pub(super) capabilities: Capabilities,
    /// Who it is.
    pub(super) guest: Guest,
    /// Whether it has said that it has a clock.
    pub(super) has_clock: bool,
    pub(super) stream: SessionStream,
    pub(super) silence: Silence,
    pub(super) account: Account,
    pub(super) ring: Option<Ring>,
    /// There is one in a session's life.
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
}

impl Member {
    pub(super) fn new(capabilities: Capabilities, guest: Guest, stream: SessionStream) -> Self {
        Self {
            capabilities,
            guest,
            has_clock: false,
            stream,
            silence: Silence::default(),
            account: Account::default(),
            ring: None,
            has_had_ring: false,
            held_permits: FxHashMap::default(),
            posted: VecDeque::new(),
            failures: Warnings::default(),
            lost_warnings: 0,
            saved: None,
        }
    }

    /// Gives back the permits of posted writes that no longer wait, when so many of the session's jobs do.
    pub(super) fn keep_posted(&mut self, waiting: usize) {
        while self.posted.len() > waiting {
            self.posted.pop_front();
        }
    }

    /// Whether it hears of all in its stream, and carries it out in that order.
    pub(super) fn is_in_order(&self) -> bool {
        is_in_order(self.capabilities)
    }
}

fn is_in_order(capabilities: Capabilities) -> bool {
    let has_other_ways = capabilities.intersection(Capabilities::LOCAL) != Capabilities::NONE;
    capabilities.contains(Capabilities::MEMORY_IN_ORDER) && !has_other_ways
}

/// All of them, in the order of their numbers: mostly one or two, at whom every access looks several times.
#[derive(Default)]
pub(super) struct Members(Vec<(SessionId, Member)>);

impl Members {
    fn place(&self, session: SessionId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&session, |(id, _)| *id)
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Member> {
        self.place(session).ok().map(|place| &self.0[place].1)
    }

    pub(super) fn get_mut(&mut self, session: SessionId) -> Option<&mut Member> {
        self.place(session).ok().map(|place| &mut self.0[place].1)
    }

    pub(super) fn contains(&self, session: SessionId) -> bool {
        self.place(session).is_ok()
    }

    pub(super) fn insert(&mut self, session: SessionId, member: Member) {
        match self.place(session) {
            Ok(place) => self.0[place].1 = member,
            Err(place) => self.0.insert(place, (session, member)),
        }
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Member> {
        self.place(session).ok().map(|place| self.0.remove(place).1)
    }

    /// One whose stream has ended, and what came before is carried out; and why.
    pub(super) fn ended(&self) -> Option<(SessionId, String)> {
        let mut over = self.iter().filter(|(_, member)| member.stream.asked() == 0);
        over.find_map(|(session, member)| Some((session, member.stream.end()?.why().to_owned())))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        self.0.iter().map(|(session, member)| (*session, member))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        self.0.iter_mut().map(|(session, member)| (*session, member))
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
