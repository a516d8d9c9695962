//! Banks of a channel, and the clock from which each command may be given.
//!
//! All times are in clocks of the command bus. Each command moves the earliest clock of the commands that it holds back
//! ([`super::rules`]); a command may be given when none of these is later.

use super::command::{CommandKind, DramCommand};
use super::grade::Standard;
use super::organisation::Organisation;
use super::rules::{Given, Held, Rules, Scope};
use super::timing::Timing;
use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use strum::{IntoStaticStr, VariantArray};

/// The earliest clocks of the commands to a bank, a group or a rank.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Earliest([u64; Held::COUNT]);

impl Earliest {
    fn hold(&mut self, held: Held, until: u64) {
        let at = &mut self.0[held as usize];
        *at = (*at).max(until);
    }

    fn of(&self, held: Held) -> u64 {
        self.0[held as usize]
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Bank {
    row: Option<u32>,
    earliest: Earliest,
    /// Clock of the last column command.
    used: u64,
}

/// State of a rank's clock enable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Power {
    #[default]
    Up,
    Down,
    SelfRefresh,
}

/// Background of a rank, by which it draws current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Background {
    /// A row is open.
    ActiveStandby,
    /// All rows are closed.
    PrechargeStandby,
    /// A row is open, in power-down.
    ActivePowerDown,
    /// All rows are closed, in power-down.
    PrechargePowerDown,
    /// Self refresh.
    SelfRefresh,
}

impl Background {
    /// Number of them.
    pub const COUNT: usize = 5;

    /// All of them.
    pub const ALL: [Background; Background::COUNT] = *Self::VARIANTS.first_chunk().unwrap();

    /// Returns the name, as statistics have it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A rank, or a pseudo channel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Unit {
    earliest: Earliest,
    /// Last clocks of the last four commands that opened rows.
    activations: VecDeque<u64>,
    open: u32,
    power: Power,
    /// Clock from which WCK stands still.
    wck_until: u64,
    /// Clocks in each background before `since`.
    background: [u64; Background::COUNT],
    since: u64,
}

/// The banks of one channel.
#[derive(Debug)]
pub(super) struct Banks {
    timing: Timing,
    rules: Rules,
    banks_in_group: u32,
    banks_in_unit: u32,
    /// Number of the bus of column commands in `buses`.
    column_bus: usize,
    /// Number of refreshes of banks that refresh a rank: each refreshes the banks that are so many apart.
    refreshes: u32,
    banks: Vec<Bank>,
    groups: Vec<Earliest>,
    units: Vec<Unit>,
    /// Clock at which the bus of each kind of command is free.
    buses: [u64; 2],
    /// Number of commands that have been given.
    given: u64,
}

impl Banks {
    /// All rows closed, and nothing held back.
    pub(super) fn new(organisation: &Organisation, timing: Timing, standard: Standard) -> Banks {
        let units = organisation.units() as usize;
        Banks {
            timing,
            rules: Rules::new(&timing, organisation),
            banks_in_group: organisation.banks,
            banks_in_unit: organisation.unit_banks(),
            column_bus: usize::from(standard.has_column_bus()),
            refreshes: standard.bank_refreshes(organisation.groups, organisation.banks),
            banks: vec![Bank::default(); units * organisation.unit_banks() as usize],
            groups: vec![Earliest::default(); units * organisation.groups as usize],
            units: vec![Unit::default(); units],
            buses: [0; 2],
            given: 0,
        }
    }

    /// Returns the number of commands that have been given: each may move the clocks of others.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Returns the number of banks.
    pub(super) fn len(&self) -> usize {
        self.banks.len()
    }

    /// Returns the number of ranks, or pseudo channels.
    pub(super) fn units(&self) -> u32 {
        self.units.len() as u32
    }

    /// Returns the rank or pseudo channel of a bank.
    pub(super) fn unit_of(&self, bank: u32) -> u32 {
        bank / self.banks_in_unit
    }

    /// Returns the banks of a rank or pseudo channel.
    pub(super) fn of_unit(&self, unit: u32) -> std::ops::Range<u32> {
        unit * self.banks_in_unit..(unit + 1) * self.banks_in_unit
    }

    /// Returns the banks that a refresh of `bank` refreshes.
    pub(super) fn refreshed(&self, bank: u32) -> impl Iterator<Item = u32> {
        let of = self.of_unit(self.unit_of(bank));
        (of.start + bank % self.refreshes..of.end).step_by(self.refreshes as usize)
    }

    /// Returns the number of refreshes of banks that refresh a rank.
    pub(super) fn refreshes_of_unit(&self) -> u32 {
        self.refreshes
    }

    /// Returns the row that is open in a bank.
    pub(super) fn open_row(&self, bank: u32) -> Option<u32> {
        self.banks[bank as usize].row
    }

