//! The choice of a channel's next command, among those that the accesses of each bank need.

use super::super::bank::Banks;
use super::super::command::{CommandKind, DramCommand};
use super::super::config::{DramConfig, PagePolicy, Scheduler};
use super::super::held_banks::HeldBanks;
use super::{BankQueue, Entry, Queues};

/// Next action of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum NextCommand {
    /// A command, now. A column command is for the entry of that number; a row command is on its behalf.
    Give(DramCommand, u64),
    /// Nothing before that clock.
    NotBefore(u64),
    /// Nothing waits.
    Nothing,
}

/// Command that the accesses to a bank need next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    command: DramCommand,
    /// Number of the entry that it is for, and its place in the order of service.
    number: u64,
    order: u64,
    /// True if the row was opened for that entry.
    is_under_way: bool,
    /// Number of the first entry in the order of service.
    first: u64,
    /// True if the row stays open for an entry until its column command.
    stays: bool,
    /// First clock in which it may be given, found when the channel had been given so many commands.
    earliest: u64,
    given: u64,
}

/// Command that is chosen of those that may be given.
#[derive(Debug, Clone, Copy)]
struct Best {
    /// True behind all for which it is not, then the place in the order of service.
    key: (bool, u64),
    number: u64,
    command: DramCommand,
    /// Column command that comes behind CAS.
    synced: Option<DramCommand>,
}

impl Entry {
    /// Returns the place in the order of service: by priority, then by age. It is one number because copies of a pair with padding stall
    /// the processor: 38 % of the samples of [`Queues::next`] were there.
    fn order(&self) -> u64 {
        u64::from(u8::MAX - self.priority) << 56 | self.number
    }
}

impl BankQueue {
    /// Finds the command that is needed next: for the accesses in the direction that is served, and for the one for which the row was
    /// opened, in either. An access to the open row goes before the first in the order of service, unless that is overdue, as often as
    /// the configuration lets it.
    fn find_need(
        &self,
        bank: u32,
        writing: bool,
        overdue: Option<u64>,
        banks: &Banks,
        config: &DramConfig,
    ) -> Option<Need> {
        let open_row = banks.open_row(bank);
        let ready = self.entries[usize::from(writing)].iter().filter(|entry| entry.after.is_none());
        let other = self.entries[usize::from(!writing)].iter();
        let entries =
            || ready.clone().chain(other.clone().filter(|entry| self.opened_for == Some(entry.number)));
        let first = entries().min_by_key(|entry| entry.order())?;
        let hits = || entries().filter(|entry| open_row == Some(entry.at.row));
        // The row stays open until the column command that it was opened for.
        let stays = self.opened_for.is_some();
        let may_overtake = config.scheduler != Scheduler::Fcfs
            && self.overtaken < config.overtake
            && overdue != Some(first.number);
        let hit = hits().min_by_key(|entry| entry.order());
        let hit = hit.filter(|hit| hit.number == first.number || may_overtake || stays);
        let row_command = |kind, row| DramCommand { kind, bank, row, column: 0 };
        let (command, entry) = match (open_row, hit) {
            (Some(row), Some(hit)) => {
                let close = config.page == PagePolicy::Closed && hits().nth(1).is_none();
                let kind = match (hit.write, close) {
                    (false, false) => CommandKind::Read,
                    (false, true) => CommandKind::ReadPrecharge,
                    (true, false) => CommandKind::Write,
                    (true, true) => CommandKind::WritePrecharge,
                };
                (DramCommand { kind, bank, row, column: hit.at.column }, hit)
            }
            (Some(_), None) if stays => return None,
            (Some(open), None) => (row_command(CommandKind::Precharge, open), first),
            (None, _) => (row_command(CommandKind::Activate, first.at.row), first),
        };
        Some(Need {
            command,
            number: entry.number,
            order: entry.order(),
            is_under_way: self.opened_for == Some(entry.number),
            first: first.number,
            stays,
            earliest: banks.earliest(command),
            given: banks.given(),
        })
    }
}

