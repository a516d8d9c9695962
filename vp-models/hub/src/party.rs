//! The parties of a hub, as it sees them.

use std::collections::{BTreeSet, VecDeque};
use vp_types::PartyId;

use super::input::MemoryGuarantees;
use super::job::Job;

/// A party.
pub(super) struct Party {
    /// Name of the party in messages to people.
    pub(super) name: String,
    pub(super) memory: MemoryGuarantees,
    /// Jobs that it wants done, in its order.
    jobs: VecDeque<Job>,
}

impl Party {
    pub(super) fn new(name: String, memory: MemoryGuarantees) -> Party {
        Party { name, memory, jobs: VecDeque::new() }
    }

    /// Returns the jobs that it wants done, in its order.
    pub(super) fn jobs(&self) -> &VecDeque<Job> {
        &self.jobs
    }
}

/// All of them, in the order of their numbers.
///
/// Mostly one or two; but every access looks here several times, and hundreds may be there that ask for nothing.
#[derive(Default)]
pub(super) struct Parties {
    all: Vec<(PartyId, Party)>,
    /// Parties that have jobs, in the same order.
    waiting: Vec<PartyId>,
    /// Parties whose messages a fault suppresses.
    silent: BTreeSet<PartyId>,
}

impl Parties {
    fn position(&self, party: PartyId) -> Result<usize, usize> {
        self.all.binary_search_by_key(&party, |(id, _)| *id)
    }

    pub(super) fn get(&self, party: PartyId) -> Option<&Party> {
        self.position(party).ok().map(|position| &self.all[position].1)
    }

    /// The name by which people know a party, also one that has gone.
    pub(super) fn name(&self, party: PartyId) -> String {
        self.get(party).map_or_else(|| format!("party {}", party.0), |party| party.name.clone())
    }

    pub(super) fn contains(&self, party: PartyId) -> bool {
        self.position(party).is_ok()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn insert(&mut self, id: PartyId, party: Party) {
        match self.position(id) {
            Ok(position) => self.all[position].1 = party,
            Err(position) => self.all.insert(position, (id, party)),
        }
        self.review(id);
    }

    pub(super) fn remove(&mut self, party: PartyId) -> Option<Party> {
        let position = self.position(party).ok()?;
        let (_, gone) = self.all.remove(position);
        self.silent.remove(&party);
        self.review(party);
        Some(gone)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PartyId, &Party)> {
        self.all.iter().map(|(id, party)| (*id, party))
    }

    /// Suppresses from now on what a party sends.
    pub(super) fn silence(&mut self, party: PartyId) {
        self.silent.insert(party);
    }

    pub(super) fn is_silent(&self, party: PartyId) -> bool {
        self.silent.contains(&party)
    }

    // Their jobs.

    /// Adds a job of a party after all its others, or before them.
    pub(super) fn push(&mut self, party: PartyId, job: Job) {
        self.change_jobs(party, |jobs| jobs.push_back(job));
    }

    pub(super) fn push_front(&mut self, party: PartyId, job: Job) {
        self.change_jobs(party, |jobs| jobs.push_front(job));
    }

    pub(super) fn pop(&mut self, party: PartyId) -> Option<Job> {
        self.change_jobs(party, VecDeque::pop_front).flatten()
    }

    /// Takes all jobs of all parties, in the order of the parties.
    pub(super) fn take_jobs(&mut self) -> Vec<(PartyId, Job)> {
        let waiting = std::mem::take(&mut self.waiting);
        let jobs = |id| {
            let position = self.position(id).ok()?;
            Some((id, std::mem::take(&mut self.all[position].1.jobs)))
        };
        let all = waiting.into_iter().filter_map(jobs);
        all.flat_map(|(id, jobs)| jobs.into_iter().map(move |job| (id, job))).collect()
    }

    fn change_jobs<T>(&mut self, id: PartyId, change: impl FnOnce(&mut VecDeque<Job>) -> T) -> Option<T> {
        let position = self.position(id).ok()?;
        let changed = change(&mut self.all[position].1.jobs);
        self.review(id);
        Some(changed)
    }

    /// A party's jobs have changed.
    fn review(&mut self, id: PartyId) {
        let has_jobs = self.get(id).is_some_and(|party| !party.jobs.is_empty());
        match self.waiting.binary_search(&id) {
            Ok(position) if !has_jobs => drop(self.waiting.remove(position)),
            Err(position) if has_jobs => self.waiting.insert(position, id),
            _ => {}
        }
    }

    /// Returns true if any of them has a job.
    pub(super) fn have_jobs(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The first job of each that has one, beginning with this party or the next one there is.
    pub(super) fn first_jobs(&self, from: PartyId) -> impl Iterator<Item = (PartyId, &Job)> {
        let (before, after) = self.waiting.split_at(self.waiting.partition_point(|id| *id < from));
        let first = |id: &PartyId| Some((*id, self.get(*id)?.jobs.front()?));
        after.iter().chain(before).filter_map(first)
    }
}
