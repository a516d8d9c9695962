//! A standard's table of one device, in clocks.

use super::rules::{KINDS, Rules};
use vp_models::memory::dram::CommandKind;

/// The way in which a standard makes clocks of a time.
#[derive(Debug, Clone, Copy)]
pub enum Rounding {
    /// JESD79-4, "Rounding algorithms": up, less 2.5 % of a clock, by a tCK in whole picoseconds.
    Ddr4,
    /// JESD79-5, "Rounding definitions and algorithms": 0.3 % less, then up, by a tCK in whole picoseconds.
    Ddr5,
    /// Up, by the clock of a data rate in Mb/s with so many bits a clock.
    Up {
        /// Mb/s of a data line.
        rate: u64,
        /// Bits of a data line a clock.
        bits: u64,
    },
}

/// A clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// tCK in the whole picoseconds of the table.
    pub tck: u64,
    /// Rule for times.
    pub rounding: Rounding,
}

impl Clock {
    /// Clocks of a least time.
    pub fn ns(self, ns: f64) -> u64 {
        let ps = (ns * 1000.0).round() as u64;
        match self.rounding {
            Rounding::Ddr4 => (ps * 1000 / self.tck + 974) / 1000,
            Rounding::Ddr5 => (ps * 997 / self.tck + 1000) / 1000,
            Rounding::Up { rate, bits } => (ps * rate).div_ceil(bits * 1_000_000),
        }
    }

    /// The greater of a number of clocks (nCK) and a time.
    pub fn most(self, clocks: u64, ns: f64) -> u64 {
        clocks.max(self.ns(ns))
    }
}

/// The part of a channel that power-down and self refresh are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerOf {
    /// A rank.
    Rank,
    /// The channel, with all its pseudo channels.
    Channel,
}

/// The command buses of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buses {
    /// One for all commands.
    One,
    /// One for reads and writes, and one for all others (HBM).
    RowAndColumn,
}

/// Place of the data, in clocks from the edge of its command.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    /// First clock of read data.
    pub read: u64,
    /// First clock of write data.
    pub write: u64,
    /// Clocks of a burst.
    pub clocks: u64,
    /// True where each pseudo channel has a bus of its own; ranks share theirs.
    pub of_each: bool,
}

/// Banks that one REFpb refreshes, of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshSet {
    /// The bank.
    One,
    /// The bank and the one so many behind it.
    Pair(u32),
    /// The bank of that number in each group.
    OfEachGroup,
}

/// Refresh, in the terms of a standard.
#[derive(Debug, Clone, Copy)]
pub struct RefreshRule {
    /// tREFI in picoseconds.
    pub interval: u64,
    /// Refreshes of all banks that may be postponed, and those that may be given ahead.
    pub postponed: u64,
    /// Refreshes within two intervals, at most.
    pub within_two: Option<u64>,
    /// Banks of a REFpb.
    pub set: RefreshSet,
    /// REFpb of a round, which together are one refresh of all banks.
    pub round: u64,
    /// Longest time for which a row may be open (tRAS max), in intervals.
    pub open: Option<u64>,
}

/// WCK of LPDDR5.
#[derive(Debug, Clone, Copy)]
pub struct Wck {
    /// Clocks from a read for which WCK still runs.
    pub read: u64,
    /// Clocks from a write for which WCK still runs.
    pub write: u64,
}

/// A device: one row of a standard's tables, with the settings that it is used with.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// Name of the grade.
    pub name: &'static str,
    /// The clock.
    pub clock: Clock,
    /// Groups of banks of a rank.
    pub groups: u32,
    /// Banks of a group.
    pub banks: u32,
    /// Rows of a bank.
    pub rows: u32,
    /// Bursts of a row.
    pub bursts: u32,
    /// Least distances between two commands.
    pub rules: Rules,
    /// tFAW.
    pub four_activates: u64,
    /// True where a REFpb counts as an ACT among the four.
    pub refresh_is_activate: bool,
    /// Command buses.
    pub buses: Buses,
    /// Data bus.
    pub data: Data,
    /// Refresh.
    pub refresh: RefreshRule,
    /// Part that enters power-down as one.
    pub power_of: PowerOf,
    /// WCK that has to be started.
    pub wck: Option<Wck>,
}

impl Sheet {
    /// Banks of a rank.
    pub fn rank_banks(&self) -> u32 {
        self.groups * self.banks
    }

    /// Banks of a REFpb, of a rank, as bits.
    pub fn refreshed(&self, bank: u32) -> u64 {
        match self.refresh.set {
            RefreshSet::One => 1 << bank,
            RefreshSet::Pair(apart) => 1 << (bank % apart) | 1 << (bank % apart + apart),
            RefreshSet::OfEachGroup => {
                (0..self.groups).map(|group| 1 << (group * self.banks + bank % self.banks)).sum()
            }
        }
    }

    /// Groups that have some of these banks, as bits.
    pub fn groups_of(&self, banks: u64) -> u64 {
        let of_group = |group: u32| ((1u64 << self.banks) - 1) << (group * self.banks);
        (0..self.groups).filter(|&group| banks & of_group(group) != 0).map(|group| 1 << group).sum()
    }
}

/// Lengths of the commands: `others` clocks but for some.
pub fn lengths(others: u64, some: &[(&[CommandKind], u64)]) -> [u64; KINDS] {
    let mut lengths = [others; KINDS];
    for (kinds, clocks) in some {
        for &kind in *kinds {
            lengths[kind as usize] = *clocks;
        }
    }
    lengths
}
