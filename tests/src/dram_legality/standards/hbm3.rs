//! HBM3: JESD238B, 16 banks a pseudo channel, which is a stack of 4 dies of 16 Gb, up to 85 °C.
//!
//! The standard leaves the core timings to the vendor. These are estimates of the Ramulator project at 6.4 Gb/s, in clocks.

use crate::dram_legality::rules::{BankRefresh, Core, Rules};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, lengths,
};
use vp_models::memory::dram::CommandKind::{Activate, PowerDownExit, SelfRefreshExit};

pub(super) const GRADES: &[&str] = &["HBM3-6400"];

pub(super) fn sheet(grade: &str) -> Option<Sheet> {
    let (name, rate, tck) = match grade {
        "HBM3-6400" => (GRADES[0], 6400, 625),
        _ => return None,
    };
    let clock = Clock { tck, rounding: Rounding::Up { rate, bits: 4 } };
    let (rl, wl, burst) = (20, 10, 2);
    let (ccd, rrd, wr, rtp) = ((2, clock.most(4, 2.5)), (4, 5), 33, 9);
    // Note 18: RU((max(-0.2 ns, -0.2 tCK) + 0.5 tCK + 2.52 ns) / tCK).
    let read_write = rl + burst - wl + clock.ns(-0.125 + 0.3125 + 2.52);
    let rfc = 260.0;
    let rrefd = clock.most(3, 8.0);
    let xp = clock.most(10, 7.5);
    let core = Core {
        rcd_read: 31,
        rcd_write: 15,
        rp: 26,
        rp_all: 26,
        ras: 45,
        rc: 71,
        rrd,
        read_read: ccd,
        write_write: ccd,
        read_write: (read_write, read_write),
        write_read: (wl + burst + 7, wl + burst + 10),
        read_precharge: rtp,
        write_precharge: wl + burst + wr,
        write_read_precharge: None,
        ppd: Some(2),
        rfc: clock.ns(rfc),
        bank_refresh: Some(BankRefresh {
            rfc: clock.ns(200.0),
            refresh_refresh: rrefd,
            refresh_activate: (rrefd, rrefd),
            activate_refresh: rrd,
        }),
        read_power_down: rl + burst,
        write_power_down: wl + burst + wr,
        write_precharge_power_down: wl + burst + wr,
        other_power_down: 1,
        // No figure was found for the least stay: a clock.
        power_down: 1,
        power_up: 1,
        xp,
        xp_to_edge: true,
        self_refresh: 1,
        xs: clock.most(10, rfc + 10.0),
        xs_dll: 0,
    };
    // ACT takes one and a half clocks of the row bus and counts from the second rising edge: in whole clocks two. Other row commands
    // take half a clock. The exits' places on the bus were not found: none.
    let exits: &[_] = &[PowerDownExit, SelfRefreshExit];
    let mut rules = Rules::new(lengths(1, &[(&[Activate], 2), (exits, 0)]));
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: 4,
        banks: 4,
        rows: 1 << 14,
        bursts: 32,
        rules,
        four_activates: 24,
        refresh_is_activate: true,
        buses: Buses::RowAndColumn,
        data: Data { read: rl, write: wl, clocks: burst, of_each: true },
        refresh: RefreshRule {
            interval: 3_900_000,
            postponed: 8,
            within_two: None,
            set: RefreshSet::One,
            round: 16,
            open: None,
        },
        power_of: PowerOf::Channel,
        wck: None,
    })
}
