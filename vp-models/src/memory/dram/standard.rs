//! The timing of DDR4 and LPDDR4 by speed grade, as JEDEC gives it: JESD79-4 (DDR4) and JESD209-4 (LPDDR4).
//!
//! The figures are as the standards write them, in nanoseconds with a minimum in clocks. They become clocks by
//! DDR4's rounding rule (JESD79-4, "Rounding algorithms": an excess of less than 2.6 % over a whole clock does
//! not count).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A speed grade, with the device and channel that it is commonly found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Standard {
    /// DDR4-1600K, 11-11-11.
    Ddr4_1600K,
    /// DDR4-2400R, 16-16-16.
    Ddr4_2400R,
    /// DDR4-3200AA, 22-22-22.
    Ddr4_3200AA,
    /// LPDDR4-1600.
    Lpddr4_1600,
    /// LPDDR4-3200.
    Lpddr4_3200,
    /// LPDDR4-4266.
    Lpddr4_4266,
}

impl Standard {
    /// All that are known.
    pub const ALL: [Standard; 6] = [
        Standard::Ddr4_1600K,
        Standard::Ddr4_2400R,
        Standard::Ddr4_3200AA,
        Standard::Lpddr4_1600,
        Standard::Lpddr4_3200,
        Standard::Lpddr4_4266,
    ];

    /// Returns the standard's name, such as `DDR4-2400R`.
    pub const fn name(self) -> &'static str {
        match self {
            Standard::Ddr4_1600K => "DDR4-1600K",
            Standard::Ddr4_2400R => "DDR4-2400R",
            Standard::Ddr4_3200AA => "DDR4-3200AA",
            Standard::Lpddr4_1600 => "LPDDR4-1600",
            Standard::Lpddr4_3200 => "LPDDR4-3200",
            Standard::Lpddr4_4266 => "LPDDR4-4266",
        }
    }

    /// Returns the organisation of a channel of it.
    pub const fn organisation(self) -> Organisation {
        match self {
            // Eight devices of 8 Gbit, 8 bits wide: 4 groups of 4 banks, 65536 rows of 1024 columns (JESD79-4, "8 Gb
            // addressing").
            Standard::Ddr4_1600K | Standard::Ddr4_2400R | Standard::Ddr4_3200AA => Organisation {
                channels: 1,
                data_bits: 64,
                groups: 4,
                banks: 4,
                rows: 65_536,
                columns: 1024,
                burst_length: 8,
            },
            // Both channels of a die of 16 Gbit, 16 bits wide: 8 banks, 65536 rows of 1024 columns each (JESD209-4,
            // "16 Gb, x16 mode").
            Standard::Lpddr4_1600 | Standard::Lpddr4_3200 | Standard::Lpddr4_4266 => Organisation {
                channels: 2,
                data_bits: 16,
                groups: 1,
                banks: 8,
                rows: 65_536,
                columns: 1024,
                burst_length: 16,
            },
        }
    }

    /// Returns the standard's timing.
    pub fn timing(self) -> Timing {
        match self {
            Standard::Ddr4_1600K => ddr4(&Ddr4 {
                tck: 1250,
                cl: 11,
                cwl: 9,
                rcd: 13_750,
                ras: 35_000,
                rrd_s: 5_000,
                rrd_l: 6_000,
                faw: 25_000,
                ccd_l: 6_250,
            }),
            Standard::Ddr4_2400R => ddr4(&Ddr4 {
                tck: 833,
                cl: 16,
                cwl: 12,
                rcd: 13_320,
                ras: 32_000,
                rrd_s: 3_300,
                rrd_l: 4_900,
                faw: 21_000,
                ccd_l: 5_000,
            }),
            Standard::Ddr4_3200AA => ddr4(&Ddr4 {
                tck: 625,
                cl: 22,
                cwl: 16,
                rcd: 13_750,
                ras: 32_000,
                rrd_s: 2_500,
                rrd_l: 4_900,
                faw: 21_000,
                ccd_l: 5_000,
            }),
            Standard::Lpddr4_1600 => lpddr4(&Lpddr4 { tck: 1250, rl: 14, wl: 8, rrd: 10_000, faw: 40_000 }),
            Standard::Lpddr4_3200 => lpddr4(&Lpddr4 { tck: 625, rl: 28, wl: 14, rrd: 10_000, faw: 40_000 }),
            Standard::Lpddr4_4266 => lpddr4(&Lpddr4 { tck: 469, rl: 36, wl: 18, rrd: 7_500, faw: 30_000 }),
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no speed grade's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no DRAM `{0}`: there are {names}; for a grade of your own name one of these, and each figure of yours that differs from its: \
     dbb0.dram.timing.tRCD, dbb0.dram.banks and so on (docs/memory.md, \"A grade of your own\")",
    names = Standard::ALL.map(Standard::name).join(", ")
)]
pub struct UnknownStandard(String);

impl FromStr for Standard {
    type Err = UnknownStandard;

    fn from_str(name: &str) -> Result<Standard, UnknownStandard> {
        let found = Standard::ALL.into_iter().find(|standard| standard.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| UnknownStandard(name.to_owned()))
    }
}

