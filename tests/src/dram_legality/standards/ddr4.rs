//! DDR4: JESD79-4, devices of 8 Gb that are 8 bits wide (page of 1 KiB), up to 85 °C, preambles of one clock.

use crate::dram_legality::rules::{Core, Rules};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, lengths,
};
use vp_models::memory::dram::CommandKind::{PowerDownEntry, PowerDownExit, SelfRefreshExit};

pub(super) const GRADES: &[&str] = &["DDR4-1600K", "DDR4-2400R", "DDR4-3200AA"];

/// Figures that the speed bins and "Timing parameters by speed bin" have in columns of their own.
struct Column {
    tck: u64,
    /// CL and CWL, in clocks.
    latencies: (u64, u64),
    /// tRCD and tRP.
    rcd: f64,
    ras: f64,
    /// tRRD_S and tRRD_L, page of 1 KiB.
    rrd: (f64, f64),
    faw: f64,
    /// tCCD_L.
    ccd: f64,
    /// tDLLK, in clocks.
    dll: u64,
}

pub(super) fn sheet(grade: &str) -> Option<Sheet> {
    let (name, column) = match grade {
        "DDR4-1600K" => (
            GRADES[0],
            Column {
                tck: 1250,
                latencies: (11, 9),
                rcd: 13.75,
                ras: 35.0,
                rrd: (5.0, 6.0),
                faw: 25.0,
                ccd: 6.25,
                dll: 597,
            },
        ),
        "DDR4-2400R" => (
            GRADES[1],
            Column {
                tck: 833,
                latencies: (16, 12),
                rcd: 13.32,
                ras: 32.0,
                rrd: (3.3, 4.9),
                faw: 21.0,
                ccd: 5.0,
                dll: 768,
            },
        ),
        "DDR4-3200AA" => (
            GRADES[2],
            Column {
                tck: 625,
                latencies: (22, 16),
                rcd: 13.75,
                ras: 32.0,
                rrd: (2.5, 4.9),
                faw: 21.0,
                ccd: 5.0,
                dll: 1024,
            },
        ),
        _ => return None,
    };
    let clock = Clock { tck: column.tck, rounding: Rounding::Ddr4 };
    let ((cl, cwl), burst) = (column.latencies, 4);
    let rcd = clock.ns(column.rcd);
    let (ras, rp) = (clock.ns(column.ras), rcd);
    let (ccd_s, ccd_l) = (4, clock.most(5, column.ccd));
    let wr = clock.ns(15.0);
    let rtp = clock.most(4, 7.5);
    let wtr = (clock.most(2, 2.5), clock.most(4, 7.5));
    let cke = clock.most(3, 5.0);
    // "READ to WRITE": RL + BL/2 - WL + 1, with a preamble of one more.
    let read_write = cl + burst - cwl + 2;
    let core = Core {
        rcd_read: rcd,
        rcd_write: rcd,
        rp,
        rp_all: rp,
        ras,
        rc: ras + rp,
        rrd: (clock.most(4, column.rrd.0), clock.most(4, column.rrd.1)),
        read_read: (ccd_s, ccd_l),
        write_write: (ccd_s, ccd_l),
        read_write: (read_write, read_write),
        write_read: (cwl + burst + wtr.0, cwl + burst + wtr.1),
        read_precharge: rtp,
        write_precharge: cwl + burst + wr,
        write_read_precharge: None,
        ppd: None,
        rfc: clock.ns(350.0),
        bank_refresh: None,
        // tRDPDEN, tWRPDEN, tWRAPDEN.
        read_power_down: cl + burst + 1,
        write_power_down: cwl + burst + wr,
        write_precharge_power_down: cwl + burst + wr + 1,
        // tACTPDEN, tPRPDEN, tREFPDEN. From 2666 Mb/s on 2 in some revisions, which is not checked.
        other_power_down: 1,
        power_down: cke,
        power_up: cke,
        xp: clock.most(4, 6.0),
        xp_to_edge: false,
        self_refresh: cke + 1,
        xs: clock.ns(350.0 + 10.0),
        xs_dll: column.dll,
    };
    // CKE is a line of its own: what it alone says takes no clock of the command bus.
    let mut rules = Rules::new(lengths(1, &[(&[PowerDownEntry, PowerDownExit, SelfRefreshExit], 0)]));
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: 4,
        banks: 4,
        rows: 1 << 16,
        bursts: 1024 / 8,
        rules,
        four_activates: clock.most(20, column.faw),
        refresh_is_activate: false,
        buses: Buses::One,
        data: Data { read: cl, write: cwl, clocks: burst, of_each: false },
        // "Refresh command": 8 postponed or pulled in, and never more than 16 within two intervals.
        refresh: RefreshRule {
            interval: 7_800_000,
            postponed: 8,
            within_two: Some(16),
            set: RefreshSet::One,
            round: 1,
            open: Some(9),
        },
        power_of: PowerOf::Rank,
        wck: None,
    })
}
