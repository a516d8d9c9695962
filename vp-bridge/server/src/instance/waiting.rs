//! Sessions that wait for their turn ([`turns`](super::turns)), on platforms with many sessions: their sockets
//! are not looked at until then.
//!
//! They have commands, so nothing needs to be read from them meanwhile. Looking at 500 of them takes longer
//! than a register access.

use std::collections::BTreeSet;

use vp_protocols::native::SessionId;

use super::member::{Member, MemberMap};
use super::turns::Order;

/// The sessions, and the first of them by each of the orders.
#[derive(Default)]
pub(super) struct Waiting {
    members: MemberMap,
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
        let member = self.members.remove(session)?;
        for (order, rank) in member.ranks() {
            self.orders[order as usize].remove(&(rank, session));
        }
        Some(member)
    }

    /// The session whose turn is next.
    pub(super) fn first(&self, order: Order) -> Option<(SessionId, &Member)> {
        let (_, session) = self.orders[order as usize].first()?;
        Some((*session, self.members.get(*session)?))
    }

    pub(super) fn members(&self) -> &MemberMap {
        &self.members
    }

    pub(super) fn members_mut(&mut self) -> &mut MemberMap {
        &mut self.members
    }
}
