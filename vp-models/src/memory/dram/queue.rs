//! The accesses that wait for a channel, by bank; [`choice`] has the choice of the next command.

mod choice;

use super::access::Access;
use super::bank::Banks;
use super::command::{CommandKind, DramCommand};
use super::mapping::Location;
use crate::checkpoint::{Checkpoint, CheckpointError};
use choice::Need;
pub(super) use choice::NextCommand;

/// A burst that waits for its column command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Owner who is answered.
    pub(super) owner: u64,
    /// Owners of accesses to the same burst that were merged with it, with the clocks in which they came.
    pub(super) merged: Vec<(u64, u64)>,
    pub(super) write: bool,
    pub(super) bank: u32,
    /// Rank or pseudo channel of the bank.
    pub(super) unit: u32,
    pub(super) at: Location,
    /// Bytes of the burst that are accessed: first and end.
    pub(super) bytes: (u32, u32),
    pub(super) priority: u8,
    /// Number in the order of arrival.
    pub(super) number: u64,
    /// Clock of arrival.
    pub(super) arrived: u64,
    /// An older one of the other direction, to the same burst, that must be served before.
    pub(super) after: Option<u64>,
    /// True if a row was opened for it, and if another was closed before.
    pub(super) opened: bool,
    pub(super) closed: bool,
}

impl Entry {
    /// Returns all owners who are answered, with the clocks in which they came.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u64, u64)> {
        std::iter::once((self.owner, self.arrived)).chain(self.merged.iter().copied())
    }
}

/// The accesses that wait for a bank.
#[derive(Debug, Clone, Default)]
struct BankQueue {
    /// Reads and writes, each in the order of arrival.
    entries: [Vec<Entry>; 2],
    /// Row hits that have overtaken an older entry, one after the other.
    overtaken: u32,
    /// Entry for which the row was opened, until its column command.
    opened_for: Option<u64>,
    /// Command that they need next, until something changes; none in it if nothing waits in the direction that is served.
    need: Option<Option<Need>>,
}

impl BankQueue {
    fn is_empty(&self) -> bool {
        self.entries.iter().all(Vec::is_empty)
    }
}

/// The queues of a channel.
#[derive(Debug)]
pub(super) struct Queues {
    banks: Vec<BankQueue>,
    /// Banks that something waits for.
    busy: Vec<u32>,
    /// Number of reads and of writes that wait.
    len: [usize; 2],
    /// Number of them that are under way: whose row was opened for them.
    opened: [usize; 2],
    /// Number of them that wait for one of the other direction.
    dependent: [usize; 2],
    /// True if writes are being served.
    writing: bool,
    /// Entry that has waited for too long.
    overdue: Option<u64>,
    /// Number of entries that wait for each rank.
    waiting_for: Vec<u32>,
    count: u64,
    /// Column command, and its entry's number, for which CAS was chosen last.
    behind_sync: Option<(DramCommand, u64)>,
}

impl Queues {
    pub(super) fn new(banks: &Banks) -> Queues {
        Queues {
            banks: vec![BankQueue::default(); banks.len()],
            busy: Vec::new(),
            len: [0; 2],
            opened: [0; 2],
            dependent: [0; 2],
            writing: false,
            overdue: None,
            waiting_for: vec![0; banks.units() as usize],
            count: 0,
            behind_sync: None,
        }
    }

    /// Takes out the column command, and its entry's number, for which CAS was given in the clock before.
    pub(super) fn behind_sync(&mut self) -> Option<(DramCommand, u64)> {
        self.behind_sync.take()
    }

