//! Register accesses that the bus has taken and not answered.

use std::collections::VecDeque;
use vp_types::{PartyId, PortId};

use super::ids::Tag;
use super::output::Failure;

/// A register access that the bus has taken and not answered, or one that it never gets: answers keep request order.
pub(super) struct BusAccess {
    pub(super) bus_tag: u64,
    pub(super) party: PartyId,
    pub(super) tag: Tag,
    pub(super) write: bool,
    pub(super) failure: Option<Failure>,
}

/// Accesses in the order of their requests.
#[derive(Default)]
pub(super) struct BusAccesses {
    last_tag: u64,
    waiting: VecDeque<BusAccess>,
    /// Accesses of partners, by the bus's tag.
    driven: VecDeque<(u64, PartyId, PortId)>,
}

impl BusAccesses {
    /// Returns the tag of the next access on the bus.
    pub(super) fn next_tag(&mut self) -> u64 {
        self.last_tag += 1;
        self.last_tag
    }

    pub(super) fn push(&mut self, access: BusAccess) {
        self.waiting.push_back(access);
    }

    /// Takes the access that is answered: the first one, unless a reset has thrown it away, or a partner has asked.
    pub(super) fn answered(&mut self, bus_tag: u64) -> Option<BusAccess> {
        let is_first = self.waiting.front().is_some_and(|front| front.bus_tag == bus_tag);
        is_first.then(|| self.waiting.pop_front()).flatten()
    }

    /// Takes an access that the bus does not answer.
    pub(super) fn remove(&mut self, bus_tag: u64) -> Option<BusAccess> {
        let position = self.waiting.iter().position(|access| access.bus_tag == bus_tag)?;
        self.waiting.remove(position)
    }

    /// Takes the first access if it has failed.
    pub(super) fn failed(&mut self) -> Option<(PartyId, Tag, Failure)> {
        let failure = self.waiting.front_mut()?.failure.take()?;
        let BusAccess { party, tag, .. } = self.waiting.pop_front()?;
        Some((party, tag, failure))
    }

    pub(super) fn take_all(&mut self) -> VecDeque<BusAccess> {
        std::mem::take(&mut self.waiting)
    }

    /// Returns true if a party waits for an answer.
    pub(super) fn has_access_of(&self, party: PartyId) -> bool {
        self.waiting.iter().any(|access| access.party == party)
    }

    /// Adds an access that a partner drives at a port.
    pub(super) fn push_driven(&mut self, bus_tag: u64, party: PartyId, port: PortId) {
        self.driven.push_back((bus_tag, party, port));
    }

    /// Takes a partner's access that is answered.
    pub(super) fn driven_answered(&mut self, bus_tag: u64) -> Option<(PartyId, PortId)> {
        let &(tag, party, port) = self.driven.front()?;
        (tag == bus_tag).then(|| {
            self.driven.pop_front();
            (party, port)
        })
    }

    pub(super) fn clear_driven(&mut self) {
        self.driven.clear();
    }
}
