//! The accesses that wait for a channel, and the choice of the next one.

use super::bank::{Banks, DramCommand};
use super::mapping::Location;
use super::{DramConfig, PagePolicy, Scheduler};
use crate::checkpoint::{Checkpoint, CheckpointError};

/// A burst that waits for its column command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) owner: u64,
    pub(super) write: bool,
    pub(super) bank: usize,
    pub(super) at: Location,
    /// Bytes of the burst that are accessed: first and end.
    pub(super) bytes: (u32, u32),
    /// Number in the order of arrival.
    pub(super) number: u64,
    /// An older one of the other direction, to the same burst, that must be served before.
    pub(super) after: Option<u64>,
    /// True if a row was opened for it, and if another was closed before.
    pub(super) opened: bool,
    pub(super) closed: bool,
}

/// Next action of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextCommand {
    /// A command, now. A column command is for the entry of that number; a row command is on its behalf.
    Give(DramCommand, u64),
    /// Nothing before that clock.
    NotBefore(u64),
    /// Nothing waits.
    Nothing,
}

/// The two queues of a channel.
#[derive(Debug, Default)]
pub(super) struct Queues {
    reads: Vec<Entry>,
    writes: Vec<Entry>,
    /// True if writes are being served.
    writing: bool,
    /// Number of row hits of each bank that have overtaken an older entry.
    overtaken: Vec<u32>,
    count: u64,
}

impl Queues {
    pub(super) fn new(banks: usize) -> Queues {
        Queues { overtaken: vec![0; banks], ..Queues::default() }
    }

    fn of(&self, write: bool) -> &Vec<Entry> {
        if write { &self.writes } else { &self.reads }
    }

    pub(super) fn len(&self, write: bool) -> usize {
        self.of(write).len()
    }

    /// Returns true if a waiting write holds all bytes of a read, so that it need not go to the DRAM.
    pub(super) fn holds(&self, at: Location, bytes: (u32, u32)) -> bool {
        let write = self.writes.iter().rev().find(|write| write.at == at && overlap(write.bytes, bytes));
        write.is_some_and(|write| write.bytes.0 <= bytes.0 && bytes.1 <= write.bytes.1)
    }

    pub(super) fn add(&mut self, owner: u64, write: bool, bank: usize, at: Location, bytes: (u32, u32)) {
        let number = self.count;
        self.count += 1;
        let older = self.of(!write).iter().rev().find(|older| older.at == at && overlap(older.bytes, bytes));
        let after = older.map(|older| older.number);
        let entry = Entry { owner, write, bank, at, bytes, number, after, opened: false, closed: false };
        if write { &mut self.writes } else { &mut self.reads }.push(entry);
    }

    /// Takes out the entry whose column command has been given.
    pub(super) fn take(&mut self, number: u64) -> Option<Entry> {
        let of = |entries: &[Entry]| entries.iter().position(|entry| entry.number == number);
        let entry = match of(&self.reads) {
            Some(at) => self.reads.remove(at),
            None => self.writes.remove(of(&self.writes)?),
        };
        for other in self.reads.iter_mut().chain(&mut self.writes) {
            if other.after == Some(number) {
                other.after = None;
            }
        }
        let older_waits = self.of(entry.write).iter().any(|it| it.bank == entry.bank && it.number < number);
        let overtaken = &mut self.overtaken[entry.bank];
        *overtaken = if older_waits { *overtaken + 1 } else { 0 };
        Some(entry)
    }

    /// Remembers what was done for an entry.
    pub(super) fn note(&mut self, number: u64, command: DramCommand) {
        let entries = self.reads.iter_mut().chain(&mut self.writes);
        if let Some(entry) = entries.into_iter().find(|entry| entry.number == number) {
            match command {
                DramCommand::Activate { bank, .. } => {
                    entry.opened = true;
                    self.overtaken[bank] = 0;
                }
                DramCommand::Precharge { .. } => entry.closed = true,
                _ => {}
            }
        }
    }

    /// Reads before writes, until so many writes wait that they have to go, or no read does; then writes until few are
    /// left.
    fn choose_direction(&mut self, config: &DramConfig) {
        let ready = |entries: &[Entry]| entries.iter().any(|entry| entry.after.is_none());
        let (reads, writes) = (ready(&self.reads), ready(&self.writes));
        let waiting = self.writes.len();
        self.writing = if self.writing {
            writes && !(reads && waiting <= config.writes_low as usize)
        } else {
            writes && (!reads || waiting >= config.writes_high as usize)
        };
    }

    /// Returns what is to be done in the clock `now`.
    pub(super) fn next(&mut self, banks: &Banks, config: &DramConfig, now: u64) -> NextCommand {
        self.choose_direction(config);
        let mut soonest = u64::MAX;
        // A column command goes before one for a row; among equals, the older.
        let mut best: Option<((bool, u64), DramCommand)> = None;
        let entries = || self.of(self.writing).iter().filter(|entry| entry.after.is_none());
        let strict = config.scheduler == Scheduler::Fcfs;
        let mut seen = 0u64;
        for oldest in entries().take(if strict { 1 } else { usize::MAX }) {
            // Of each bank, the oldest speaks.
            if seen & (1 << oldest.bank) != 0 {
                continue;
            }
            seen |= 1 << oldest.bank;
            let open = banks.open_row(oldest.bank);
            let hit = open.and_then(|row| {
                let may_overtake = !strict && self.overtaken[oldest.bank] < config.overtake;
                entries()
                    .find(|entry| entry.bank == oldest.bank && entry.at.row == row)
                    .filter(|entry| entry.number == oldest.number || may_overtake)
            });
            let (command, entry) = match (open, hit) {
                (_, Some(hit)) => {
                    let more = || {
                        entries().any(|it| {
                            it.number != hit.number && (it.bank, it.at.row) == (hit.bank, hit.at.row)
                        })
                    };
                    let close = config.page == PagePolicy::Closed && !more();
                    let bank = hit.bank;
                    let command = if hit.write {
                        DramCommand::Write { bank, close }
                    } else {
                        DramCommand::Read { bank, close }
                    };
                    (command, hit)
                }
                (Some(_), None) => (DramCommand::Precharge { bank: oldest.bank }, oldest),
                (None, None) => (DramCommand::Activate { bank: oldest.bank, row: oldest.at.row }, oldest),
            };
            let earliest = banks.earliest(command);
            soonest = soonest.min(earliest);
            let is_row = !matches!(command, DramCommand::Read { .. } | DramCommand::Write { .. });
            let key = (is_row, entry.number);
            if earliest <= now && best.is_none_or(|(other, _)| key < other) {
                best = Some((key, command));
            }
        }
        match best {
            Some(((_, number), command)) => NextCommand::Give(command, number),
            None if soonest == u64::MAX => NextCommand::Nothing,
            None => NextCommand::NotBefore(soonest),
        }
    }
}

fn overlap(a: (u32, u32), b: (u32, u32)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

impl Queues {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Queues { reads, writes, writing, overtaken, count } = self;
        at.at_rest(reads.is_empty() && writes.is_empty(), "bursts wait for the banks")?;
        at.value(writing)?;
        at.fixed(overtaken)?;
        at.value(count)
    }
}
