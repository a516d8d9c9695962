//! GDDR6: JESD250 with the core timings of a data sheet (Samsung K4Z80325BC, 14 Gb/s, 1.35 V, tables 91 to 93), one channel of 16 bits of
//! a device of 8 Gb.

use crate::dram_legality::rules::{BankRefresh, Core, Rules};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, lengths,
};
use vp_models::memory::dram::CommandKind::{PowerDownEntry, PowerDownExit, SelfRefreshExit};

pub(super) const GRADES: &[&str] = &["GDDR6-14000", "GDDR6-16000"];

pub(super) fn sheet(grade: &str) -> Option<Sheet> {
    // CL and WL are settings; those of 16 Gb/s were not found, and are the same here.
    let (name, rate, tck, (cl, wl)) = match grade {
        "GDDR6-14000" => (GRADES[0], 14_000, 571, (24, 6)),
        "GDDR6-16000" => (GRADES[1], 16_000, 500, (24, 6)),
        _ => return None,
    };
    let clock = Clock { tck, rounding: Rounding::Up { rate, bits: 8 } };
    let burst = 2;
    let (rp, rrd, wr, rtp) = (clock.ns(15.0), clock.ns(4.5), clock.ns(15.0), 4);
    // CL + 4 - WL, and by the data sheet three clocks more: the weaker is checked.
    let read_write = cl + 4 - wl;
    let rrefd = clock.ns(8.5);
    let core = Core {
        rcd_read: clock.ns(15.0),
        rcd_write: clock.ns(9.0),
        rp,
        rp_all: rp,
        ras: clock.ns(30.0),
        rc: clock.ns(45.0),
        rrd: (rrd, rrd),
        read_read: (2, 4),
        write_write: (2, 4),
        read_write: (read_write, read_write),
        write_read: (wl + burst + clock.ns(5.5), wl + burst + clock.ns(6.8)),
        read_precharge: rtp,
        write_precharge: wl + burst + wr,
        write_read_precharge: Some(wl + burst + wr - rtp),
        ppd: Some(1),
        rfc: clock.ns(120.0),
        bank_refresh: Some(BankRefresh {
            rfc: clock.ns(60.0),
            refresh_refresh: rrefd,
            refresh_activate: (rrefd, rrefd),
            activate_refresh: (rrd, rrd),
        }),
        read_power_down: cl + burst,
        write_power_down: wl + burst,
        write_precharge_power_down: wl + burst,
        other_power_down: 1,
        // Power-down and self refresh: DRAMsim3's estimates, in clocks; none for the least stay.
        power_down: 1,
        power_up: 1,
        xp: 12,
        xp_to_edge: false,
        self_refresh: 1,
        xs: 132,
        xs_dll: 0,
    };
    // CKE_n is a line of its own.
    let by_cke: &[_] = &[PowerDownEntry, PowerDownExit, SelfRefreshExit];
    let mut rules = Rules::new(lengths(1, &[(by_cke, 0)]));
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: 4,
        banks: 4,
        rows: 1 << 14,
        bursts: 64,
        rules,
        four_activates: clock.ns(16.5),
        refresh_is_activate: true,
        buses: Buses::One,
        data: Data { read: cl, write: wl, clocks: burst, of_each: false },
        refresh: RefreshRule {
            interval: 1_900_000,
            // Not found; that of the others.
            postponed: 8,
            within_two: None,
            set: RefreshSet::One,
            round: 16,
            open: None,
        },
        power_of: PowerOf::Rank,
        wck: None,
    })
}
