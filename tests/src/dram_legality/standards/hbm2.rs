//! HBM2E: JESD235D in pseudo channel mode, 8 Gb a channel, up to 85 °C.
//!
//! The standard leaves the core timings to the vendor. These are a published HBM2 of Samsung's in ns (the description that goes with
//! the simulator PIMSimulator).

use crate::dram_legality::rules::{BankRefresh, Core, Rules};
use crate::dram_legality::sheet::{
    Buses, Clock, Data, PowerOf, RefreshRule, RefreshSet, Rounding, Sheet, lengths,
};
use vp_models::memory::dram::CommandKind::{Activate, PowerDownEntry, PowerDownExit, SelfRefreshExit};

pub(super) const GRADES: &[&str] = &["HBM2E-3200"];

pub(super) fn sheet(grade: &str) -> Option<Sheet> {
    let (name, rate, tck, (rl, wl)) = match grade {
        "HBM2E-3200" => (GRADES[0], 3200, 625, (32, 13)),
        _ => return None,
    };
    let clock = Clock { tck, rounding: Rounding::Up { rate, bits: 2 } };
    let burst = 2;
    let (rp, ras) = (clock.ns(14.0), clock.ns(33.0));
    let ccd = (2, clock.most(4, 2.8));
    let rrd = (clock.ns(4.0), clock.ns(6.0));
    let wr = clock.ns(16.0);
    // tRTPL: the precharge is of the bank that was read, so of its group.
    let rtp = clock.ns(5.0);
    // tDQSQ is taken as none.
    let read_write = rl + burst - wl + clock.ns(0.3 * 0.625 + 3.5);
    let cke = clock.most(5, 7.5);
    let rrefd = clock.ns(8.0);
    let core = Core {
        rcd_read: clock.ns(14.0),
        rcd_write: clock.ns(10.0),
        rp,
        rp_all: rp,
        ras,
        rc: clock.ns(47.0),
        rrd,
        read_read: ccd,
        write_write: ccd,
        read_write: (read_write, read_write),
        write_read: (wl + burst + clock.ns(4.0), wl + burst + clock.ns(9.0)),
        read_precharge: rtp,
        write_precharge: wl + burst + wr,
        write_read_precharge: Some(wl + burst + wr - rtp),
        ppd: None,
        rfc: clock.ns(350.0),
        bank_refresh: Some(BankRefresh {
            // Of dies up to 8 Gb; greater ones take 200 ns.
            rfc: clock.ns(160.0),
            // A published checker wants tRFCSB before a new round; the standard's text was not seen.
            refresh_refresh: rrefd,
            refresh_activate: (rrefd, rrefd),
            activate_refresh: rrd,
        }),
        read_power_down: rl + burst + 1,
        write_power_down: wl + burst + 1 + wr,
        write_precharge_power_down: wl + burst + 1 + wr,
        other_power_down: 1,
        power_down: cke,
        power_up: cke,
        xp: cke,
        xp_to_edge: true,
        self_refresh: cke + 1,
        xs: clock.ns(350.0 + 10.0).max(5),
        xs_dll: 0,
    };
    // ACT takes two clocks of the row bus. CKE is a line of its own.
    let by_cke: &[_] = &[PowerDownEntry, PowerDownExit, SelfRefreshExit];
    let mut rules = Rules::new(lengths(1, &[(&[Activate], 2), (by_cke, 0)]));
    core.add_to(&mut rules);
    Some(Sheet {
        name,
        clock,
        groups: 4,
        banks: 4,
        rows: 1 << 15,
        bursts: 32,
        rules,
        four_activates: clock.ns(16.0),
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
