//! The parties of a hub, as it sees them.

use std::collections::VecDeque;

use super::input::{MemoryPromise, PartyId};
use super::jobs::Job;

/// A party.
pub(super) struct Party {
    /// How messages to people name it.
    pub(super) name: String,
    pub(super) memory: MemoryPromise,
    /// What it wants, in its order.
    pub(super) jobs: VecDeque<Job>,
}

impl Party {
    pub(super) fn new(name: String, memory: MemoryPromise) -> Party {
        Party { name, memory, jobs: VecDeque::new() }
    }
}

/// All of them, in the order of their numbers: mostly one or two, at whom every access looks several times.
#[derive(Default)]
pub(super) struct Parties(Vec<(PartyId, Party)>);

impl Parties {
    fn position(&self, party: PartyId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&party, |(id, _)| *id)
    }

    pub(super) fn get(&self, party: PartyId) -> Option<&Party> {
        self.position(party).ok().map(|position| &self.0[position].1)
    }

    pub(super) fn get_mut(&mut self, party: PartyId) -> Option<&mut Party> {
        self.position(party).ok().map(|position| &mut self.0[position].1)
    }

    /// The name by which people know a party, also one that has gone.
    pub(super) fn name(&self, party: PartyId) -> String {
        self.get(party).map_or_else(|| format!("party {}", party.0), |party| party.name.clone())
    }

    pub(super) fn contains(&self, party: PartyId) -> bool {
        self.position(party).is_ok()
    }

    pub(super) fn insert(&mut self, id: PartyId, party: Party) {
        match self.position(id) {
            Ok(position) => self.0[position].1 = party,
            Err(position) => self.0.insert(position, (id, party)),
        }
    }

    pub(super) fn remove(&mut self, party: PartyId) -> Option<Party> {
        self.position(party).ok().map(|position| self.0.remove(position).1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PartyId, &Party)> {
        self.0.iter().map(|(id, party)| (*id, party))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (PartyId, &mut Party)> {
        self.0.iter_mut().map(|(id, party)| (*id, party))
    }

    /// The same, beginning with this party or the next one there is.
    pub(super) fn starting_at(&self, party: PartyId) -> impl Iterator<Item = (PartyId, &Party)> {
        let (before, after) = self.0.split_at(self.position(party).unwrap_or_else(|position| position));
        after.iter().chain(before).map(|(id, party)| (*id, party))
    }
}
