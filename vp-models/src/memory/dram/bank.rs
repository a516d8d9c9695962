//! Times from which a channel may be given its commands.
//!
//! All times are in clocks of the command bus. Each command sets the earliest clock of the commands that it
//! delays; a command may be given when none of these is later.

use super::standard::{Organisation, Timing};
use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A command, and the bank that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DramCommand {
    /// Opens a row.
    Activate {
        /// Bank of the channel.
        bank: usize,
        /// The row.
        row: u32,
    },
    /// Reads a burst of the open row.
    Read {
        /// Bank of the channel.
        bank: usize,
        /// True if the row is closed behind it (RDA).
        close: bool,
    },
    /// Writes a burst of the open row.
    Write {
        /// Bank of the channel.
        bank: usize,
        /// True if the row is closed behind it (WRA).
        close: bool,
    },
    /// Closes a row.
    Precharge {
        /// Bank of the channel.
        bank: usize,
    },
    /// Closes all rows.
    PrechargeAll,
    /// Refreshes all banks, which must be closed.
    Refresh,
}

impl DramCommand {
    /// Returns the command's name in the standards.
    pub const fn name(self) -> &'static str {
        match self {
            DramCommand::Activate { .. } => "ACT",
            DramCommand::Read { close: false, .. } => "RD",
            DramCommand::Read { close: true, .. } => "RDA",
            DramCommand::Write { close: false, .. } => "WR",
            DramCommand::Write { close: true, .. } => "WRA",
            DramCommand::Precharge { .. } => "PRE",
            DramCommand::PrechargeAll => "PREA",
            DramCommand::Refresh => "REF",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Bank {
    row: Option<u32>,
    activate: u64,
    column: u64,
    precharge: u64,
}

/// The earliest clocks of commands to one group, or to any.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Earliest {
    activate: u64,
    read: u64,
    write: u64,
}

/// The banks of one channel.
#[derive(Debug, Clone)]
pub struct Banks {
    timing: Timing,
    banks_in_group: usize,
    banks: Vec<Bank>,
    groups: Vec<Earliest>,
    any: Earliest,
    precharge: u64,
    refresh: u64,
    /// Clock at which the command bus is free.
    bus: u64,
    /// The last four ACTs.
    activations: VecDeque<u64>,
}

impl Banks {
    /// All rows closed, and nothing held back.
    pub fn new(organisation: &Organisation, timing: Timing) -> Banks {
        let groups = organisation.groups as usize;
        Banks {
            timing,
            banks_in_group: organisation.banks as usize,
            banks: vec![Bank::default(); groups * organisation.banks as usize],
            groups: vec![Earliest::default(); groups],
            any: Earliest::default(),
            precharge: 0,
            refresh: 0,
            bus: 0,
            activations: VecDeque::with_capacity(4),
        }
    }

    /// The row that is open in a bank.
    pub fn open_row(&self, bank: usize) -> Option<u32> {
        self.banks[bank].row
    }

    /// Returns true if any row is open.
    pub fn any_open(&self) -> bool {
        self.banks.iter().any(|bank| bank.row.is_some())
    }

    /// The first clock in which a command may be given.
    pub fn earliest(&self, command: DramCommand) -> u64 {
        let group = |bank: usize| &self.groups[bank / self.banks_in_group];
        let held = match command {
            DramCommand::Activate { bank, .. } => {
                let window = match self.activations.front() {
                    Some(&first) if self.activations.len() == 4 => first + self.timing.tFAW,
                    _ => 0,
                };
                [self.banks[bank].activate, group(bank).activate, self.any.activate, window]
            }
            DramCommand::Read { bank, .. } => [self.banks[bank].column, group(bank).read, self.any.read, 0],
            DramCommand::Write { bank, .. } => {
                [self.banks[bank].column, group(bank).write, self.any.write, 0]
            }
            DramCommand::Precharge { bank } => [self.banks[bank].precharge, self.precharge, 0, 0],
            DramCommand::PrechargeAll => {
                let banks = self.banks.iter().filter(|bank| bank.row.is_some());
                [banks.map(|bank| bank.precharge).max().unwrap_or(0), self.precharge, 0, 0]
            }
            DramCommand::Refresh => [self.refresh, 0, 0, 0],
        };
        held.into_iter().fold(self.bus, u64::max)
    }

