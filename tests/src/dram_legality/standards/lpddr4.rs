//! LPDDR4: JESD209-4, 8 Gb a channel of 16 bits, up to 85 °C, write latency set A, no DBI.

use crate::dram_legality::rules::{BankRefresh, Core, READS, Rules, WRITES};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, lengths,
};
use vp_models::memory::dram::CommandKind::{Activate, PowerDownEntry, PowerDownExit};

pub(super) const GRADES: &[&str] = &["LPDDR4-1600", "LPDDR4-3200", "LPDDR4-4266"];

pub(super) fn sheet(grade: &str) -> Option<Sheet> {
    // Mb/s, tCK, RL and WL, tRRD and tFAW.
    let (name, rate, tck, (rl, wl), (rrd, faw)) = match grade {
        "LPDDR4-1600" => (GRADES[0], 1600, 1250, (14, 8), (10.0, 40.0)),
        "LPDDR4-3200" => (GRADES[1], 3200, 625, (28, 14), (10.0, 40.0)),
        "LPDDR4-4266" => (GRADES[2], 4266, 469, (36, 18), (7.5, 30.0)),
        _ => return None,
    };
    let clock = Clock { tck, rounding: Rounding::Up { rate, bits: 2 } };
    let burst = 8;
    let (rcd, rp, rp_all) = (clock.most(4, 18.0), clock.most(4, 18.0), clock.most(4, 21.0));
    let ras = clock.most(3, 42.0);
    let rrd = clock.most(4, rrd);
    // The latest.
    let dqsck = clock.ns(3.5);
    // tDQSS of one clock.
    let write = wl + 1 + burst;
    let wr = clock.most(4, 18.0);
    let wtr = clock.most(8, 10.0);
    let (rfc, rfc_bank) = (clock.ns(280.0), clock.ns(140.0));
    let cke = clock.most(4, 7.5);
    // With tWPRE of two clocks. tRPST is rounded up in late revisions and down in early ones: here not a clock of it.
    let read_write = rl + dqsck + burst - wl + 2;
    let core = Core {
        rcd_read: rcd,
        rcd_write: rcd,
        rp,
        rp_all,
        ras,
        rc: ras + rp,
        rrd: (rrd, rrd),
        read_read: (8, 8),
        // Masked writes (tCCDMW) cannot be told from a log.
        write_write: (8, 8),
        read_write: (read_write, read_write),
        write_read: (write + wtr, write + wtr),
        // BL/2 + max(8 nCK, tRTP) - 8.
        read_precharge: burst + clock.most(8, 7.5) - 8,
        write_precharge: write + wr,
        write_read_precharge: None,
        ppd: Some(4),
        rfc,
        bank_refresh: Some(BankRefresh {
            rfc: rfc_bank,
            // tpbR2pbR of late revisions; early ones want tRFCpb.
            refresh_refresh: clock.ns(90.0),
            refresh_activate: (rrd, rrd),
            activate_refresh: (rrd, rrd),
        }),
        // Not before the data are through; tRPST and tDQS2DQ are left out.
        read_power_down: rl + dqsck + burst,
        write_power_down: write + wr,
        write_precharge_power_down: write + wr,
        // tCMDCKE.
        other_power_down: clock.most(3, 1.75),
        power_down: cke,
        power_up: cke,
        xp: clock.most(5, 7.5),
        xp_to_edge: false,
        self_refresh: clock.most(3, 15.0),
        xs: clock.ns(280.0 + 7.5),
        xs_dll: 0,
    };
    // Halves of commands take two clocks: ACT has two halves, and so have reads and writes with CAS-2. Power-down is by CKE.
    let four: &[_] = &[Activate, READS[0], READS[1], WRITES[0], WRITES[1]];
    let mut rules = Rules::new(lengths(2, &[(four, 4), (&[PowerDownEntry, PowerDownExit], 0)]));
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: 1,
        banks: 8,
        rows: 1 << 16,
        bursts: 1024 / 16,
        rules,
        four_activates: clock.ns(faw),
        refresh_is_activate: true,
        buses: Buses::One,
        data: Data { read: rl + dqsck, write: wl + 1, clocks: burst, of_each: false },
        refresh: RefreshRule {
            interval: 3_904_000,
            postponed: 8,
            within_two: None,
            set: RefreshSet::One,
            round: 8,
            open: Some(9),
        },
        power_of: PowerOf::Rank,
        wck: None,
    })
}
