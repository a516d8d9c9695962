//! Sessions that wait for their turn ([`turns`](super::turns)), on platforms with many sessions: their sockets
//! are not looked at until then.
//!
//! They have commands, so nothing needs to be read from them meanwhile. Looking at 500 of them takes longer
//! than a register access.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use vp_protocols::native::SessionId;

use super::members::Member;
use super::turns::Order;

/// They, and who is first by each of the orders.
#[derive(Default)]
pub(super) struct Waiting {
    members: FxHashMap<SessionId, Box<Member>>,
    orders: [BTreeSet<(u64, SessionId)>; Order::ALL.len()],
}

impl Waiting {
    pub(super) fn insert(&mut self, session: SessionId, member: Box<Member>) {
        for (order, rank) in member.ranks() {
            self.orders[order as usize].insert((rank, session));
        }
        self.members.insert(session, member);
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Box<Member>> {
        let member = self.members.remove(&session)?;
        for (order, rank) in member.ranks() {
            self.orders[order as usize].remove(&(rank, session));
        }
        Some(member)
    }

    /// Whose turn is next.
    pub(super) fn first(&self, order: Order) -> Option<(SessionId, &Member)> {
        let (_, session) = self.orders[order as usize].first()?;
        Some((*session, self.get(*session)?))
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Member> {
        self.members.get(&session).map(|member| &**member)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        self.members.iter().map(|(session, member)| (*session, &**member))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        self.members.iter_mut().map(|(session, member)| (*session, &mut **member))
    }
}
