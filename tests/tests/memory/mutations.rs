//! The checker finds what is wrong: in logs that it wrote itself, of commands as close as they may be, and that were then changed.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use vp_models::memory::dram::CommandKind::{self, *};
use vp_models::memory::dram::DramCommand;
use vp_tests::dram_legality::rules::Scope;
use vp_tests::dram_legality::sheet::PowerOf;
use vp_tests::dram_legality::standards::{GRADES, sheet};
use vp_tests::dram_legality::{Checker, Sheet};

type Log = Vec<(u64, DramCommand)>;

fn command(kind: CommandKind, bank: u32, row: u32) -> DramCommand {
    DramCommand { kind, bank, row, column: 0 }
}

/// Returns the rules that a log breaks.
fn broken(sheet: &Sheet, refreshed: bool, log: &[(u64, DramCommand)]) -> Vec<&'static str> {
    let mut checker = Checker::new(sheet.clone(), 2, refreshed);
    log.iter().for_each(|&(clock, command)| checker.take(clock, command));
    checker.violations().iter().map(|violation| violation.rule).collect()
}

/// Every grade, with refresh of all banks and bank by bank.
fn sheets() -> impl Iterator<Item = (Sheet, bool)> {
    let grades = GRADES.iter().flat_map(|(_, grades)| *grades);
    grades.flat_map(|grade| [false, true].map(|by_bank| (sheet(grade, by_bank).unwrap(), by_bank)))
}

/// A writer of legal logs with random commands, each in the first clock in which the checker lets it.
struct Author {
    random: ChaCha8Rng,
    sheet: Sheet,
    by_bank: bool,
    checker: Checker,
    log: Log,
    /// Commands that could not be given a clock earlier.
    held: Vec<bool>,
    now: u64,
    /// Rows by bank, through the ranks.
    open: Vec<Option<u32>>,
    /// REFpb or REF given, of each rank.
    refreshes: [u64; 2],
}

impl Author {
    fn new(sheet: Sheet, by_bank: bool, seed: u64) -> Author {
        let by_bank = by_bank && !sheet.name.starts_with("DDR4");
        Author {
            random: ChaCha8Rng::seed_from_u64(seed),
            by_bank,
            checker: Checker::new(sheet.clone(), 2, true),
            log: Log::new(),
            held: Vec::new(),
            now: 0,
            open: vec![None; 2 * sheet.rank_banks() as usize],
            refreshes: [0; 2],
            sheet,
        }
    }

    /// Returns true if commands in successive clocks from one on are legal.
    fn may_give(&self, clock: u64, commands: &[DramCommand]) -> bool {
        let mut checker = self.checker.clone();
        commands.iter().zip(clock..).for_each(|(command, clock)| checker.take(clock, *command));
        checker.violated() == 0
    }

    /// Gives commands in successive clocks, from the first in which they may be.
    fn give(&mut self, commands: &[DramCommand]) {
        const STRIDE: u64 = 32;
        let from = self.now;
        let mut clock = from;
        while !self.may_give(clock, commands) {
            clock += if clock < from + STRIDE { 1 } else { STRIDE };
            assert!(clock < from + 100_000, "{}: {commands:?} is never legal", self.sheet.name);
        }
        if clock > from + STRIDE {
            clock = (clock - STRIDE + 1..=clock).find(|clock| self.may_give(*clock, commands)).unwrap();
        }
        self.held.push(clock > from);
        self.held.extend(commands.iter().skip(1).map(|_| false));
        for (command, clock) in commands.iter().zip(clock..) {
            self.checker.take(clock, *command);
            self.log.push((clock, *command));
            self.now = clock;
        }
    }

    fn close(&mut self, rank: u32) {
        let of_rank = self.sheet.rank_banks();
        self.give(&[command(PrechargeAll, rank * of_rank, 0)]);
        let first = (rank * of_rank) as usize;
        self.open[first..first + of_rank as usize].fill(None);
    }

