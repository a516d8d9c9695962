//! The checker of one channel's commands.

use super::refresh::RankRefresh;
use super::rules::KINDS;
use super::sheet::{Buses, PowerOf, Sheet};
use std::collections::VecDeque;
use std::fmt;
use vp_models::memory::dram::{CommandKind, DramCommand};

/// Violations that are kept in full; the others are counted.
const KEPT: usize = 1000;

/// A broken rule, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Clock of the command that breaks it.
    pub clock: u64,
    /// Figure or rule.
    pub rule: &'static str,
    /// The commands, and what was wanted and found.
    pub words: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clock {}: {} ({})", self.clock, self.words, self.rule)
    }
}

/// A command with the ranks and banks that it is for, as bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) clock: u64,
    pub(super) kind: CommandKind,
    /// Rank or pseudo channel that it names.
    pub(super) rank: usize,
    /// All that it is for.
    ranks: u64,
    /// Bank of the rank that it names.
    pub(super) bank: u32,
    /// All that it is for.
    banks: u64,
    groups: u64,
    row: u32,
    column: u32,
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of rank {}", self.kind.name(), self.rank)?;
        if self.banks.is_power_of_two() {
            write!(f, " bank {}", self.bank)?;
        }
        match self.kind {
            CommandKind::Activate => write!(f, " row {}", self.row),
            kind if kind.is_column() => write!(f, " row {} column {}", self.row, self.column),
            _ => Ok(()),
        }
    }
}

/// An open row.
#[derive(Debug, Clone, Copy)]
struct OpenRow {
    row: u32,
    since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    Up,
    Down,
    SelfRefresh,
}

/// Data of a command on a data bus.
#[derive(Debug, Clone, Copy)]
struct Burst {
    from: u64,
    until: u64,
    of: Placed,
}

/// The checker of one channel.
#[derive(Debug, Clone)]
pub struct Checker {
    sheet: Sheet,
    ranks: usize,
    /// Commands of each kind that may be too close to one that comes.
    recent: [VecDeque<Placed>; KINDS],
    reach: [u64; KINDS],
    /// Of each rank, what counts among four activates.
    activates: Vec<VecDeque<Placed>>,
    /// Of each rank, each bank.
    open: Vec<Vec<Option<OpenRow>>>,
    power: Vec<Power>,
    refresh: Option<Vec<RankRefresh>>,
    /// The last command on each command bus.
    last_on_bus: [Option<Placed>; 2],
    data: Vec<VecDeque<Burst>>,
    /// Of each rank, the clock until which WCK runs.
    wck_until: Vec<u64>,
    /// A CAS that is to be followed.
    sync: Option<Placed>,
    now: u64,
    commands: [u64; KINDS],
    violations: Vec<Violation>,
    violated: u64,
    /// Clocks by which the closest pair of each rule was further apart than it has to be, if that is wanted.
    slack: Option<Vec<[Vec<Option<i64>>; KINDS]>>,
}

impl Checker {
    /// A checker of a channel with so many ranks, or pseudo channels, that are refreshed or not.
    pub fn new(sheet: Sheet, ranks: u32, refreshed: bool) -> Checker {
        let ranks = ranks as usize;
        let banks = sheet.rank_banks() as usize;
        let buses = if sheet.data.of_each { ranks } else { 1 };
        Checker {
            ranks,
            recent: Default::default(),
            reach: CommandKind::ALL.map(|kind| sheet.rules.reach(kind)),
            activates: vec![VecDeque::new(); ranks],
            open: vec![vec![None; banks]; ranks],
            power: vec![Power::Up; ranks],
            refresh: refreshed.then(|| vec![RankRefresh::new(); ranks]),
            last_on_bus: [None; 2],
            data: vec![VecDeque::new(); buses],
            wck_until: vec![0; ranks],
            sync: None,
            now: 0,
            commands: [0; KINDS],
            violations: Vec::new(),
            violated: 0,
            slack: None,
            sheet,
        }
    }

    /// Notes how close commands come to what each rule wants, for [`Checker::each_slack`].
    pub fn measure_slack(&mut self) {
        let between = |later, earlier| vec![None; self.sheet.rules.between(earlier, later).len()];
        let of = |later| CommandKind::ALL.map(|earlier| between(later, earlier));
        self.slack = Some(CommandKind::ALL.map(of).into_iter().collect());
    }