    /// Returns the clock of the last column command to a bank.
    pub(super) fn used(&self, bank: u32) -> u64 {
        self.banks[bank as usize].used
    }

    /// Returns true if any row of a rank is open.
    pub(super) fn any_open(&self, unit: u32) -> bool {
        self.units[unit as usize].open > 0
    }

    pub(super) fn power(&self, unit: u32) -> Power {
        self.units[unit as usize].power
    }

    /// Returns true if WCK stands still in the clock `at`: a column command then needs CAS in front.
    pub(super) fn needs_sync(&self, bank: u32, at: u64) -> bool {
        self.timing.tWCKPST > 0 && self.units[self.unit_of(bank) as usize].wck_until <= at
    }

    /// Returns the first clock in which a command may be given.
    pub(super) fn earliest(&self, command: DramCommand) -> u64 {
        use CommandKind as C;
        let unit = &self.units[(command.bank / self.banks_in_unit) as usize];
        let (held, bus) = match command.kind {
            C::Activate => (Held::Activate, 0),
            C::Read | C::ReadPrecharge => (Held::Read, self.column_bus),
            C::Write | C::WritePrecharge => (Held::Write, self.column_bus),
            C::Precharge => (Held::Precharge, 0),
            C::Sync => return self.buses[self.column_bus],
            C::PrechargeAll => {
                let banks = command.bank as usize..(command.bank + self.banks_in_unit) as usize;
                // Also behind those that close of themselves.
                let each = self.banks[banks].iter().map(|bank| bank.earliest.of(Held::Precharge));
                let latest = each.max().unwrap_or(0);
                return latest.max(unit.earliest.of(Held::Precharge)).max(self.buses[0]);
            }
            C::RefreshBank => {
                let banks = self.refreshed(command.bank).map(|bank| self.banks[bank as usize].earliest);
                let latest = banks.map(|earliest| earliest.of(Held::RefreshBank)).max().unwrap_or(0);
                let window = self.window(unit, self.timing.nREF);
                return latest.max(unit.earliest.of(Held::RefreshBank)).max(self.buses[0]).max(window);
            }
            C::Refresh => return unit.earliest.of(Held::Refresh).max(self.buses[0]),
            C::PowerDownEntry => return unit.earliest.of(Held::PowerDownEntry).max(self.buses[0]),
            C::PowerDownExit => return unit.earliest.of(Held::PowerDownExit).max(self.buses[0]),
            C::SelfRefreshEntry => return unit.earliest.of(Held::SelfRefreshEntry).max(self.buses[0]),
            C::SelfRefreshExit => return unit.earliest.of(Held::SelfRefreshExit).max(self.buses[0]),
        };
        let bank = &self.banks[command.bank as usize].earliest;
        let group = &self.groups[(command.bank / self.banks_in_group) as usize];
        let earliest = bank.of(held).max(group.of(held)).max(unit.earliest.of(held)).max(self.buses[bus]);
        match command.kind {
            C::Activate => earliest.max(self.window(unit, self.timing.nACT)),
            C::ReadPrecharge => earliest.max(bank.of(Held::ReadPrecharge)),
            _ => earliest,
        }
    }

    /// Returns the first clock in which a command of so many clocks may be given that opens rows: four at most within tFAW.
    fn window(&self, unit: &Unit, clocks: u64) -> u64 {
        match unit.activations.front() {
            Some(first) if unit.activations.len() == 4 => {
                (first + self.timing.tFAW).saturating_sub(clocks - 1)
            }
            _ => 0,
        }
    }

