//! Commands that a controller gives of itself: refreshes, rows closed by a timer, power-down and self refresh.

use super::bank::{Banks, Power};
use super::command::{CommandKind, DramCommand};
use super::config::{DramConfig, PagePolicy, Refresh};
use super::held_banks::HeldBanks;
use super::queue::Queues;
use super::timing::Timing;
use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};

/// Refreshes of a rank that are caught up with, about a second's of DDR4: what a caller waits for is bounded, however far time has gone.
const MOST_MISSED: u64 = 1 << 17;

/// A rank's own part.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Unit {
    /// Clock in which the next refresh is due.
    due: u64,
    /// Banks that this round has refreshed, by their order in it.
    refreshed: u128,
    /// Bank that is refreshed next, from the clock in which that is due.
    next: Option<u32>,
    /// True if a refresh is owed before self refresh is entered again (JESD79-4, "Self refresh operation").
    owes: bool,
    /// Clock of the last command of an access, or of the first access that waits after none did.
    used: u64,
}

/// Needs of each rank of a channel beside its accesses.
#[derive(Debug)]
pub(super) struct Maintenance {
    units: Vec<Unit>,
    held: HeldBanks,
    /// Clocks from one refresh of a rank, or of a bank, to the next; none if there are none.
    interval: Option<u64>,
    /// Refreshes that refresh a rank: of all its banks one, bank by bank more.
    round: u64,
    refresh: Refresh,
    page_timer: Option<u64>,
    power_down: Option<u64>,
    self_refresh: Option<u64>,
}

impl Maintenance {
    pub(super) fn new(config: &DramConfig, timing: &Timing, banks: &Banks) -> Maintenance {
        let interval = match config.refresh {
            Refresh::Off => None,
            Refresh::All => Some(timing.tREFI),
            Refresh::Bank => {
                let rounds = config.standard.standard().bank_refresh_rounds();
                Some((timing.tREFI / (rounds * u64::from(banks.refreshes_of_unit()))).max(1))
            }
        };
        let due = |unit: u64| {
            let late = if config.stagger { unit } else { 0 };
            let part = |interval: u64| interval + interval * late / u64::from(banks.units());
            Unit { due: interval.map_or(u64::MAX, part), ..Unit::default() }
        };
        Maintenance {
            units: (0..u64::from(banks.units())).map(due).collect(),
            held: HeldBanks::default(),
            interval,
            round: if config.refresh == Refresh::Bank { u64::from(banks.refreshes_of_unit()) } else { 1 },
            refresh: config.refresh,
            page_timer: (config.page == PagePolicy::Timer).then(|| u64::from(config.page_timer)),
            power_down: config.power_down.map(u64::from),
            self_refresh: config.self_refresh.map(u64::from),
        }
    }

    /// Finds the banks to which nothing but maintenance is given in the clock `now`: of ranks that are refreshed or in power-down, or
    /// that are refreshed themselves.
    pub(super) fn note_held(&mut self, banks: &Banks, now: u64) {
        let HeldBanks { units, banks: held } = &mut self.held;
        *units = 0;
        held.clear();
        for (number, unit) in (0..).zip(&self.units) {
            let is_refreshed = self.refresh == Refresh::All && unit.due <= now;
            if is_refreshed || banks.power(number) != Power::Up {
                *units |= 1 << number;
            }
            if let Some(next) = unit.next {
                held.extend(banks.refreshed(next));
            }
        }
    }

    /// Returns the banks that were found last.
    pub(super) fn held(&self) -> &HeldBanks {
        &self.held
    }

    /// Notes that a command was given for an access, or that one has come for a rank that had none.
    pub(super) fn used(&mut self, unit: u32, now: u64) {
        self.units[unit as usize].used = now;
    }

    /// Passes over refreshes of a rank that has been idle for longer than [`MOST_MISSED`] of them: it was in self refresh before, in
    /// which it is given none (JESD79-4, "Self refresh operation").
    pub(super) fn skip(&mut self, now: u64) {
        let Some(interval) = self.interval else { return };
        for unit in self.units.iter_mut().filter(|unit| unit.due < now) {
            let missed = now.saturating_sub(unit.due) / interval;
            let rounds = (missed / self.round).saturating_sub(MOST_MISSED);
            unit.due += rounds * self.round * interval;
        }
    }

    /// Returns the next command of maintenance and the clock in which it is given, the earliest of all ranks'. Behind `now` it may be
    /// any that says when to look again.
    pub(super) fn next(&mut self, banks: &Banks, queues: &Queues, now: u64) -> Option<(u64, DramCommand)> {
        // Without timers there are refreshes only, and most looks come before the first of them.
        if let Some(due) = self.units.iter().map(|unit| unit.due).min()
            && !self.has_timers()
            && due > now
        {
            return (due < u64::MAX).then(|| (due, Self::of(CommandKind::Refresh, 0, banks)));
        }
        let each = (0..banks.units()).filter_map(|unit| self.next_of(unit, banks, queues, now));
        each.min_by_key(|(clock, command)| (*clock, command.bank))
    }

    fn has_timers(&self) -> bool {
        self.page_timer.is_some() || self.power_down.is_some() || self.self_refresh.is_some()
    }