    fn refresh(&mut self, rank: u32) {
        let (of_rank, rule) = (self.sheet.rank_banks(), self.sheet.refresh);
        if !self.by_bank {
            self.close(rank);
            self.give(&[command(Refresh, rank * of_rank, 0)]);
        } else {
            let bank = (self.refreshes[rank as usize] % rule.round) as u32;
            let set = self.sheet.refreshed(bank);
            for bank in (0..of_rank).filter(|bank| set >> bank & 1 != 0).map(|bank| rank * of_rank + bank) {
                if self.open[bank as usize].take().is_some() {
                    self.give(&[command(Precharge, bank, 0)]);
                }
            }
            self.give(&[command(RefreshBank, rank * of_rank + bank, 0)]);
        }
        self.refreshes[rank as usize] += 1;
    }

    /// Returns true if a rank should be refreshed.
    fn owes(&self, rank: u32) -> bool {
        let rule = self.sheet.refresh;
        let parts = if self.by_bank { rule.round } else { 1 };
        self.now * self.sheet.clock.tck / (rule.interval / parts) > self.refreshes[rank as usize]
    }

    fn write(mut self, commands: usize) -> Author {
        while self.log.len() < commands {
            let of_rank = self.sheet.rank_banks();
            if let Some(rank) = (0..2).find(|rank| self.owes(*rank)) {
                self.refresh(rank);
                continue;
            }
            let rank = self.random.random_range(0..2);
            let bank = rank * of_rank + self.random.random_range(0..of_rank);
            match self.random.random_range(0..100) {
                0 => {
                    self.give(&[command(PowerDownEntry, rank * of_rank, 0)]);
                    self.give(&[command(PowerDownExit, rank * of_rank, 0)]);
                }
                1 => {
                    let ranks = if self.sheet.power_of == PowerOf::Channel { 0..2 } else { rank..rank + 1 };
                    ranks.clone().for_each(|rank| self.close(rank));
                    self.give(&[command(SelfRefreshEntry, rank * of_rank, 0)]);
                    self.give(&[command(SelfRefreshExit, rank * of_rank, 0)]);
                    let parts = if self.by_bank { self.sheet.refresh.round } else { 1 };
                    for rank in ranks {
                        (0..parts).for_each(|_| self.refresh(rank));
                    }
                }
                2 => self.close(rank),
                _ => self.access(bank),
            }
        }
        self
    }

    fn access(&mut self, bank: u32) {
        let Some(row) = self.open[bank as usize] else {
            let row = self.random.random_range(0..4);
            self.give(&[command(Activate, bank, row)]);
            self.open[bank as usize] = Some(row);
            return;
        };
        let kinds = [Read, Read, Write, Write, ReadPrecharge, WritePrecharge, Precharge];
        let kind = *kinds.choose(&mut self.random).unwrap();
        if !kind.is_column() {
            self.give(&[command(kind, bank, 0)]);
        } else if self.sheet.wck.is_some() && self.random.random_bool(0.8) {
            self.give(&[command(Sync, bank, 0), command(kind, bank, row)]);
        } else if self.may_give(self.now + 1, &[command(kind, bank, row)]) || self.sheet.wck.is_none() {
            self.give(&[command(kind, bank, row)]);
        } else {
            return;
        }
        if matches!(kind, ReadPrecharge | WritePrecharge | Precharge) {
            self.open[bank as usize] = None;
        }
    }
}

/// Legal logs of every grade.
static LOGS: LazyLock<Vec<Author>> = LazyLock::new(|| {
    sheets().zip(0..).map(|((sheet, by_bank), seed)| Author::new(sheet, by_bank, seed).write(400)).collect()
});

/// Calls back for each command of each log with the checker before it.
fn each_command(mut each: impl FnMut(&Author, &Checker, usize)) {
    for author in &*LOGS {
        let mut checker = Checker::new(author.sheet.clone(), 2, true);
        for at in 0..author.log.len() {
            each(author, &checker, at);
            let (clock, command) = author.log[at];
            checker.take(clock, command);
        }
        assert_eq!(checker.violations(), [], "{}", author.sheet.name);
    }
}

/// Returns true if a log goes wrong behind a place.
fn goes_wrong(checker: &Checker, rest: &[(u64, DramCommand)]) -> bool {
    let mut checker = checker.clone();
    rest.iter().any(|&(clock, command)| {
        checker.take(clock, command);
        checker.violated() > 0
    })
}