    /// Gives a command in the clock `at`.
    pub(super) fn give(&mut self, command: DramCommand, at: u64) {
        use CommandKind as C;
        self.given += 1;
        let Timing { CL, CWL, tBURST, tWCKPST, nACT, nCAS, nPRE, nREF, .. } = self.timing;
        let (at_bank, at_unit) = (command.bank as usize, (command.bank / self.banks_in_unit) as usize);
        self.count_background(at_unit, at);
        let (given, clocks) = match command.kind {
            C::Activate => (Given::Activate, nACT),
            C::Read | C::ReadPrecharge => (Given::Read, nCAS),
            C::Write | C::WritePrecharge => (Given::Write, nCAS),
            C::Precharge => (Given::Precharge, nPRE),
            C::PrechargeAll => (Given::PrechargeAll, nPRE),
            C::Refresh => (Given::Refresh, nREF),
            C::RefreshBank => (Given::RefreshBank, nREF),
            C::PowerDownEntry => (Given::PowerDownEntry, 1),
            C::PowerDownExit => (Given::PowerDownExit, 1),
            C::SelfRefreshEntry => (Given::SelfRefreshEntry, nREF),
            C::SelfRefreshExit => (Given::SelfRefreshExit, nREF),
            C::Sync => {
                self.buses[self.column_bus] = at + 1;
                self.units[at_unit].wck_until = at + 1 + CL.max(CWL) + tBURST + tWCKPST;
                return;
            }
        };
        let bus = if command.kind.is_column() { self.column_bus } else { 0 };
        self.buses[bus] = at + clocks;
        if command.kind == C::RefreshBank {
            for bank in self.refreshed(command.bank).collect::<Vec<_>>() {
                self.hold(given, bank, at);
            }
        } else {
            self.hold(given, command.bank, at);
        }
        match command.kind {
            C::Activate => {
                self.units[at_unit].open += 1;
                self.units[at_unit].count_activation(at + nACT - 1);
                let bank = &mut self.banks[at_bank];
                (bank.row, bank.used) = (Some(command.row), at);
            }
            C::Read | C::Write => {
                self.banks[at_bank].used = at;
                let latency = if command.kind == C::Read { CL } else { CWL };
                self.units[at_unit].wck_until = at + latency + tBURST + tWCKPST;
            }
            // The row closes as soon as it may: PRE in its own time, without a place on the bus.
            C::ReadPrecharge | C::WritePrecharge => {
                let latency = if command.kind == C::ReadPrecharge { CL } else { CWL };
                self.units[at_unit].wck_until = at + latency + tBURST + tWCKPST;
                let close = self.banks[at_bank].earliest.of(Held::Precharge);
                let held = self.units[at_unit].earliest.of(Held::Precharge);
                self.hold(Given::Precharge, command.bank, close);
                self.units[at_unit].earliest.0[Held::Precharge as usize] = held;
                self.close(at_bank);
            }
            C::Precharge => self.close(at_bank),
            C::PrechargeAll => {
                let banks = self.of_unit(at_unit as u32);
                banks.for_each(|bank| self.close(bank as usize));
            }
            C::PowerDownEntry => self.units[at_unit].power = Power::Down,
            C::SelfRefreshEntry => self.units[at_unit].power = Power::SelfRefresh,
            C::PowerDownExit | C::SelfRefreshExit => self.units[at_unit].power = Power::Up,
            // It opens rows as ACT does (JESD209-5, "Refresh command": counts for tFAW).
            C::RefreshBank => self.units[at_unit].count_activation(at + nREF - 1),
            C::Refresh | C::Sync => {}
        }
    }

    fn close(&mut self, bank: usize) {
        if self.banks[bank].row.take().is_some() {
            self.units[bank / self.banks_in_unit as usize].open -= 1;
        }
    }

    /// Holds back what a command to a bank holds back.
    fn hold(&mut self, given: Given, bank: u32, at: u64) {
        let unit = (bank / self.banks_in_unit) as usize;
        for rule in self.rules.behind(given) {
            let until = at + rule.clocks;
            match rule.scope {
                Scope::Bank => self.banks[bank as usize].earliest.hold(rule.held, until),
                Scope::Group => self.groups[(bank / self.banks_in_group) as usize].hold(rule.held, until),
                Scope::Unit => self.units[unit].earliest.hold(rule.held, until),
                Scope::OtherRanks => {
                    let others = self.units.iter_mut().enumerate().filter(|(other, _)| *other != unit);
                    others.for_each(|(_, other)| other.earliest.hold(rule.held, until));
                }
            }
        }
    }

    fn count_background(&mut self, unit: usize, now: u64) {
        let unit = &mut self.units[unit];
        unit.background[unit.background() as usize] += now.saturating_sub(unit.since);
        unit.since = unit.since.max(now);
    }

    /// Returns the clocks that all ranks together have been in each background until `now`.
    pub(super) fn backgrounds(&self, now: u64) -> [u64; Background::COUNT] {
        let mut sum = [0; Background::COUNT];
        for unit in &self.units {
            sum.iter_mut().zip(unit.background).for_each(|(sum, clocks)| *sum += clocks);
            sum[unit.background() as usize] += now.saturating_sub(unit.since);
        }
        sum
    }
}

impl Unit {
    fn count_activation(&mut self, at: u64) {
        if self.activations.len() == 4 {
            self.activations.pop_front();
        }
        self.activations.push_back(at);
    }

    fn background(&self) -> Background {
        match (self.power, self.open > 0) {
            (Power::Up, true) => Background::ActiveStandby,
            (Power::Up, false) => Background::PrechargeStandby,
            (Power::Down, true) => Background::ActivePowerDown,
            (Power::Down, false) => Background::PrechargePowerDown,
            (Power::SelfRefresh, _) => Background::SelfRefresh,
        }
    }
}

impl Banks {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Banks {
            timing: _,
            rules: _,
            banks_in_group: _,
            banks_in_unit: _,
            column_bus: _,
            refreshes: _,
            banks,
            groups,
            units,
            buses,
            given: _,
        } = self;
        at.fixed(banks)?;
        at.fixed(groups)?;
        at.fixed(units)?;
        at.value(buses)
    }
}
