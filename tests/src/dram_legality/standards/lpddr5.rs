//! LPDDR5 and LPDDR5X: JESD209-5, 16 Gb a channel of 16 bits, up to 85 °C, WCK:CK 4:1, write latency set A, no link ECC, no ODT.

use crate::dram_legality::rules::{BankRefresh, Core, Rules};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, Wck, lengths,
};
use vp_models::memory::dram::CommandKind::{Activate, PowerDownExit};

pub(super) const GRADES: &[&str] = &["LPDDR5-6400", "LPDDR5-6400-8B", "LPDDR5-3200-16B", "LPDDR5X-8533"];

/// A row: the mode of banks (MR3), and what depends on it or on the rate.
struct Row {
    rate: u64,
    tck: u64,
    /// RL (set 0; at 8533 with read DBI) and WL.
    latencies: (u64, u64),
    groups: u32,
    banks: u32,
    /// Columns of a row, and of a burst.
    columns: (u32, u32),
    /// BL/n_min and BL/n_max; without groups both BL/n.
    burst: (u64, u64),
    rrd: f64,
    faw: f64,
    /// tWTR between groups; within one, and without groups, it is 12 ns.
    wtr: f64,
}

pub(super) fn sheet(grade: &str) -> Option<Sheet> {
    let groups = Row {
        rate: 6400,
        tck: 1250,
        latencies: (17, 9),
        groups: 4,
        banks: 4,
        columns: (1024, 16),
        burst: (2, 4),
        rrd: 5.0,
        faw: 20.0,
        wtr: 6.25,
    };
    let (name, row) = match grade {
        "LPDDR5-6400" => (GRADES[0], groups),
        "LPDDR5-6400-8B" => {
            let (columns, burst) = ((2048, 32), (4, 4));
            (
                GRADES[1],
                Row { groups: 1, banks: 8, columns, burst, rrd: 10.0, faw: 40.0, wtr: 12.0, ..groups },
            )
        }
        "LPDDR5-3200-16B" => {
            let (rate, tck, latencies) = (3200, 2500, (9, 5));
            (
                GRADES[2],
                Row { rate, tck, latencies, groups: 1, banks: 16, burst: (2, 2), wtr: 12.0, ..groups },
            )
        }
        "LPDDR5X-8533" => {
            (GRADES[3], Row { rate: 8533, tck: 938, latencies: (25, 12), rrd: 3.75, faw: 15.0, ..groups })
        }
        _ => return None,
    };
    let clock = Clock { tck: row.tck, rounding: Rounding::Up { rate: row.rate, bits: 8 } };
    let ((rl, wl), (min, max)) = (row.latencies, row.burst);
    let data = row.columns.1 as u64 / 8;
    let (rcd, rp, rp_all) = (clock.most(2, 18.0), clock.most(2, 18.0), clock.most(2, 21.0));
    let ras = clock.most(3, 42.0);
    let rrd = clock.most(2, row.rrd);
    let wr = clock.most(3, 34.0);
    let (wtr_s, wtr_l) = (clock.most(4, row.wtr), clock.most(4, 12.0));
    // tWCK2DQO, at most 1.6 ns above 3200 Mb/s. At that rate itself the bound is greater; the smaller is checked.
    let wck_to_data = clock.ns(1.6);
    // BL/n_min and tRBTP, which is max(7.5 ns, 2 nCK) - 2 nCK. Some read BL/n_max.
    let read_precharge = min + clock.most(2, 7.5) - 2;
    let write_precharge = wl + min + 1 + wr;
    let (rfc, rfc_bank) = (clock.ns(280.0), clock.ns(140.0));
    let core = Core {
        rcd_read: rcd,
        rcd_write: rcd,
        rp,
        rp_all,
        ras,
        rc: ras + rp,
        rrd: (rrd, rrd),
        read_read: (data, max),
        write_write: (data, max),
        read_write: (rl + min + wck_to_data - wl, rl + max + wck_to_data - wl),
        write_read: (wl + min + wtr_s, wl + max + wtr_l),
        read_precharge,
        write_precharge,
        write_read_precharge: None,
        ppd: Some(2),
        rfc,
        bank_refresh: Some(BankRefresh {
            rfc: rfc_bank,
            // tpbR2pbR, tpbR2act.
            refresh_refresh: clock.ns(90.0),
            refresh_activate: (clock.ns(7.5), clock.ns(7.5)),
            activate_refresh: (rrd, rrd),
        }),
        // Not before the data are through.
        read_power_down: rl + data,
        write_power_down: wl + min + 1 + wr,
        write_precharge_power_down: wl + min + 1 + wr,
        other_power_down: 1,
        // tCSPD.
        power_down: clock.ns(10.0) + 1,
        power_up: 1,
        xp: clock.most(3, 7.0),
        xp_to_edge: false,
        self_refresh: clock.most(2, 15.0),
        xs: clock.ns(280.0) + clock.most(2, 7.5),
        xs_dll: 0,
    };
    // Every command is one clock, and ACT two commands, ACT-1 and ACT-2. From which of them figures count, is in doubt: the weaker is
    // checked. Power-down is left by CS.
    let mut rules = Rules::new(lengths(1, &[(&[Activate], 2), (&[PowerDownExit], 0)])).with_weaker_activate();
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: row.groups,
        banks: row.banks,
        rows: 1 << 16,
        bursts: row.columns.0 / row.columns.1,
        rules,
        four_activates: clock.ns(row.faw),
        refresh_is_activate: true,
        buses: Buses::One,
        // tWCK2DQO and tWCK2DQI are less than two clocks, and trained: both are taken as none.
        data: Data { read: rl, write: wl, clocks: data, of_each: false },
        // 8 REFpb a round, so that with 16 banks each is of two (inferred from tREFIpb = tREFI / 8).
        refresh: RefreshRule {
            interval: 3_906_000,
            postponed: 8,
            within_two: None,
            set: if row.banks * row.groups == 16 { RefreshSet::Pair(8) } else { RefreshSet::One },
            round: 8,
            open: None,
        },
        power_of: PowerOf::Rank,
        // tWCKPST of 6.5 WCK, the longest setting: rounded down, one clock.
        wck: Some(Wck { read: rl + max + 1, write: wl + max + 1 }),
    })
}