#[test]
fn every_rule_is_found_one_clock_too_early() {
    for (sheet, by_bank) in sheets() {
        for earlier in CommandKind::ALL {
            for later in CommandKind::ALL {
                for rule in sheet.rules.between(earlier, later).iter().filter(|rule| rule.clocks > 0) {
                    // A bank of its own set, and one of another; of the same group, if that is what the rule is about.
                    let other =
                        if matches!(rule.scope, Scope::OtherBank) { sheet.rank_banks() / 2 + 1 } else { 0 };
                    let found = |clocks: i64| {
                        let log = [
                            (1000, command(earlier, 0, 0)),
                            (1000 + clocks as u64, command(later, other, 0)),
                        ];
                        broken(&sheet, false, &log).contains(&rule.figure)
                    };
                    let said = format!("{} ({by_bank}): {earlier:?} to {later:?}, {rule:?}", sheet.name);
                    assert!(found(rule.clocks - 1), "{said}: not found");
                    let is_longest =
                        |other: &&vp_tests::dram_legality::rules::Rule| other.figure == rule.figure;
                    let others = sheet.rules.between(earlier, later).iter().filter(is_longest);
                    let longest = others.map(|rule| rule.clocks).max().unwrap();
                    assert!(!found(longest), "{said}: found though far enough");
                }
            }
        }
    }
}

#[test]
fn every_command_one_clock_earlier_is_found() {
    let mut moved = 0;
    each_command(|author, checker, at| {
        let (clock, command) = author.log[at];
        if author.held[at] {
            moved += 1;
            // A CAS goes with its read or write.
            let rest = match command.kind {
                Sync => vec![(clock - 1, command), (clock, author.log[at + 1].1)],
                _ => vec![(clock - 1, command)],
            };
            assert!(goes_wrong(checker, &rest), "{}: {command:?} in {}", author.sheet.name, clock - 1);
        }
    });
    assert!(moved > 10_000, "{moved}");
}

/// Returns the next command behind a place that is for a bank, where it is one of some kinds.
fn next_for(author: &Author, at: usize, bank: u32, kinds: &[CommandKind]) -> bool {
    let of_rank = author.sheet.rank_banks();
    let is_for = |other: &DramCommand| match other.kind {
        PrechargeAll | Refresh | SelfRefreshEntry => {
            other.bank / of_rank == bank / of_rank
                || other.kind == SelfRefreshEntry && author.sheet.power_of == PowerOf::Channel
        }
        RefreshBank => {
            other.bank / of_rank == bank / of_rank
                && author.sheet.refreshed(other.bank % of_rank) >> (bank % of_rank) & 1 != 0
        }
        Sync | PowerDownEntry | PowerDownExit | SelfRefreshExit => false,
        _ => other.bank == bank,
    };
    let next = author.log[at + 1..].iter().find(|(_, other)| is_for(other));
    next.is_some_and(|(_, next)| kinds.contains(&next.kind))
}

#[test]
fn every_command_that_another_needs_is_missed() {
    let columns = [Read, Write, ReadPrecharge, WritePrecharge];
    let of_closed = [Activate, Refresh, RefreshBank, SelfRefreshEntry];
    let mut missed = BTreeMap::new();
    let mut open: Vec<bool> = Vec::new();
    each_command(|author, checker, at| {
        let of_rank = author.sheet.rank_banks();
        if at == 0 {
            open = vec![false; 2 * of_rank as usize];
        }
        let (_, DramCommand { kind, bank, .. }) = author.log[at];
        let banks = match kind {
            PrechargeAll => bank / of_rank * of_rank..(bank / of_rank + 1) * of_rank,
            _ => bank..bank + 1,
        };
        let is_needed = match kind {
            Activate => next_for(author, at, bank, &columns),
            Precharge | PrechargeAll => {
                banks.clone().any(|bank| open[bank as usize] && next_for(author, at, bank, &of_closed))
            }
            PowerDownEntry | SelfRefreshEntry | PowerDownExit | SelfRefreshExit => at + 3 < author.log.len(),
            _ => false,
        };
        let rest = &author.log[at + 1..];
        if is_needed {
            *missed.entry(kind.name()).or_insert(0) += 1;
            // A rank that stays asleep is missed with its next command.
            let rank = bank / of_rank;
            let is_alone = author.sheet.power_of == PowerOf::Rank;
            let has_next = !is_alone || rest.iter().any(|(_, next)| next.bank / of_rank == rank);
            assert!(
                goes_wrong(checker, rest) || !has_next,
                "{}: without {:?}",
                author.sheet.name,
                author.log[at]
            );
        }
        match kind {
            Activate => open[bank as usize] = true,
            Precharge | PrechargeAll | ReadPrecharge | WritePrecharge => {
                banks.for_each(|bank| open[bank as usize] = false);
            }
            _ => {}
        }
    });
    assert!(missed.len() == 7 && missed.values().all(|count| *count > 20), "{missed:?}");
}

