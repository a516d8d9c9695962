//! All holds on ports.

use std::ops::Deref;
use std::rc::Rc;
use vp_types::{PartyId, PortId, Role};

use rustc_hash::FxHashMap;

use super::outside::DirectRange;
use super::ports::Holding;

/// All of them, in the order in which they were taken.
///
/// Every access looks here for its party's, and hundreds of parties may hold the same port.
#[derive(Default)]
pub(super) struct Holdings {
    all: Vec<Holding>,
    /// Position of each there: a party has one hold on a port.
    positions: FxHashMap<(PartyId, PortId), usize>,
    /// Position of each port's target: a port has one.
    targets: FxHashMap<PortId, usize>,
}

impl Deref for Holdings {
    type Target = [Holding];

    fn deref(&self) -> &[Holding] {
        &self.all
    }
}

impl Holdings {
    /// A party's hold on a port.
    pub(super) fn of(&self, party: PartyId, port: PortId) -> Option<&Holding> {
        self.positions.get(&(party, port)).map(|position| &self.all[*position])
    }

    /// The party behind a port.
    pub(super) fn target(&self, port: PortId) -> Option<&Holding> {
        self.targets.get(&port).map(|position| &self.all[*position])
    }

    pub(super) fn push(&mut self, holding: Holding) {
        self.all.push(holding);
        self.index(self.all.len() - 1);
    }

    pub(super) fn remove(&mut self, party: PartyId, port: PortId) -> Option<Holding> {
        let position = self.positions.remove(&(party, port))?;
        let holding = self.all.remove(position);
        if holding.role == Role::Target {
            self.targets.remove(&port);
        }
        (position..self.all.len()).for_each(|moved| self.index(moved));
        Some(holding)
    }

    /// Names what of a target is accessed directly.
    pub(super) fn set_direct(&mut self, port: PortId, direct: Rc<[DirectRange]>) {
        if let Some(position) = self.targets.get(&port) {
            self.all[*position].direct = direct;
        }
    }

    fn index(&mut self, position: usize) {
        let Holding { party, port, role, .. } = self.all[position];
        self.positions.insert((party, port), position);
        if role == Role::Target {
            self.targets.insert(port, position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_are_found_after_others_have_gone() {
        let mut holdings = Holdings::default();
        let ports = [(0, Role::Initiator), (1, Role::Target), (2, Role::Initiator)];
        for party in 0..4 {
            // A port has one target.
            let held = ports.iter().filter(|(_, role)| *role == Role::Initiator || party == 2);
            for &(port, role) in held {
                let (party, port, range, direct) = (PartyId(party), PortId(port), 0..1, Rc::default());
                holdings.push(Holding { party, port, role, range, direct, is_timed: false });
            }
        }
        let find = |holdings: &Holdings| {
            for held in holdings.iter() {
                let found = holdings.of(held.party, held.port).map(|found| (found.party, found.port));
                assert_eq!(found, Some((held.party, held.port)));
            }
            holdings.target(PortId(1)).map(|held| held.party)
        };
        assert_eq!(find(&holdings), Some(PartyId(2)));
        assert!(holdings.remove(PartyId(1), PortId(0)).is_some());
        assert!(holdings.remove(PartyId(1), PortId(0)).is_none());
        assert_eq!(find(&holdings), Some(PartyId(2)));
        assert!(holdings.remove(PartyId(2), PortId(1)).is_some());
        assert_eq!(find(&holdings), None);
        let order: Vec<u64> = holdings.iter().map(|held| held.party.0).collect();
        assert_eq!(order, [0, 0, 1, 2, 2, 3, 3]);
    }
}