    /// Takes the next command, with its first clock.
    pub fn take(&mut self, clock: u64, command: DramCommand) {
        self.commands[command.kind as usize] += 1;
        if clock < self.now {
            let words = format!("{} comes behind a command of clock {}", command.kind.name(), self.now);
            self.violates(clock, "order of the log", words);
            return;
        }
        let Some(placed) = self.place(clock, command) else { return };
        self.now = clock;
        self.check_power(&placed);
        self.check_distances(&placed);
        self.check_four_activates(&placed);
        self.check_command_bus(&placed);
        self.check_sync(&placed);
        self.check_rows(&placed);
        self.check_data_bus(&placed);
        self.check_refresh(&placed);
        self.recent[placed.kind as usize].push_back(placed);
    }

    /// Ends the log at a clock.
    pub fn finish(&mut self, clock: u64) {
        let clock = clock.max(self.now);
        let Some(refresh) = &mut self.refresh else { return };
        let mut late = Vec::new();
        for (number, rank) in refresh.iter_mut().enumerate() {
            if self.power[number] != Power::SelfRefresh
                && let Some(words) = rank.late(&self.sheet, clock)
            {
                late.push(format!("rank {number}, at the end: {words}"));
            }
        }
        late.into_iter().for_each(|words| self.violates(clock, "refresh interval", words));
    }

    /// The violations, the first thousand.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Number of all violations.
    pub fn violated(&self) -> u64 {
        self.violated
    }

    /// Number of the commands of a kind.
    pub fn commands(&self, kind: CommandKind) -> u64 {
        self.commands[kind as usize]
    }