#[test]
fn every_access_to_another_row_is_found() {
    each_command(|author, checker, at| {
        let (clock, command) = author.log[at];
        if command.kind.is_column() {
            let other = (clock, DramCommand { row: command.row + 1, ..command });
            assert!(goes_wrong(checker, &[other]), "{}: {other:?}", author.sheet.name);
        }
    });
}

#[test]
fn every_read_or_write_without_wck_is_found() {
    let mut missed = 0;
    each_command(|author, checker, at| {
        if author.log[at].1.kind == Sync {
            let without = goes_wrong(checker, &author.log[at + 1..at + 2]);
            missed += u32::from(without);
            // Another command between the two.
            let (clock, command) = author.log[at + 1];
            let late = [author.log[at], (clock + 1, command)];
            assert!(goes_wrong(checker, &late) || !without, "{}: {late:?}", author.sheet.name);
        }
    });
    assert!(missed > 50, "{missed}");
}

#[test]
fn every_command_during_another_is_found() {
    each_command(|author, checker, at| {
        let (clock, command) = author.log[at];
        let length = author.sheet.rules.length(command.kind);
        for behind in 0..length {
            let pair = [(clock, command), (clock + behind, command)];
            assert!(goes_wrong(checker, &pair), "{}: {pair:?}", author.sheet.name);
        }
    });
}

#[test]
fn refreshes_that_are_left_out_are_found() {
    for author in &*LOGS {
        let rule = author.sheet.refresh;
        let until = (rule.postponed + 1) * rule.interval / author.sheet.clock.tck;
        let mut checker = Checker::new(author.sheet.clone(), 2, true);
        checker.finish(until);
        assert_eq!(checker.violations(), [], "{}", author.sheet.name);
        checker.finish(until + 1);
        assert_eq!(checker.violated(), 2, "{}", author.sheet.name);
        // Half of them: the debt grows.
        let mut checker = Checker::new(author.sheet.clone(), 1, true);
        for number in 1..4 * (rule.postponed + 1) {
            checker.take(number * 2 * rule.interval / author.sheet.clock.tck, command(Refresh, 0, 0));
        }
        assert!(checker.violations().iter().all(|it| it.rule == "refresh interval"));
        assert!(checker.violated() > 0, "{}", author.sheet.name);
    }
}

#[test]
fn a_bank_refreshed_twice_in_a_round_is_found() {
    let mut found = 0;
    each_command(|author, checker, at| {
        let (clock, command) = author.log[at];
        // Behind self refresh a new round may begin.
        let has_slept = author.log[..at].iter().any(|(_, command)| command.kind == SelfRefreshExit);
        if command.kind != RefreshBank || has_slept {
            return;
        }
        // The bank of the round's first one in its place.
        let (of_rank, round) = (author.sheet.rank_banks(), author.sheet.refresh.round as u32);
        let (rank, number) = (command.bank / of_rank, command.bank % of_rank);
        if number > 0 && number < round {
            found += 1;
            let mut checker = checker.clone();
            checker.take(clock, DramCommand { bank: rank * of_rank, ..command });
            let rules: Vec<_> = checker.violations().iter().map(|it| it.rule).collect();
            assert!(rules.contains(&"round of refreshes"), "{}: {rules:?}", author.sheet.name);
        }
    });
    assert!(found > 20, "{found}");
}