    fn next_of(
        &mut self,
        number: u32,
        banks: &Banks,
        queues: &Queues,
        now: u64,
    ) -> Option<(u64, DramCommand)> {
        let Unit { due, used, owes, .. } = self.units[number as usize];
        let command = |kind| Self::of(kind, number, banks);
        let at = |from: u64, command: DramCommand| (from.max(banks.earliest(command)), command);
        let waits = queues.waiting_for(number) > 0;
        // Idle for so long, self refresh is entered.
        let rest = self.self_refresh.filter(|_| !waits && !owes).map_or(u64::MAX, |clocks| used + clocks);
        match banks.power(number) {
            Power::SelfRefresh => return waits.then(|| at(used, command(CommandKind::SelfRefreshExit))),
            Power::Down => {
                let exit = due.min(rest).min(if waits { used } else { u64::MAX });
                return (exit < u64::MAX).then(|| at(exit, command(CommandKind::PowerDownExit)));
            }
            Power::Up => {}
        }
        let mut timed: Option<(u64, DramCommand)> = None;
        let mut sooner = |other: (u64, DramCommand)| {
            if timed.is_none_or(|timed| other.0 < timed.0) {
                timed = Some(other);
            }
        };
        if let Some(timer) = self.page_timer {
            for bank in banks.of_unit(number) {
                if let Some(row) = banks.open_row(bank)
                    && !queues.waits_for(bank, Some(row))
                {
                    let close = DramCommand { kind: CommandKind::Precharge, bank, row, column: 0 };
                    sooner(at(banks.used(bank) + timer, close));
                }
            }
        }
        if rest < u64::MAX {
            let is_open = banks.any_open(number);
            sooner(at(
                rest,
                command(if is_open { CommandKind::PrechargeAll } else { CommandKind::SelfRefreshEntry }),
            ));
        }
        if let Some(clocks) = self.power_down.filter(|_| !waits) {
            let entry = at(used + clocks, command(CommandKind::PowerDownEntry));
            if entry.0 < rest {
                sooner(entry);
            }
        }
        match timed {
            Some(timed) if timed.0 < due => Some(timed),
            _ if due <= now => Some(self.next_refresh(number, banks, queues)),
            _ => (due < u64::MAX).then(|| (due, command(CommandKind::Refresh))),
        }
    }

    /// Returns the next step of a refresh that is due.
    fn next_refresh(&mut self, number: u32, banks: &Banks, queues: &Queues) -> (u64, DramCommand) {
        let due = self.units[number as usize].due;
        let at = |command: DramCommand| (due.max(banks.earliest(command)), command);
        if self.refresh == Refresh::All {
            let kind = if banks.any_open(number) { CommandKind::PrechargeAll } else { CommandKind::Refresh };
            return at(Self::of(kind, number, banks));
        }
        let next = match self.units[number as usize].next {
            Some(next) => next,
            None => {
                let next = self.choose_bank(number, banks, queues);
                self.units[number as usize].next = Some(next);
                next
            }
        };
        let open = banks.refreshed(next).find_map(|bank| Some((bank, banks.open_row(bank)?)));
        match open {
            Some((bank, row)) => at(DramCommand { kind: CommandKind::Precharge, bank, row, column: 0 }),
            None => at(DramCommand { kind: CommandKind::RefreshBank, bank: next, row: 0, column: 0 }),
        }
    }

    /// Returns the bank of this round that is refreshed next: one that nothing waits for, if there is one (JESD209-4, "Refresh
    /// command": banks in any order, each once before any has its next turn).
    fn choose_bank(&self, number: u32, banks: &Banks, queues: &Queues) -> u32 {
        let first = banks.of_unit(number).start;
        let refreshed = self.units[number as usize].refreshed;
        let left = || {
            (0..banks.refreshes_of_unit()).filter(|bank| refreshed >> bank & 1 == 0).map(|bank| first + bank)
        };
        let is_free = |bank: &u32| {
            banks.refreshed(*bank).all(|bank| banks.open_row(bank).is_none() && !queues.waits_for(bank, None))
        };
        left().find(is_free).or_else(|| left().next()).unwrap_or(first)
    }

    /// Notes that a command of maintenance was given.
    pub(super) fn given(&mut self, command: DramCommand, at: u64, banks: &Banks) {
        let number = banks.unit_of(command.bank);
        let unit = &mut self.units[number as usize];
        let interval = self.interval.unwrap_or(0);
        match command.kind {
            CommandKind::Refresh => {
                unit.due += interval;
                unit.owes = false;
            }
            CommandKind::RefreshBank => {
                unit.due += interval;
                unit.next = None;
                unit.refreshed |= 1 << (command.bank - banks.of_unit(number).start);
                if unit.refreshed.count_ones() == banks.refreshes_of_unit() {
                    unit.refreshed = 0;
                    unit.owes = false;
                }
            }
            CommandKind::SelfRefreshEntry => {
                unit.due = u64::MAX;
                unit.refreshed = 0;
            }
            // What was due before is not.
            CommandKind::SelfRefreshExit => {
                unit.owes = self.interval.is_some();
                unit.due = self.interval.map_or(u64::MAX, |interval| at + interval);
            }
            _ => {}
        }
    }

    fn of(kind: CommandKind, unit: u32, banks: &Banks) -> DramCommand {
        DramCommand { kind, bank: banks.of_unit(unit).start, row: 0, column: 0 }
    }
}

impl Maintenance {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Maintenance {
            units,
            held: _,
            interval: _,
            round: _,
            refresh: _,
            page_timer: _,
            power_down: _,
            self_refresh: _,
        } = self;
        at.fixed(units)
    }
}
