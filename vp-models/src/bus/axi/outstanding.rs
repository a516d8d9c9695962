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
