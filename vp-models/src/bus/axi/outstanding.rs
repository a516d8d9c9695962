//! How many transactions of one direction are in flight, and when there is room for another.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Sim, Time};

pub(super) struct Outstanding {
    sim: Sim,
    period: Time,
    most: u32,
    limit: Cell<u32>,
    /// When each is over, in order.
    ends: RefCell<VecDeque<Time>>,
}

impl Outstanding {
    pub(super) fn new(sim: &Sim, period: Time, most: u32) -> Outstanding {
        let most = most.max(1);
        Outstanding { sim: sim.clone(), period, most, limit: Cell::new(most), ends: RefCell::default() }
    }

    /// Sets a limit below the one given at the start.
    pub(super) fn set_limit(&self, limit: u32) {
        self.limit.set(limit.clamp(1, self.most));
    }

    /// Adds one that will be over at `end`; the ends come in order.
    pub(super) fn add(&self, end: Time) {
        self.ends.borrow_mut().push_back(end);
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.borrow().back().is_none_or(|&end| end <= self.sim.now())
    }

    /// Waits until there is room: the cycle after one is over (`arready` and `awready` are registered).
    pub(super) async fn room(&self) {
        loop {
            let wait = {
                let mut ends = self.ends.borrow_mut();
                while ends.front().is_some_and(|&end| end + self.period <= self.sim.now()) {
                    ends.pop_front();
                }
                match ends.front() {
                    Some(&end) if ends.len() >= self.limit.get() as usize => end + self.period,
                    _ => return,
                }
            };
            self.sim.wait_until(wait).await;
        }
    }
}

/// How many beats of reads the device has asked for and not seen come.
pub(super) struct Beats {
    sim: Sim,
    /// From a beat's being on the bus to the first address that may use its place: it is registered, counted, and
    /// the address goes out (RTL, `NV_NVDLA_MCIF_READ_IG_cvt.v`, `os_cnt`).
    lag: Time,
    period: Time,
    limit: Cell<u32>,
    /// When each is on the bus, in order.
    ends: RefCell<VecDeque<Time>>,
}

impl Beats {
    pub(super) fn new(sim: &Sim, period: Time) -> Beats {
        let (limit, ends) = (Cell::new(u32::MAX), RefCell::default());
        Beats { sim: sim.clone(), lag: period * 3, period, limit, ends }
    }

    pub(super) fn set_limit(&self, limit: u32) {
        self.limit.set(limit.max(1));
    }

    /// Adds the beats of a burst, of which the first and the last are on the bus then.
    pub(super) fn add(&self, beats: u32, first: Time, last: Time) {
        let mut ends = self.ends.borrow_mut();
        // Should they have to wait in between, all but the first are late.
        let held = last - first - self.period * u64::from(beats - 1);
        ends.push_back(first);
        ends.extend((1..beats).map(|beat| first + held + self.period * u64::from(beat)));
    }

    /// Waits until there is room for a burst; one that is larger than the limit may pass alone.
    pub(super) async fn room(&self, beats: u32) {
        let limit = self.limit.get().max(beats) as usize;
        loop {
            let wait = {
                let mut ends = self.ends.borrow_mut();
                while ends.front().is_some_and(|&end| end + self.lag <= self.sim.now()) {
                    ends.pop_front();
                }
                match (ends.len() + beats as usize).checked_sub(limit + 1) {
                    None => return,
                    Some(last) => ends[last] + self.lag,
                }
            };
            self.sim.wait_until(wait).await;
        }
    }
}