impl From<Standard> for String {
    fn from(standard: Standard) -> String {
        standard.name().to_owned()
    }
}

impl TryFrom<String> for Standard {
    type Error = UnknownStandard;

    fn try_from(name: String) -> Result<Standard, UnknownStandard> {
        name.parse()
    }
}

/// Organisation of a DRAM: the number of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Organisation {
    /// Channels.
    pub channels: u32,
    /// Width of a channel's data bus.
    pub data_bits: u32,
    /// Groups of banks in a channel.
    pub groups: u32,
    /// Banks in a group.
    pub banks: u32,
    /// Rows in a bank.
    pub rows: u32,
    /// Columns in a row, each as wide as the data bus.
    pub columns: u32,
    /// Columns that one command transfers.
    pub burst_length: u32,
}

impl Organisation {
    /// Bytes that one command transfers.
    pub const fn burst_bytes(&self) -> u32 {
        self.data_bits / 8 * self.burst_length
    }

    /// Bytes of all channels.
    pub const fn bytes(&self) -> u64 {
        let row = self.columns as u64 * (self.data_bits / 8) as u64;
        row * self.rows as u64 * self.banks as u64 * self.groups as u64 * self.channels as u64
    }
}

/// The timing of a channel, in clocks of the command bus but for `tck`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(non_snake_case, reason = "the names of the standards")]
pub struct Timing {
    /// A clock, in picoseconds.
    pub tCK: u64,
    /// Read command to data (CL, RL).
    pub CL: u64,
    /// Write command to data (CWL, WL).
    pub CWL: u64,
    /// Delay of the data of a read after CL (LPDDR4: tDQSCK).
    pub tDQSCK: u64,
    /// Delay of the data of a write after CWL (LPDDR4: tDQSS).
    pub tDQSS: u64,
    /// Clocks that a burst is on the data bus.
    pub tBURST: u64,
    /// ACT to read or write.
    pub tRCD: u64,
    /// PRE to ACT.
    pub tRP: u64,
    /// PRE of all banks to ACT or REF.
    pub tRPab: u64,
    /// ACT to PRE.
    pub tRAS: u64,
    /// ACT to ACT, banks of different groups.
    pub tRRD_S: u64,
    /// ACT to ACT, banks of one group.
    pub tRRD_L: u64,
    /// A window that holds four ACTs at most.
    pub tFAW: u64,
    /// Read to read, write to write: different groups.
    pub tCCD_S: u64,
    /// Read to read, write to write: one group.
    pub tCCD_L: u64,
    /// End of write data to read: different groups.
    pub tWTR_S: u64,
    /// End of write data to read: one group.
    pub tWTR_L: u64,
    /// Read to write command.
    pub tRTW: u64,
    /// Read to PRE.
    pub tRTP: u64,
    /// End of write data to PRE.
    pub tWR: u64,
    /// PRE to PRE of another bank.
    pub tPPD: u64,
    /// REF to ACT or REF.
    pub tRFC: u64,
    /// REF to the next REF, on average.
    pub tREFI: u64,
    /// Clocks for which ACT occupies the command bus.
    pub nACT: u64,
    /// Clocks for which a read or write does.
    pub nCAS: u64,
    /// Clocks for which PRE and REF do.
    pub nPRE: u64,
}

/// Whole clocks in a time, by the standard's rounding rule.
const fn clocks(picoseconds: u64, tck: u64) -> u64 {
    (picoseconds * 1000 / tck + 974) / 1000
}

const fn at_least(floor: u64, clocks: u64) -> u64 {
    if clocks > floor { clocks } else { floor }
}

/// Figures in which DDR4's grades differ, for a page of 1 KiB (devices 8 bits wide): picoseconds but for CL and CWL.
struct Ddr4 {
    tck: u64,
    cl: u64,
    /// The first of the two write latencies of the grade, for a preamble of one clock.
    cwl: u64,
    /// tRCD and tRP.
    rcd: u64,
    ras: u64,
    rrd_s: u64,
    rrd_l: u64,
    faw: u64,
    ccd_l: u64,
}

/// JESD79-4, "Timing parameters by speed bin" and "Refresh parameters by device density" (8 Gb, up to 85 °C).
fn ddr4(grade: &Ddr4) -> Timing {
    let &Ddr4 { tck, cl, cwl, rcd, ras, rrd_s, rrd_l, faw, ccd_l } = grade;
    let nck = |picoseconds| clocks(picoseconds, tck);
    let burst = 4;
    Timing {
        tCK: tck,
        CL: cl,
        CWL: cwl,
        tDQSCK: 0,
        tDQSS: 0,
        tBURST: burst,
        tRCD: nck(rcd),
        tRP: nck(rcd),
        // DDR4 knows one tRP.
        tRPab: nck(rcd),
        tRAS: nck(ras),
        tRRD_S: at_least(4, nck(rrd_s)),
        tRRD_L: at_least(4, nck(rrd_l)),
        tFAW: at_least(20, nck(faw)),
        tCCD_S: 4,
        tCCD_L: at_least(5, nck(ccd_l)),
        tWTR_S: at_least(2, nck(2_500)),
        tWTR_L: at_least(4, nck(7_500)),
        // "Read to write": CL - CWL + BL/2 + 1 and the preamble of a clock.
        tRTW: cl - cwl + burst + 2,
        tRTP: at_least(4, nck(7_500)),
        tWR: nck(15_000),
        tPPD: 1,
        tRFC: nck(350_000),
        tREFI: 7_800_000 / tck,
        nACT: 1,
        nCAS: 1,
        nPRE: 1,
    }
}

