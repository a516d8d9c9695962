//! Figures of a DRAM's timing, in clocks.

use serde::{Deserialize, Serialize};

macro_rules! figures {
    ($($(#[$text:meta])* $name:ident,)*) => {
        /// The timing of a channel in clocks, but for `tCK`. Names are those of the standards.
        ///
        /// A figure is a distance between two commands, from the last clock of the one to the last clock of the other where
        /// commands take several (JESD209-4, "the last rising edge of the clock that completes a command").
        #[expect(non_snake_case, reason = "names of the standards")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Timing {
            $($(#[$text])* pub $name: u64,)*
        }

        impl Timing {
            /// Names of all figures.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Builds it from its figures, or returns the name of one that is missing.
            pub(super) fn of(figure: impl Fn(&'static str) -> Option<u64>) -> Result<Timing, &'static str> {
                Ok(Timing { $($name: figure(stringify!($name)).ok_or(stringify!($name))?,)* })
            }
        }
    };
}

figures! {
    /// Period of the command clock, in picoseconds.
    tCK,
    /// Read latency: from the command to the first data (RL of LPDDR and GDDR).
    CL,
    /// Write latency (WL of LPDDR and GDDR).
    CWL,
    /// Delay of a read's data behind the read latency.
    tDQSCK,
    /// Delay of a write's data behind the write latency.
    tDQSS,
    /// Clocks for which a burst occupies the data bus.
    tBURST,
    /// ACT to read.
    tRCD,
    /// ACT to write.
    tRCDWR,
    /// PRE to ACT.
    tRP,
    /// PRE of all banks to ACT or REF.
    tRPab,
    /// ACT to PRE.
    tRAS,
    /// ACT to ACT of one bank.
    tRC,
    /// ACT to ACT, banks of different groups.
    tRRD_S,
    /// ACT to ACT, banks of one group.
    tRRD_L,
    /// Window that holds four ACTs of a rank at most.
    tFAW,
    /// Read to read, write to write: different groups.
    tCCD_S,
    /// Read to read: one group.
    tCCD_L,
    /// Write to write: one group.
    tCCD_L_WR,
    /// End of write data to read: different groups.
    tWTR_S,
    /// End of write data to read: one group.
    tWTR_L,
    /// Read to write command: different groups.
    tRTW,
    /// Read to write command: one group.
    tRTW_L,
    /// Read to PRE.
    tRTP,
    /// End of write data to PRE.
    tWR,
    /// PRE to PRE of another bank.
    tPPD,
    /// Clocks of the data bus between bursts of two ranks.
    tRTRS,
    /// REF to ACT or REF.
    tRFC,
    /// REF to the next REF of a rank, on average.
    tREFI,
    /// Refresh of a bank to ACT of that bank.
    tRFCpb,
    /// Refresh of a bank to ACT of another bank.
    tpbR2act,
    /// Refresh of a bank to refresh of another bank.
    tpbR2pbR,
    /// Shortest power-down.
    tCKE,
    /// End of power-down to a command.
    tXP,
    /// Shortest self refresh.
    tCKESR,
    /// End of self refresh to a command.
    tXS,
    /// End of self refresh to a read or write, which wait for the DLL.
    tXSDLL,
    /// Command to the entry of power-down.
    tCMDCKE,
    /// Clocks for which WCK runs on behind a burst (LPDDR5); 0 if it always runs.
    tWCKPST,
    /// Clocks for which ACT occupies the command bus.
    nACT,
    /// Clocks for which a read or write does.
    nCAS,
    /// Clocks for which PRE does.
    nPRE,
    /// Clocks for which REF and the commands of self refresh do.
    nREF,
}

/// A contradiction between two figures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("timing.{name} = {value}: it is at least {rule} = {least}")]
pub struct Contradiction {
    /// Figure that is too small.
    pub name: &'static str,
    /// Value of the figure, in clocks.
    pub value: u64,
    /// Description of the least that it can be.
    pub rule: &'static str,
    /// The least that it can be, in clocks.
    pub least: u64,
}

impl Timing {
    /// Refuses figures that contradict each other, or would stop the memory.
    pub(super) fn check(&self) -> Result<(), Contradiction> {
        let rules = [
            ("tCK", self.tCK, "a picosecond", 1),
            ("tBURST", self.tBURST, "a clock", 1),
            ("tCCD_S", self.tCCD_S, "tBURST", self.tBURST),
            ("tCCD_L", self.tCCD_L, "tCCD_S", self.tCCD_S),
            ("tCCD_L_WR", self.tCCD_L_WR, "tCCD_S", self.tCCD_S),
            // Less by a clock is what rounding each of the three may do.
            ("tRC", self.tRC, "tRAS + tRP - 1", (self.tRAS + self.tRP).saturating_sub(1)),
            ("tRAS", self.tRAS, "tRCD", self.tRCD),
            ("tRPab", self.tRPab, "tRP", self.tRP),
            ("tRRD_L", self.tRRD_L, "tRRD_S", self.tRRD_S),
            ("tFAW", self.tFAW, "tRRD_S", self.tRRD_S),
            ("tRTW_L", self.tRTW_L, "tRTW", self.tRTW),
            ("tWTR_L", self.tWTR_L, "tWTR_S", self.tWTR_S),
            ("tRFC", self.tRFC, "tRFCpb", self.tRFCpb),
            ("tREFI", self.tREFI, "tRFC + tRPab + 2 tRC", self.tRFC + self.tRPab + 2 * self.tRC),
            ("tXS", self.tXS, "tRFC", self.tRFC),
            ("tXSDLL", self.tXSDLL, "tXS", self.tXS),
            ("nACT", self.nACT, "a clock", 1),
            ("nCAS", self.nCAS, "a clock", 1),
            ("nPRE", self.nPRE, "a clock", 1),
            ("nREF", self.nREF, "a clock", 1),
        ];
        match rules.into_iter().find(|(_, value, _, least)| value < least) {
            Some((name, value, rule, least)) => Err(Contradiction { name, value, rule, least }),
            None => Ok(()),
        }
    }
}
