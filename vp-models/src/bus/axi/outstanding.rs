//! How many transactions of one direction are in flight, and when there is room for another.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Event, Sim, Time};

pub(super) struct Outstanding {
    sim: Sim,
    period: Time,
    most: u32,
    limit: Cell<u32>,
    /// When each is over, in order.
    ends: RefCell<VecDeque<Time>>,
    /// How many there are of which that is not known yet.
    open: Cell<usize>,
    closed: Event,
}

impl Outstanding {
    pub(super) fn new(sim: &Sim, name: &str, period: Time, most: u32) -> Outstanding {
        let most = most.max(1);
        Outstanding {
            sim: sim.clone(),
            period,
            most,
            limit: Cell::new(most),
            ends: RefCell::default(),
            open: Cell::new(0),
            closed: sim.event(format!("{name}.outstanding")),
        }
    }

    /// Sets a limit below the one given at the start.
    pub(super) fn set_limit(&self, limit: u32) {
        self.limit.set(limit.clamp(1, self.most));
    }

    /// Adds one that will be over at `end`; the ends come in order.
    pub(super) fn add(&self, end: Time) {
        self.ends.borrow_mut().push_back(end);
    }

    /// Adds one of which it is not known when it will be over.
    pub(super) fn add_open(&self) {
        self.open.set(self.open.get() + 1);
    }

    /// Now it is known of one.
    pub(super) fn close(&self, end: Time) {
        self.open.set(self.open.get() - 1);
        self.add(end);
        self.closed.notify_delta();
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.open.get() == 0 && self.ends.borrow().back().is_none_or(|&end| end <= self.sim.now())
    }

    /// Waits until there is room: the cycle after one is over (`arready` and `awready` are registered).
    pub(super) async fn room(&self) {
        loop {
            let wait = {
                let mut ends = self.ends.borrow_mut();
                while ends.front().is_some_and(|&end| end + self.period <= self.sim.now()) {
                    ends.pop_front();
                }
                if ends.len() + self.open.get() < self.limit.get() as usize {
                    return;
                }
                ends.front().map(|&end| end + self.period)
            };
            match wait {
                Some(wait) => self.sim.wait_until(wait).await,
                None => self.closed.wait().await,
            }
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
    /// How many there are of which that is not known yet.
    open: Cell<usize>,
    closed: Event,
}

impl Beats {
    pub(super) fn new(sim: &Sim, name: &str, period: Time) -> Beats {
        let (limit, ends) = (Cell::new(u32::MAX), RefCell::default());
        let closed = sim.event(format!("{name}.beats"));
        Beats { sim: sim.clone(), lag: period * 3, period, limit, ends, open: Cell::new(0), closed }
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

    /// Adds the beats of a burst of which it is not known when they will be on the bus.
    pub(super) fn add_open(&self, beats: u32) {
        self.open.set(self.open.get() + beats as usize);
    }

    /// Now it is known of a burst.
    pub(super) fn close(&self, beats: u32, first: Time, last: Time) {
        self.open.set(self.open.get() - beats as usize);
        self.add(beats, first, last);
        self.closed.notify_delta();
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
                match (ends.len() + self.open.get() + beats as usize).checked_sub(limit + 1) {
                    None => return,
                    Some(last) => ends.get(last).map(|&end| end + self.lag),
                }
            };
            match wait {
                Some(wait) => self.sim.wait_until(wait).await,
                None => self.closed.wait().await,
            }
        }
    }
}