#[test]
fn five_activates_in_the_window_of_four_are_found() {
    let mut found = 0;
    for (sheet, _) in sheets() {
        // Each of another group, if there are groups.
        let rules = sheet.rules.between(Activate, Activate).iter();
        let apart = rules.filter(|it| it.scope == Scope::Rank).map(|it| it.clocks as u64).max().unwrap();
        let banks = [0, 1, 2, 3, 4].map(|n| if sheet.groups > 1 { n % 4 * sheet.banks + n / 4 } else { n });
        let with_last = |last: u64| {
            let clocks = [0, apart, 2 * apart, 3 * apart, last];
            let log: Log = clocks.into_iter().zip(banks.map(|bank| command(Activate, bank, 0))).collect();
            broken(&sheet, false, &log)
        };
        let window = sheet.four_activates;
        if 4 * apart < window {
            found += 1;
            assert_eq!(with_last(window - 1), ["tFAW"], "{}", sheet.name);
        }
        assert!(with_last(window.max(4 * apart)).is_empty(), "{}", sheet.name);
    }
    // A REFpb among them.
    let sheet = sheet("LPDDR5-6400-8B", true).unwrap();
    let kinds = [Activate, Activate, RefreshBank, Activate, Activate];
    let with_last = |last: u64| {
        let clocks = [0, 8, 16, 22, last].into_iter().zip(kinds).zip(0..);
        broken(
            &sheet,
            false,
            &clocks.map(|((clock, kind), bank)| (clock, command(kind, bank, 0))).collect::<Log>(),
        )
    };
    assert_eq!((with_last(31), with_last(32)), (vec!["tFAW"], vec![]));
    assert!(found > 5, "{found}");
}

#[test]
fn bursts_of_two_ranks_that_meet_are_found() {
    for (sheet, _) in sheets().filter(|(sheet, _)| !sheet.data.of_each) {
        let other = sheet.rank_banks();
        let (length, burst) = (sheet.rules.length(Read), sheet.data.clocks);
        let pair = |later: CommandKind, apart: u64| {
            let cas = |clock, bank| sheet.wck.is_some().then(|| (clock, command(Sync, bank, 0)));
            let mut log = vec![(0, command(Activate, 0, 0)), (100, command(Activate, other, 0))];
            log.extend(cas(999, 0));
            log.push((1000, command(Read, 0, 0)));
            log.extend(cas(1000 + apart - 1, other));
            log.push((1000 + apart, command(later, other, 0)));
            broken(&sheet, false, &log)
        };
        if burst > length {
            assert!(pair(Read, burst - 1).contains(&"data bus"), "{}", sheet.name);
        }
        assert!(!pair(Read, burst).contains(&"data bus"), "{}", sheet.name);
        let behind = sheet.data.read + burst - sheet.data.write;
        assert_eq!(pair(Write, behind - 1), ["data bus"], "{}", sheet.name);
        assert!(pair(Write, behind).is_empty(), "{}", sheet.name);
    }
}

#[test]
fn self_refresh_behind_self_refresh_without_a_refresh_between_is_found() {
    for (sheet, _) in sheets() {
        let mut log: Log = [SelfRefreshEntry, SelfRefreshExit, SelfRefreshEntry]
            .iter()
            .zip(1..)
            .map(|(kind, at)| (at * 3000, command(*kind, 0, 0)))
            .collect();
        assert_eq!(broken(&sheet, true, &log)[0], "a refresh between two self refreshes", "{}", sheet.name);
        log.insert(2, (7500, command(Refresh, 0, 0)));
        if sheet.power_of == PowerOf::Rank {
            assert!(broken(&sheet, true, &log).is_empty(), "{}", sheet.name);
        }
    }
}

#[test]
fn what_the_device_does_not_have_is_found() {
    for (sheet, _) in sheets() {
        let (banks, rows) = (sheet.rank_banks(), sheet.rows);
        assert_eq!(broken(&sheet, false, &[(0, command(Activate, 2 * banks, 0))]), ["organisation"]);
        assert_eq!(broken(&sheet, false, &[(0, command(Activate, 0, rows))]), ["organisation"]);
    }
}

#[test]
fn a_violation_says_clocks_commands_and_figure() {
    let mut checker = Checker::new(sheet("DDR4-2400R", false).unwrap(), 1, false);
    checker.take(100, command(Activate, 3, 7));
    checker.take(115, command(Read, 3, 7));
    let said: Vec<String> = checker.violations().iter().map(ToString::to_string).collect();
    let read = "RD of rank 0 bank 3 row 7 column 0";
    let words =
        format!("clock 115: {read}, 15 clocks behind ACT of rank 0 bank 3 row 7 of 100: 16 wanted (tRCD)");
    assert_eq!(said, [words]);
}
