//! DDR5: JESD79-5, devices of 16 Gb that are 8 bits wide (page of 1 KiB), up to 85 °C, BL16, writes of whole bursts.

use crate::dram_legality::rules::{BankRefresh, Core, READS, Rules, WRITES};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, lengths,
};
use vp_models::memory::dram::CommandKind::{Activate, PowerDownExit, SelfRefreshExit};

pub(super) const GRADES: &[&str] = &["DDR5-4800B", "DDR5-5600B", "DDR5-6400B"];

/// With refresh bank by bank the device is in the mode of fine granularity (FGR, MR4), for REFsb.
pub(super) fn sheet(grade: &str, fine: bool) -> Option<Sheet> {
    // tCK, CL, tFAW of a page of 1 KiB, tDLLK.
    let (name, tck, cl, faw, dll) = match grade {
        "DDR5-4800B" => (GRADES[0], 416, 40, 13.333, 1536),
        "DDR5-5600B" => (GRADES[1], 357, 46, 11.428, 1792),
        "DDR5-6400B" => (GRADES[2], 312, 52, 10.0, 2048),
        _ => return None,
    };
    let clock = Clock { tck, rounding: Rounding::Ddr5 };
    let (cwl, burst) = (cl - 2, 8);
    // Speed bins B: tAA, tRCD and tRP of 16 ns.
    let (rcd, ras) = (clock.ns(16.0), clock.ns(32.0));
    let same_group = clock.most(8, 5.0);
    let write = cwl + burst;
    let wr = clock.most(48, 30.0);
    let rtp = clock.most(12, 7.5);
    let xp = clock.most(8, 7.5);
    // tCCD_RTW: CL - CWL + RBL/2 + 2 - offset of the read strobe + (tRPST - 0.5) + tWPRE. Which offset, is a setting:
    // 14 or 15 clocks, of which the weaker is checked.
    let read_write = cl - cwl + burst + 2 - 1 + 1 + 2;
    let rfc = clock.ns(if fine { 160.0 } else { 295.0 });
    let rfc_bank = clock.ns(130.0);
    let core = Core {
        rcd_read: rcd,
        rcd_write: rcd,
        rp: rcd,
        rp_all: rcd,
        ras,
        rc: ras + rcd,
        rrd: (8, same_group),
        read_read: (8, same_group),
        // tCCD_L_WR2. Writes that need a read first (tCCD_L_WR) cannot be told from a log.
        write_write: (8, clock.most(16, 10.0)),
        read_write: (read_write, read_write),
        write_read: (write + clock.most(4, 2.5), write + clock.most(16, 10.0)),
        read_precharge: rtp,
        write_precharge: write + wr,
        // tCCD_WTRA.
        write_read_precharge: Some(write + wr - rtp),
        ppd: Some(2),
        rfc,
        // REFsb: the same for all that follow but ACT of banks that are not refreshed (tREFSBRD).
        bank_refresh: Some(BankRefresh {
            rfc: rfc_bank,
            refresh_refresh: rfc_bank,
            refresh_activate: (clock.ns(30.0), clock.ns(30.0)),
            activate_refresh: (0, 0),
        }),
        // Not before the data are through.
        read_power_down: cl + burst,
        write_power_down: write + wr,
        write_precharge_power_down: write + wr,
        other_power_down: 1,
        power_down: xp,
        power_up: 1,
        xp,
        xp_to_edge: false,
        self_refresh: clock.ns(10.0),
        xs: rfc,
        xs_dll: dll,
    };
    // Commands of two clocks: ACT, RD and WR. The exits are by CS_n, with NOP.
    let two: &[_] = &[Activate, READS[0], READS[1], WRITES[0], WRITES[1]];
    let mut rules = Rules::new(lengths(1, &[(two, 2), (&[PowerDownExit, SelfRefreshExit], 1)]));
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: 8,
        banks: 4,
        rows: 1 << 16,
        bursts: 1024 / 16,
        rules,
        four_activates: clock.most(32, faw),
        refresh_is_activate: false,
        buses: Buses::One,
        data: Data { read: cl, write: cwl, clocks: burst, of_each: false },
        // 4 may be postponed in the normal mode, 8 in that of fine granularity.
        refresh: RefreshRule {
            interval: if fine { 1_950_000 } else { 3_900_000 },
            postponed: if fine { 8 } else { 4 },
            within_two: None,
            set: RefreshSet::OfEachGroup,
            round: 4,
            // tRAS max: 5 tREFI1.
            open: Some(if fine { 10 } else { 5 }),
        },
        power_of: PowerOf::Rank,
        wck: None,
    })
}
