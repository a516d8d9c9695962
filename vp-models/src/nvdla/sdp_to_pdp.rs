//! Atoms that go from SDP to PDP on the fly, and the count of layers that each side has come to.

use crate::bus::Handoff;
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::Cell;
use vp_core::{Event, Sim, Time};

use super::dma::Passed;

/// Way from SDP to PDP.
pub(crate) struct SdpToPdp {
    pub(crate) atoms: Handoff<Passed>,
    pub(crate) layers: LayerCount,
}

/// Layers that go on the fly, counted by both sides: PDP may begin one before SDP sends it, or behind that.
pub(crate) struct LayerCount {
    sim: Sim,
    /// Number of layers that SDP has announced, and number of those that PDP has begun, the last of these when.
    announced: Cell<u64>,
    begun: Cell<u64>,
    begun_at: Cell<Time>,
    begins: Event,
}

impl SdpToPdp {
    /// An atom comes `forward` after it was put. How many lie between the two is the layer's to say.
    pub(crate) fn new(sim: &Sim, name: &str, forward: Time) -> SdpToPdp {
        SdpToPdp {
            atoms: Handoff::new(sim, name.to_owned(), 1, forward, Time::ZERO),
            layers: LayerCount::new(sim, name),
        }
    }

    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Each layer announced has begun.
        let SdpToPdp { atoms, layers: _ } = self;
        atoms.checkpoint(at)
    }
}

impl LayerCount {
    fn new(sim: &Sim, name: &str) -> LayerCount {
        LayerCount {
            sim: sim.clone(),
            announced: Cell::default(),
            begun: Cell::default(),
            begun_at: Cell::new(Time::ZERO),
            begins: sim.event(format!("{name}.begins")),
        }
    }

    /// Begins another layer for SDP; tells its number.
    pub(crate) fn announce(&self) -> u64 {
        self.announced.set(self.announced.get() + 1);
        self.announced.get()
    }

    /// Begins another layer for PDP.
    pub(crate) fn begin(&self) {
        self.begun.set(self.begun.get() + 1);
        self.begun_at.set(self.sim.now());
        self.begins.notify_delta();
    }

    /// Waits until PDP has begun a layer; tells when, if it has begun no later one.
    pub(crate) async fn begun(&self, layer: u64) -> Option<Time> {
        while self.begun.get() < layer {
            self.begins.wait().await;
        }
        (self.begun.get() == layer).then(|| self.begun_at.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use vp_core::Simulation;

    #[test]
    fn sdp_waits_for_pdp_to_begin_its_layer() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let layers = Rc::new(LayerCount::new(&sim, "layers"));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (of_sdp, log) = (layers.clone(), seen.clone());
        sim.process("sdp", async move {
            let (first, second) = (of_sdp.announce(), of_sdp.announce());
            let begun = of_sdp.begun(first).await;
            log.borrow_mut().push(begun);
            let begun = of_sdp.begun(second).await;
            log.borrow_mut().push(begun);
            // The second has begun since.
            let begun = of_sdp.begun(first).await;
            log.borrow_mut().push(begun);
        });
        let clock = sim.clone();
        sim.process("pdp", async move {
            for cycles in [5, 4] {
                clock.wait(Time::ns(cycles)).await;
                layers.begin();
            }
        });
        simulation.run();
        assert_eq!(*seen.borrow(), [Some(Time::ns(5)), Some(Time::ns(9)), None]);
    }
}
