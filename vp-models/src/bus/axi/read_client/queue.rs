//! The queue of a read client in front of the arbiter: runs of bytes, which are cut into bursts as these are granted.

use crate::bus::axi::Burst;
use crate::bus::axi::burst::{Cut, Run};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Runs of bytes that wait for the arbiter.
#[derive(Default)]
pub(super) struct RunQueue {
    runs: RefCell<VecDeque<Run>>,
    /// Number of bursts in them.
    bursts: Cell<usize>,
}

impl RunQueue {
    /// Returns true if nothing waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.bursts.get() == 0
    }

    /// Adds a run of one burst.
    pub(super) fn push(&self, run: Run) {
        self.runs.borrow_mut().push_back(run);
        self.bursts.set(self.bursts.get() + 1);
    }

    /// Moves the first bursts of a run into the queue, as many as there is room for among `most`.
    pub(super) fn fill(&self, cut: Cut, run: &mut Run, most: usize) {
        let bursts = cut.count(*run).min(most.saturating_sub(self.bursts.get()));
        if bursts > 0 {
            self.runs.borrow_mut().push_back(cut.split(run, bursts));
            self.bursts.set(self.bursts.get() + bursts);
        }
    }

    /// Takes the first burst, which is granted.
    pub(super) fn take(&self, cut: Cut, id: u32) -> Burst {
        self.bursts.set(self.bursts.get() - 1);
        let mut runs = self.runs.borrow_mut();
        let run = runs.front_mut().unwrap_or_else(|| unreachable!("a client is granted what it asks for"));
        let burst = cut.burst(id, run);
        if run.bytes == 0 {
            runs.pop_front();
        }
        burst
    }
}