    /// Gives a command in the clock `at`.
    pub fn give(&mut self, command: DramCommand, at: u64) {
        let Timing { tRP, tRPab, tRFC, tPPD, nACT, nCAS, nPRE, .. } = self.timing;
        let occupied = match command {
            DramCommand::Activate { bank, row } => {
                self.activate(bank, row, at);
                nACT
            }
            DramCommand::Read { bank, close } => {
                self.read(bank, at);
                self.banks[bank].close_if(close, tRP, &mut self.refresh);
                nCAS
            }
            DramCommand::Write { bank, close } => {
                self.write(bank, at);
                self.banks[bank].close_if(close, tRP, &mut self.refresh);
                nCAS
            }
            DramCommand::Precharge { bank } => {
                self.banks[bank].close(at, tRP, &mut self.refresh);
                self.precharge = at + tPPD;
                nPRE
            }
            DramCommand::PrechargeAll => {
                for bank in &mut self.banks {
                    bank.close(at, tRPab, &mut self.refresh);
                }
                self.precharge = at + tPPD;
                nPRE
            }
            DramCommand::Refresh => {
                let free = at + tRFC;
                self.any.activate = self.any.activate.max(free);
                self.refresh = free;
                nPRE
            }
        };
        self.bus = at + occupied;
    }

    fn activate(&mut self, bank: usize, row: u32, at: u64) {
        let Timing { tRCD, tRAS, tRP, tRRD_S, tRRD_L, .. } = self.timing;
        let of = &mut self.banks[bank];
        of.row = Some(row);
        of.column = at + tRCD;
        of.precharge = at + tRAS;
        // tRC, which is tRAS and tRP.
        of.activate = at + tRAS + tRP;
        let group = &mut self.groups[bank / self.banks_in_group];
        group.activate = at + tRRD_L;
        self.any.activate = self.any.activate.max(at + tRRD_S);
        if self.activations.len() == 4 {
            self.activations.pop_front();
        }
        self.activations.push_back(at);
    }

    fn read(&mut self, bank: usize, at: u64) {
        let Timing { tCCD_S, tCCD_L, tRTW, tRTP, .. } = self.timing;
        let of = &mut self.banks[bank];
        of.precharge = of.precharge.max(at + tRTP);
        let group = &mut self.groups[bank / self.banks_in_group];
        group.read = group.read.max(at + tCCD_L);
        self.any.read = self.any.read.max(at + tCCD_S);
        self.any.write = self.any.write.max(at + tRTW);
    }

    fn write(&mut self, bank: usize, at: u64) {
        let Timing { CWL, tDQSS, tBURST, tCCD_S, tCCD_L, tWTR_S, tWTR_L, tWR, .. } = self.timing;
        let end = at + CWL + tDQSS + tBURST;
        let of = &mut self.banks[bank];
        of.precharge = of.precharge.max(end + tWR);
        let group = &mut self.groups[bank / self.banks_in_group];
        group.write = group.write.max(at + tCCD_L);
        group.read = group.read.max(end + tWTR_L);
        self.any.write = self.any.write.max(at + tCCD_S);
        self.any.read = self.any.read.max(end + tWTR_S);
    }
}

impl Bank {
    fn close(&mut self, at: u64, recovery: u64, refresh: &mut u64) {
        if self.row.take().is_some() {
            self.activate = self.activate.max(at + recovery);
            *refresh = (*refresh).max(at + recovery);
        }
    }

    /// A column command with auto-precharge closes the row as soon as it may be.
    fn close_if(&mut self, close: bool, recovery: u64, refresh: &mut u64) {
        if close {
            self.close(self.precharge, recovery, refresh);
        }
    }
}

impl Banks {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Banks { timing: _, banks_in_group: _, banks, groups, any, precharge, refresh, bus, activations } =
            self;
        at.fixed(banks)?;
        at.fixed(groups)?;
        at.value(any)?;
        at.value(precharge)?;
        at.value(refresh)?;
        at.value(bus)?;
        at.value(activations)
    }
}
