//! Input from SDP that no window reads, behind a layer's last output.
//!
//! A layer whose input comes from SDP is done with its last output (RTL, `NV_NVDLA_PDP_wdma`,
//! reading_done_flag: set from the beginning where PDP is on the fly). PDP still takes the input that SDP sends
//! after that.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::Cell;
use std::rc::Rc;

use vp_core::{Event, Sim, Time};

use crate::nvdla::sdp_to_pdp::SdpToPdp;

/// Takes what the layers leave unread.
pub(super) struct Unread {
    sim: Sim,
    /// Between two atoms.
    pace: Time,
    from_sdp: Rc<SdpToPdp>,
    atoms: Cell<u64>,
    left: Event,
    taken: Event,
}

impl Unread {
    pub(super) fn new(sim: &Sim, pace: Time, from_sdp: Rc<SdpToPdp>) -> Rc<Unread> {
        let unread = Rc::new(Unread {
            sim: sim.clone(),
            pace,
            from_sdp,
            atoms: Cell::new(0),
            left: sim.work_event("nvdla.pdp.unread.left"),
            taken: sim.event("nvdla.pdp.unread.taken"),
        });
        sim.server("nvdla.pdp.unread", unread.clone().take());
        unread
    }

    /// A layer leaves so many atoms.
    pub(super) fn leave(&self, atoms: u64) {
        self.atoms.set(atoms);
        self.left.notify_delta();
    }

    /// Returns the number of atoms of the layer before that SDP has yet to send.
    pub(super) fn atoms(&self) -> u64 {
        self.atoms.get()
    }

    /// Waits until all have come.
    pub(super) async fn gone(&self) {
        while self.atoms.get() > 0 {
            self.taken.wait().await;
        }
    }

    async fn take(self: Rc<Self>) {
        loop {
            while self.atoms.get() > 0 {
                self.from_sdp.atoms.ready().await;
                let passed = self.from_sdp.atoms.take();
                let is_last = passed.is_none_or(|passed| passed.last);
                self.atoms.set(if is_last { 0 } else { self.atoms.get() - 1 });
                self.sim.wait(self.pace).await;
            }
            self.taken.notify_delta();
            self.left.wait().await;
        }
    }
}

impl Unread {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Unread { sim: _, pace: _, from_sdp: _, atoms, left: _, taken: _ } = self;
        at.at_rest(atoms.get() == 0, "SDP has yet to send what no window reads")
    }
}
