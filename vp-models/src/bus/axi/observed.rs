//! What an interface has done and its observers have not been told yet.

use super::Burst;
use vp_core::observe::{Source, Stage, Transfer, What};
use vp_core::{Sim, Time};

/// Transfers are told several at once, before anybody else runs: so observers hear of everything in its order.
pub(super) struct Observed {
    sim: Sim,
    source: Source,
    transfers: Vec<(Time, Transfer)>,
}

/// Transfers that are told at once, at most.
const MOST: usize = 256;

impl Observed {
    pub(super) fn new(sim: &Sim, source: Source) -> Observed {
        Observed { sim: sim.clone(), source, transfers: Vec::with_capacity(MOST) }
    }

    /// A burst has got so far.
    #[inline]
    pub(super) fn see(&mut self, time: Time, stage: Stage, write: bool, burst: &Burst) {
        if !self.sim.is_observed() {
            return;
        }
        let Burst { id, address, bytes, .. } = *burst;
        self.transfers.push((time, Transfer { stage, write, id, address, bytes }));
        if self.transfers.len() >= MOST {
            self.tell();
        }
    }

    /// Something is wrong.
    pub(super) fn warn(&mut self, text: &str) {
        self.tell();
        self.sim.report(self.source, What::Warning(text));
    }

    /// Tells the observers.
    pub(super) fn tell(&mut self) {
        if !self.transfers.is_empty() {
            self.sim.report_transfers(self.source, &self.transfers);
            self.transfers.clear();
        }
    }
}