    /// Calls back for each rule with the kinds, the figure, and the clocks by which the closest pair was further apart than it has to be;
    /// none where the rule never held between two commands close to each other.
    pub fn each_slack(&self, mut each: impl FnMut(CommandKind, CommandKind, &'static str, Option<i64>)) {
        let Some(slack) = &self.slack else { return };
        for later in CommandKind::ALL {
            for earlier in CommandKind::ALL {
                let slack = &slack[later as usize][earlier as usize];
                for (rule, slack) in self.sheet.rules.between(earlier, later).iter().zip(slack) {
                    each(earlier, later, rule.figure, *slack);
                }
            }
        }
    }

    fn violates(&mut self, clock: u64, rule: &'static str, words: String) {
        self.violated += 1;
        if self.violations.len() < KEPT {
            self.violations.push(Violation { clock, rule, words });
        }
    }

    /// Returns the command with its ranks and banks; none if there are none such.
    fn place(&mut self, clock: u64, command: DramCommand) -> Option<Placed> {
        use CommandKind::{
            PowerDownEntry, PowerDownExit, PrechargeAll, Refresh, RefreshBank, SelfRefreshEntry,
            SelfRefreshExit, Sync,
        };
        let DramCommand { kind, bank, row, column } = command;
        let of_rank = self.sheet.rank_banks();
        let (rank, bank) = ((bank / of_rank) as usize, bank % of_rank);
        if rank >= self.ranks || row >= self.sheet.rows || column >= self.sheet.bursts {
            let words = format!("{command:?} names what the device does not have");
            self.violates(clock, "organisation", words);
            return None;
        }
        let all = u64::MAX >> (64 - of_rank);
        let banks = match kind {
            PrechargeAll | Refresh | PowerDownEntry | PowerDownExit | SelfRefreshEntry | SelfRefreshExit
            | Sync => all,
            RefreshBank => self.sheet.refreshed(bank),
            _ => 1 << bank,
        };
        let is_power = matches!(kind, PowerDownEntry | PowerDownExit | SelfRefreshEntry | SelfRefreshExit);
        let ranks = match self.sheet.power_of {
            PowerOf::Channel if is_power => u64::MAX >> (64 - self.ranks),
            _ => 1 << rank,
        };
        let groups = self.sheet.groups_of(banks);
        Some(Placed { clock, kind, rank, ranks, bank, banks, groups, row, column })
    }

    fn check_power(&mut self, now: &Placed) {
        use CommandKind::{PowerDownEntry, PowerDownExit, SelfRefreshEntry, SelfRefreshExit};
        for rank in (0..self.ranks).filter(|rank| now.ranks >> rank & 1 != 0) {
            let power = self.power[rank];
            let right = match now.kind {
                PowerDownExit => power == Power::Down,
                SelfRefreshExit => power == Power::SelfRefresh,
                _ => power == Power::Up,
            };
            if !right {
                let state = match power {
                    Power::Up => "is in no power-down",
                    Power::Down => "is in power-down",
                    Power::SelfRefresh => "is in self refresh",
                };
                self.violates(now.clock, "power state", format!("{now}: rank {rank} {state}"));
            }
            self.power[rank] = match now.kind {
                PowerDownEntry => Power::Down,
                SelfRefreshEntry => Power::SelfRefresh,
                PowerDownExit | SelfRefreshExit => Power::Up,
                _ => power,
            };
            if matches!(now.kind, PowerDownEntry | SelfRefreshEntry) {
                self.wck_until[rank] = 0;
            }
        }
    }

    fn check_distances(&mut self, now: &Placed) {
        let mut found = Vec::new();
        for kind in CommandKind::ALL {
            let rules = self.sheet.rules.between(kind, now.kind);
            let recent = &mut self.recent[kind as usize];
            while recent.front().is_some_and(|old| old.clock + self.reach[kind as usize] < now.clock) {
                recent.pop_front();
            }
            for (number, rule) in rules.iter().enumerate() {
                let mut slack =
                    self.slack.as_mut().map(|it| &mut it[now.kind as usize][kind as usize][number]);
                for old in recent.iter() {
                    let apart = (now.clock - old.clock) as i64;
                    let more = apart - rule.clocks;
                    let is_least = slack.as_ref().is_some_and(|slack| slack.is_none_or(|least| more < least));
                    if !(more < 0 || is_least) || !old.meets(now, rule.scope) {
                        continue;
                    }
                    if is_least && let Some(slack) = &mut slack {
                        **slack = Some(more);
                    }
                    if more < 0 {
                        let clocks = rule.clocks;
                        let words =
                            format!("{now}, {apart} clocks behind {old} of {}: {clocks} wanted", old.clock);
                        found.push((rule.figure, words));
                    }
                }
            }
        }
        found.into_iter().for_each(|(figure, words)| self.violates(now.clock, figure, words));
    }

    fn check_four_activates(&mut self, now: &Placed) {
        let counts = match now.kind {
            CommandKind::Activate => true,
            CommandKind::RefreshBank => self.sheet.refresh_is_activate,
            _ => false,
        };
        if !counts {
            return;
        }
        let window = &mut self.activates[now.rank];
        window.push_back(*now);
        if window.len() > 5 {
            window.pop_front();
        }
        let first = window[0];
        if window.len() < 5 {
            return;
        }
        // Some count from first clock to first clock, the common rule is from edge to edge: that which is longer is allowed.
        let edge = |of: &Placed| of.clock + self.sheet.rules.length(of.kind).max(1) - 1;
        let apart = (now.clock - first.clock).max(edge(now).saturating_sub(edge(&first)));
        let wanted = self.sheet.four_activates;
        if apart < wanted {
            let words = format!(
                "{now}, the fifth in {apart} clocks since {first} of {}: {wanted} wanted",
                first.clock
            );
            self.violates(now.clock, "tFAW", words);
        }
    }

    fn check_command_bus(&mut self, now: &Placed) {
        let length = |kind| self.sheet.rules.length(kind);
        if length(now.kind) == 0 {
            return;
        }
        let is_column = now.kind.is_column() && self.sheet.buses == Buses::RowAndColumn;
        let last = self.last_on_bus[usize::from(is_column)].replace(*now);
        if let Some(last) = last
            && now.clock < last.clock + length(last.kind)
        {
            let clocks = length(last.kind);
            let words =
                format!("{now} meets {last} of {}, which takes the bus for {clocks} clocks", last.clock);
            self.violates(now.clock, "command bus", words);
        }
    }

    fn check_sync(&mut self, now: &Placed) {
        let Some(wck) = self.sheet.wck else { return };
        let sync = self.sync.take();
        let is_column = now.kind.is_column();
        let is_followed = |sync: &Placed| sync.clock + 1 == now.clock && sync.rank == now.rank && is_column;
        if let Some(sync) = &sync
            && !is_followed(sync)
        {
            let words = format!("{now} follows {sync} of {}, in place of its read or write", sync.clock);
            self.violates(now.clock, "CAS before its column command", words);
        }
        if now.kind == CommandKind::Sync {
            self.sync = Some(*now);
        }
        if !is_column {
            return;
        }
        let until = self.wck_until[now.rank];
        if now.clock > until && !sync.as_ref().is_some_and(is_followed) {
            let words = format!("{now} without a CAS before it, and WCK has stopped in clock {until}");
            self.violates(now.clock, "WCK", words);
        }
        let is_write = matches!(now.kind, CommandKind::Write | CommandKind::WritePrecharge);
        let runs = now.clock + if is_write { wck.write } else { wck.read };
        self.wck_until[now.rank] = until.max(runs);
    }

    fn check_rows(&mut self, now: &Placed) {
        use CommandKind::{
            Activate, Precharge, PrechargeAll, ReadPrecharge, Refresh, RefreshBank, SelfRefreshEntry,
            WritePrecharge,
        };
        let mut wrong = Vec::new();
        let longest = self.refresh.as_ref().and(self.sheet.refresh.open);
        let longest = longest.map(|intervals| intervals * self.sheet.refresh.interval / self.sheet.clock.tck);
        for rank in (0..self.ranks).filter(|rank| now.ranks >> rank & 1 != 0) {
            for bank in (0..self.sheet.rank_banks()).filter(|bank| now.banks >> bank & 1 != 0) {
                let open = &mut self.open[rank][bank as usize];
                match (now.kind, *open) {
                    (Activate, Some(old)) => {
                        wrong.push(format!("{now}: row {} is open since {}", old.row, old.since));
                    }
                    (Refresh | RefreshBank | SelfRefreshEntry, Some(old)) => {
                        let OpenRow { row, since } = old;
                        wrong.push(format!("{now}: row {row} of bank {bank} is open since {since}"));
                    }
                    (kind, None) if kind.is_column() => wrong.push(format!("{now}: no row is open")),
                    (kind, Some(old)) if kind.is_column() && old.row != now.row => {
                        wrong.push(format!("{now}: row {} is open since {}", old.row, old.since));
                    }
                    _ => {}
                }
                match now.kind {
                    Activate => *open = Some(OpenRow { row: now.row, since: now.clock }),
                    Precharge | PrechargeAll | ReadPrecharge | WritePrecharge => {
                        if let (Some(old), Some(most)) = (open.take(), longest)
                            && now.clock - old.since > most
                        {
                            let clocks = now.clock - old.since;
                            wrong.push(format!(
                                "{now}: row {} of bank {bank} was open for {clocks} clocks, {most} at most",
                                old.row
                            ));
                        }
                    }
                    _ => {}
                }
            }
        }
        wrong.into_iter().for_each(|words| self.violates(now.clock, "state of the bank", words));
    }

    fn check_data_bus(&mut self, now: &Placed) {
        if !now.kind.is_column() {
            return;
        }
        let data = self.sheet.data;
        let edge = now.clock + self.sheet.rules.length(now.kind) - 1;
        let is_write = matches!(now.kind, CommandKind::Write | CommandKind::WritePrecharge);
        let from = edge + if is_write { data.write } else { data.read };
        let burst = Burst { from, until: from + data.clocks, of: *now };
        let bus = &mut self.data[if data.of_each { now.rank } else { 0 }];
        bus.retain(|old| old.until > now.clock);
        let other = bus.iter().find(|old| old.from < burst.until && burst.from < old.until).copied();
        bus.push_back(burst);
        if let Some(old) = other {
            let (clock, of) = (old.of.clock, old.of);
            let words = format!(
                "{now}: its data in {} to {} meet those of {of} of {clock} in {} to {}",
                burst.from, burst.until, old.from, old.until
            );
            self.violates(now.clock, "data bus", words);
        }
    }

    fn check_refresh(&mut self, now: &Placed) {
        let Some(refresh) = &mut self.refresh else { return };
        let mut wrong = Vec::new();
        for rank in (0..self.ranks).filter(|rank| now.ranks >> rank & 1 != 0) {
            refresh[rank].take(&self.sheet, now, &mut wrong);
        }
        wrong.into_iter().for_each(|(rule, words)| self.violates(now.clock, rule, format!("{now}: {words}")));
    }
}

impl Placed {
    fn meets(&self, other: &Placed, scope: super::rules::Scope) -> bool {
        use super::rules::Scope::{Bank, Group, OtherBank, Rank};
        self.ranks & other.ranks != 0
            && match scope {
                Bank => self.banks & other.banks != 0,
                OtherBank => self.banks & other.banks == 0,
                Group => self.groups & other.groups != 0,
                Rank => true,
            }
    }
}