    pub(super) fn len(&self, write: bool) -> usize {
        self.len[usize::from(write)]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    /// Returns the number of entries that wait for a rank or pseudo channel.
    pub(super) fn waiting_for(&self, unit: u32) -> u32 {
        self.waiting_for[unit as usize]
    }

    /// Returns true if an entry waits for a bank, and for that row if one is named.
    pub(super) fn waits_for(&self, bank: u32, row: Option<u32>) -> bool {
        let entries = self.banks[bank as usize].entries.iter().flatten();
        entries.into_iter().any(|entry| row.is_none_or(|row| entry.at.row == row))
    }

    /// Returns true if a waiting write holds all bytes of a read, so that it need not go to the DRAM.
    pub(super) fn holds(&self, bank: u32, at: Location, bytes: (u32, u32)) -> bool {
        let writes = self.banks[bank as usize].entries[1].iter();
        let write = writes.rev().find(|write| write.at == at && overlap(write.bytes, bytes));
        write.is_some_and(|write| write.bytes.0 <= bytes.0 && bytes.1 <= write.bytes.1)
    }

    /// Adds an access to an entry of the same burst and direction that waits; returns false if there is none, or if an access of the other
    /// direction would change its place: one that came behind the entry, or one to bytes that the entry does not wait for. Bytes that are
    /// written together have no gap between them.
    pub(super) fn merge(&mut self, access: &Access, bank: u32, arrived: u64) -> bool {
        let Access { owner, write, at, bytes, priority } = *access;
        let queue = &mut self.banks[bank as usize];
        let [reads, writes] = &mut queue.entries;
        let (same, other) = if write { (writes, reads) } else { (reads, writes) };
        let Some(entry) = same.iter_mut().rev().find(|entry| entry.at == at) else { return false };
        let touches = !write || (entry.bytes.0 <= bytes.1 && bytes.0 <= entry.bytes.1);
        let mut others = other.iter().filter(|other| other.at == at);
        let keeps_order = others.all(|other| {
            other.number < entry.number && (!overlap(other.bytes, bytes) || entry.after >= Some(other.number))
        });
        if !touches || !keeps_order {
            return false;
        }
        entry.bytes = (entry.bytes.0.min(bytes.0), entry.bytes.1.max(bytes.1));
        entry.merged.push((owner, arrived));
        entry.priority = entry.priority.max(priority);
        queue.need = None;
        true
    }

    /// Adds an entry. Its number and `after` are set here.
    pub(super) fn add(&mut self, mut entry: Entry) {
        entry.number = self.count;
        self.count += 1;
        let bank = &mut self.banks[entry.bank as usize];
        if bank.is_empty() {
            self.busy.push(entry.bank);
        }
        let is_older = |older: &&Entry| older.at == entry.at && overlap(older.bytes, entry.bytes);
        let older = bank.entries[usize::from(!entry.write)].iter().rev().find(is_older);
        entry.after = older.map(|older| older.number);
        let direction = usize::from(entry.write);
        self.dependent[direction] += usize::from(entry.after.is_some());
        self.len[direction] += 1;
        self.waiting_for[entry.unit as usize] += 1;
        bank.need = None;
        bank.entries[direction].push(entry);
    }

    /// Takes out the entry whose column command has been given.
    pub(super) fn take(&mut self, bank: u32, number: u64) -> Option<Entry> {
        let queue = &mut self.banks[bank as usize];
        let mut places = (0..2).filter_map(|direction| {
            let place = queue.entries[direction].binary_search_by_key(&number, |entry| entry.number);
            Some((direction, place.ok()?))
        });
        let (direction, place) = places.next()?;
        let entry = queue.entries[direction].remove(place);
        for other in queue.entries[1 - direction].iter_mut().filter(|other| other.after == Some(number)) {
            other.after = None;
            self.dependent[1 - direction] -= 1;
        }
        queue.overtaken = if place > 0 { queue.overtaken + 1 } else { 0 };
        if queue.opened_for == Some(number) {
            queue.opened_for = None;
            self.opened[direction] -= 1;
        }
        queue.need = None;
        self.len[direction] -= 1;
        self.waiting_for[entry.unit as usize] -= 1;
        if queue.is_empty() {
            self.busy.retain(|busy| *busy != bank);
        }
        Some(entry)
    }

    /// Remembers what was done for an entry.
    pub(super) fn note(&mut self, number: u64, command: DramCommand) {
        let queue = &mut self.banks[command.bank as usize];
        queue.need = None;
        let entry = queue.entries.iter_mut().flatten().find(|entry| entry.number == number);
        match (command.kind, entry) {
            (CommandKind::Activate, Some(entry)) => {
                entry.opened = true;
                self.opened[usize::from(entry.write)] += 1;
                queue.overtaken = 0;
                queue.opened_for = Some(number);
            }
            (CommandKind::Precharge, Some(entry)) => entry.closed = true,
            _ => {}
        }
    }

    /// Forgets for whom the row was opened that maintenance has closed.
    pub(super) fn closed(&mut self, bank: u32) {
        let queue = &mut self.banks[bank as usize];
        queue.need = None;
        if let Some(number) = queue.opened_for.take() {
            let is_write = queue.entries[1].iter().any(|entry| entry.number == number);
            self.opened[usize::from(is_write)] -= 1;
        }
    }
}

fn overlap(a: (u32, u32), b: (u32, u32)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

impl Queues {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // With nothing waiting, the other counts are 0.
        let Queues {
            banks,
            busy,
            len: _,
            opened: _,
            dependent: _,
            writing,
            overdue: _,
            waiting_for: _,
            count,
            behind_sync: _,
        } = self;
        at.at_rest(busy.is_empty(), "bursts wait for the banks")?;
        at.value(writing)?;
        let mut overtaken: Vec<u32> = banks.iter().map(|bank| bank.overtaken).collect();
        at.fixed(&mut overtaken)?;
        banks.iter_mut().zip(overtaken).for_each(|(bank, overtaken)| bank.overtaken = overtaken);
        at.value(count)
    }
}
