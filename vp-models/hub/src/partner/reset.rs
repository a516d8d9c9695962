//! A reset of a platform with partners.
//!
//! The platform drives a reset at each port that a partner holds. From then on all that was in flight there, in
//! both directions, is void. What the platform drives next is driven at a port as at the beginning, and what
//! the partner has driven before it drives the reset back is ignored. Promises, and counts of events, stay as
//! they are.

use vp_core::Time;
use vp_types::{PartyId, PortId};

use super::{Broken, PortEvent};
use crate::Hub;

/// The ports of this platform at which the reset came that put it back last, and when.
#[derive(Default)]
pub(super) struct ResetRound {
    at: Time,
    ports: Vec<PortId>,
}

impl ResetRound {
    /// A reset comes at a port; tells whether it is another one than that which the other ports have seen.
    pub(super) fn is_new(&mut self, at: Time, port: PortId) -> bool {
        let is_new = self.at != at || self.ports.is_empty() || self.ports.contains(&port);
        if is_new {
            (self.at, self.ports) = (at, Vec::new());
        }
        self.ports.push(port);
        is_new
    }
}

impl Hub {
    /// Takes a party for the platform that this one is a part of: its resets are obeyed.
    pub(crate) fn follow(&mut self, leader: PartyId) {
        if let Some(partner) = self.partners.get_mut(leader) {
            partner.is_leader = true;
        }
    }

    pub(super) fn is_leader(&self, party: PartyId) -> bool {
        self.partners.get(party).is_some_and(|partner| partner.is_leader)
    }

    /// Returns true if a reset of the platform that this one is a part of has come, and not taken effect.
    pub(crate) fn has_reset_ahead(&self) -> bool {
        self.partners.have_reset_ahead()
    }

    /// The platform that this one is a part of was reset, as a port sees it now.
    pub(super) fn follow_reset(&mut self, party: PartyId, port: PortId) -> Result<(), Broken> {
        let now = self.now();
        if self.partners.is_new_reset(now, port) {
            self.reset(Some(party)).map_err(|failure| Broken::Pins(failure.reason))?;
        }
        // As every output does, it follows its input an edge later.
        let next = now + self.platform.description().period;
        self.send_driven(party, port, next, PortEvent::Reset);
        Ok(())
    }

    /// Tells partners that the platform was put back, but for the one that has asked for it.
    pub(crate) fn reset_partners(&mut self, by: Option<PartyId>) {
        let now = self.now();
        self.partners.driven().events.borrow_mut().clear();
        self.bus.clear_driven();
        let timed = self.holdings.iter().filter(|held| held.is_timed && Some(held.party) != by);
        let timed: Vec<(PartyId, PortId)> = timed.map(|held| (held.party, held.port)).collect();
        for (party, port) in timed {
            if let Some(partner) = self.partners.get_mut(party) {
                partner.queue.clear();
                *partner.resets.entry(port).or_default() += 1;
            }
            self.send_driven(party, port, now, PortEvent::Reset);
        }
    }
}