impl Queues {
    /// Returns what is to be done in the clock `now`; nothing to banks that are held.
    pub(in super::super) fn next(
        &mut self,
        banks: &Banks,
        held: &HeldBanks,
        config: &DramConfig,
        now: u64,
    ) -> NextCommand {
        self.choose_direction(config, now);
        for &bank in &self.busy {
            let queue = &mut self.banks[bank as usize];
            match &mut queue.need {
                None => queue.need = Some(queue.find_need(bank, self.writing, self.overdue, banks, config)),
                Some(Some(need)) if need.given != banks.given() => {
                    (need.earliest, need.given) = (banks.earliest(need.command), banks.given());
                }
                Some(_) => {}
            }
        }
        let needs = || {
            let free = self.busy.iter().filter(|&&bank| !held.has(bank, banks));
            free.filter_map(|&bank| self.banks[bank as usize].need.as_ref()?.as_ref())
        };
        let in_order = (config.scheduler == Scheduler::Fcfs).then(|| needs().map(|need| need.first).min());
        let mut soonest = u64::MAX;
        let mut best: Option<Best> = None;
        for need in needs() {
            let &Need { mut command, number, order, is_under_way, first, stays, mut earliest, given: _ } =
                need;
            if in_order.is_some_and(|number| number != Some(first)) && !stays {
                continue;
            }
            let mut synced = None;
            if command.kind.is_column() && banks.needs_sync(command.bank, earliest.max(now)) {
                synced = Some(command);
                command = DramCommand { kind: CommandKind::Sync, row: 0, column: 0, ..command };
                earliest = banks.earliest(command).max(earliest.saturating_sub(1));
            }
            soonest = soonest.min(earliest);
            // A column command goes before one for a row and before CAS, or only that of an access under way; among equals, the first
            // in the order of service.
            let is_behind = match config.scheduler {
                Scheduler::OldestReady => !is_under_way,
                _ => !command.kind.is_column(),
            };
            let key = (is_behind, order);
            if earliest <= now && best.is_none_or(|best| key < best.key) {
                best = Some(Best { key, number, command, synced });
            }
        }
        match best {
            Some(Best { key: _, number, command, synced }) => {
                self.behind_sync = synced.map(|column| (column, number));
                NextCommand::Give(command, number)
            }
            None if soonest == u64::MAX => NextCommand::Nothing,
            None => NextCommand::NotBefore(soonest),
        }
    }

    /// Reads before writes, until so many writes wait that they have to go, or no read does; then writes until few are left. Accesses
    /// whose row was opened for them are under way, and count no more. An access that has waited for too long has its direction served.
    fn choose_direction(&mut self, config: &DramConfig, now: u64) {
        let [reads, writes] = [0, 1].map(|direction| self.len[direction] - self.opened[direction]);
        let [read, write] = [reads > self.dependent[0], writes > self.dependent[1]];
        let mut writing = if self.writing {
            write && !(read && writes <= config.writes_low as usize)
        } else {
            write && (!read || writes >= config.writes_high as usize)
        };
        let oldest = config.age_limit.and_then(|limit| self.oldest(now, u64::from(limit)));
        if let Some((_, is_write)) = oldest {
            writing = is_write;
        }
        let overdue = oldest.map(|(number, _)| number);
        if (writing, overdue) != (self.writing, self.overdue) {
            (self.writing, self.overdue) = (writing, overdue);
            self.busy.iter().for_each(|&bank| self.banks[bank as usize].need = None);
        }
    }

    /// Returns the oldest access that has waited for so many clocks, and true for a write.
    fn oldest(&self, now: u64, limit: u64) -> Option<(u64, bool)> {
        let entries = self.busy.iter().flat_map(|&bank| self.banks[bank as usize].entries.iter().flatten());
        let old = entries.filter(|entry| entry.after.is_none() && entry.arrived + limit <= now);
        old.map(|entry| (entry.number, entry.write)).min()
    }
}
