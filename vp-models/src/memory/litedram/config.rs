//! The figures of LiteDRAM's controller, by the names that its generator has for them.

use super::controller::Figures;
use serde::{Deserialize, Serialize};

/// LiteDRAM's controller and the DRAM behind it, in the controller's cycles, which are the platform's. The defaults are those of a DDR3-1600K
/// of 8 Gbit devices, 8 bits wide, at 200 MHz, with the PHY of 7-series FPGAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case, reason = "names of JEDEC")]
pub struct LiteDramConfig {
    /// Clocks of the DRAM in a cycle: 2 to 8. A burst of the DRAM is twice as long, and a beat of AXI.
    pub nphases: u32,
    /// Bits of an address that select a bank.
    pub bankbits: u32,
    /// Bits of an address that select a column.
    pub colbits: u32,
    /// Write latency, in clocks of the DRAM.
    pub cwl: u32,
    /// Cycles at the PHY from a read command to its data.
    pub read_latency: u32,
    /// Cycles at the PHY from a write command to its data.
    pub write_latency: u32,
    /// Cycles of a precharge.
    pub tRP: u32,
    /// Cycles from an activation to a column command.
    pub tRCD: u32,
    /// Cycles of write recovery.
    pub tWR: u32,
    /// Cycles from a write's data to a read.
    pub tWTR: u32,
    /// Cycles from refresh to refresh.
    pub tREFI: u32,
    /// Cycles of a refresh.
    pub tRFC: u32,
    /// Cycles of the window of four activations.
    pub tFAW: u32,
    /// Cycles from a column command to the next.
    pub tCCD: u32,
    /// Cycles from an activation to that of another bank.
    pub tRRD: u32,
    /// Cycles from an activation to the next of the bank.
    pub tRC: u32,
    /// Cycles from an activation to the bank's precharge.
    pub tRAS: u32,
    /// Commands that wait for each bank.
    pub cmd_buffer_depth: u32,
    /// Cycles for which reads go on while writes wait; 0: as long as there are any.
    pub read_time: u32,
    /// Cycles for which writes go on while reads wait; 0: as long as there are any.
    pub write_time: u32,
    /// True if the last access to a row, before one to another that waits, closes it.
    pub with_auto_precharge: bool,
    /// True if the DRAM is refreshed.
    pub with_refresh: bool,
}

impl Default for LiteDramConfig {
    fn default() -> LiteDramConfig {
        LiteDramConfig {
            nphases: 4,
            bankbits: 3,
            colbits: 11,
            cwl: 8,
            read_latency: 9,
            write_latency: 1,
            tRP: 4,
            tRCD: 4,
            tWR: 4,
            tWTR: 3,
            tREFI: 1560,
            tRFC: 71,
            tFAW: 9,
            tCCD: 1,
            tRRD: 3,
            tRC: 11,
            tRAS: 8,
            cmd_buffer_depth: 8,
            read_time: 32,
            write_time: 16,
            with_auto_precharge: true,
            with_refresh: true,
        }
    }
}

/// A figure's name, its value, and a description of the right ones.
pub(crate) type Wrong = (&'static str, u32, &'static str);

impl LiteDramConfig {
    /// Refuses what cannot be built.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        let column = self.nphases.checked_ilog2().map_or(0, |bits| bits + 2);
        let phases = self.nphases.is_power_of_two() && (2..=8).contains(&self.nphases);
        // LiteDRAM's own limit.
        let refi = (100..=1 << 20).contains(&self.tREFI);
        let figures = [
            ("nphases", self.nphases, phases, "2, 4 or 8"),
            ("bankbits", self.bankbits, (1..=6).contains(&self.bankbits), "from 1 to 6 bits"),
            (
                "colbits",
                self.colbits,
                (column..=16).contains(&self.colbits),
                "more than of a burst, at most 16 bits",
            ),
            ("tREFI", self.tREFI, refi, "from 100 to 1048576 cycles"),
            (
                "cmd_buffer_depth",
                self.cmd_buffer_depth,
                (2..=256).contains(&self.cmd_buffer_depth),
                "from 2 to 256",
            ),
        ];
        if let Some(&(name, value, _, right)) = figures.iter().find(|(_, _, is_right, _)| !is_right) {
            return Err((name, value, right));
        }
        let times = [
            ("cwl", self.cwl),
            ("read_latency", self.read_latency),
            ("write_latency", self.write_latency),
            ("tRP", self.tRP),
            ("tRCD", self.tRCD),
            ("tWR", self.tWR),
            ("tWTR", self.tWTR),
            ("tRFC", self.tRFC),
            ("tFAW", self.tFAW),
            ("tCCD", self.tCCD),
            ("tRRD", self.tRRD),
            ("tRC", self.tRC),
            ("tRAS", self.tRAS),
        ];
        let wrong = times.into_iter().find(|(name, value)| {
            let least = u32::from(*name != "write_latency");
            !(least..=10_000).contains(value)
        });
        wrong.map_or(Ok(()), |(name, value)| Err((name, value, "from 1 to 10000 cycles")))
    }

    #[allow(non_snake_case, reason = "names of JEDEC")]
    pub(super) fn figures(&self) -> Figures {
        let LiteDramConfig { tRP, tRCD, tWR, tWTR, tREFI, tRFC, tFAW, tCCD, tRRD, tRC, tRAS, .. } = *self;
        let LiteDramConfig { read_latency, write_latency, read_time, write_time, .. } = *self;
        Figures {
            banks: 1 << self.bankbits,
            column_bits: self.colbits - (2 * self.nphases).ilog2(),
            tRP,
            tRCD,
            tWR,
            tWTR,
            tREFI,
            tRFC,
            tFAW,
            tCCD,
            tRRD,
            tRC,
            tRAS,
            CWL: self.cwl.div_ceil(self.nphases),
            read_latency,
            write_latency,
            lookahead: self.cmd_buffer_depth as usize,
            read_time,
            write_time,
            auto_precharge: self.with_auto_precharge,
            refresh: self.with_refresh,
            // Of its AXI ports, which have no parameter for it.
            read_buffer: 16,
            write_buffer: 16,
        }
    }
}