/// Figures in which LPDDR4's grades differ, 16 bits wide, without DBI: picoseconds but for the latencies.
struct Lpddr4 {
    tck: u64,
    rl: u64,
    /// Write latency, set A.
    wl: u64,
    rrd: u64,
    faw: u64,
}

/// JESD209-4, "Core timing", "Read and write latencies", "Refresh requirements" (8 Gb a channel, up to 85 °C). Each
/// command takes two clocks a half; ACT and the column commands have two halves ("Command truth table").
fn lpddr4(grade: &Lpddr4) -> Timing {
    let &Lpddr4 { tck, rl, wl, rrd, faw } = grade;
    let nck = |picoseconds| clocks(picoseconds, tck);
    let burst = 8;
    let dqsck = nck(3_500);
    let rrd = at_least(4, nck(rrd));
    let wtr = at_least(8, nck(10_000));
    Timing {
        tCK: tck,
        CL: rl,
        CWL: wl,
        // The latest.
        tDQSCK: dqsck,
        tDQSS: 1,
        tBURST: burst,
        tRCD: at_least(4, nck(18_000)),
        tRP: at_least(4, nck(18_000)),
        tRPab: at_least(4, nck(21_000)),
        tRAS: at_least(3, nck(42_000)),
        tRRD_S: rrd,
        tRRD_L: rrd,
        tFAW: nck(faw),
        tCCD_S: 8,
        tCCD_L: 8,
        tWTR_S: wtr,
        tWTR_L: wtr,
        // "Read to write": RL + tDQSCK + BL/2 - WL, and the preamble of two clocks.
        tRTW: rl + dqsck + burst - wl + 2,
        // BL/2 + tRTP - 8.
        tRTP: burst + at_least(8, nck(7_500)) - 8,
        tWR: at_least(6, nck(18_000)),
        tPPD: 4,
        tRFC: nck(280_000),
        tREFI: 3_904_000 / tck,
        nACT: 4,
        nCAS: 4,
        nPRE: 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the standards in clocks, where they give them, or the quotients by hand.
    #[test]
    fn figures_in_clocks_are_those_of_the_standards() {
        let ddr4 = Standard::Ddr4_2400R.timing();
        // 13.32, 32, 3.3, 4.9, 21, 5, 2.5, 7.5, 7.5, 15 and 350 ns at 0.833 ns.
        let figures = [
            ddr4.tRCD,
            ddr4.tRAS,
            ddr4.tRRD_S,
            ddr4.tRRD_L,
            ddr4.tFAW,
            ddr4.tCCD_L,
            ddr4.tWTR_S,
            ddr4.tWTR_L,
            ddr4.tRTP,
            ddr4.tWR,
            ddr4.tRFC,
        ];
        assert_eq!(figures, [16, 39, 4, 6, 26, 6, 3, 9, 9, 18, 421]);
        let ddr4 = Standard::Ddr4_3200AA.timing();
        assert_eq!(
            [ddr4.tRCD, ddr4.tRAS, ddr4.tRRD_L, ddr4.tFAW, ddr4.tCCD_L, ddr4.tREFI],
            [22, 52, 8, 34, 8, 12_480]
        );
        let lpddr4 = Standard::Lpddr4_3200.timing();
        // 18, 21, 42, 10, 40, 10, 18 and 280 ns at 0.625 ns.
        let figures = [
            lpddr4.tRCD,
            lpddr4.tRPab,
            lpddr4.tRAS,
            lpddr4.tRRD_S,
            lpddr4.tFAW,
            lpddr4.tWTR_S,
            lpddr4.tWR,
            lpddr4.tRFC,
        ];
        assert_eq!(figures, [29, 34, 68, 16, 64, 16, 29, 448]);
    }

    #[test]
    fn a_channel_holds_what_its_devices_hold() {
        assert_eq!(Standard::Ddr4_2400R.organisation().bytes(), 8 << 30);
        assert_eq!(Standard::Lpddr4_3200.organisation().bytes(), 2 << 30);
        assert_eq!(Standard::Lpddr4_3200.organisation().burst_bytes(), 32);
    }

    #[test]
    fn an_unknown_grade_is_told_which_there_are() {
        let error = "DDR4-2400".parse::<Standard>().unwrap_err().to_string();
        assert!(error.starts_with("no DRAM `DDR4-2400`: there are DDR4-1600K, DDR4-2400R"), "{error}");
        assert!(error.contains("a grade of your own") && error.contains("dbb0.dram.timing.tRCD"), "{error}");
        for standard in Standard::ALL {
            assert_eq!(standard.name().to_lowercase().parse(), Ok(standard));
        }
    }
}
