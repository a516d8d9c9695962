//! The memory of [`AxiConfig`](crate::bus::axi::AxiConfig), as one that several masters share: fixed or random
//! latencies, and a limit on bandwidth.

use super::awaited::AwaitedEvent;
use super::level::{Answers, Done, Level, TransferPart};
use crate::bus::axi::{AxiConfig, LatencySource};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::{Sim, Time};

/// Bursts do not cross multiples of 4 KiB, so none is cut.
const GRANULE: u32 = 4096;

pub(crate) struct Plain {
    sim: Sim,
    period: Time,
    bandwidth: Option<u64>,
    /// Reads and writes have a port each.
    duplex: bool,
    latency: RefCell<LatencySource>,
    /// Times at which a port has moved all that it was asked to move: for reads or both directions together,
    /// and for writes.
    free: [Cell<Time>; 2],
    last_read: Cell<Time>,
    answers: Rc<Answers>,
    room: AwaitedEvent,
}

impl Plain {
    pub(crate) fn new(sim: &Sim, name: &str, axi: &AxiConfig) -> Plain {
        Plain {
            sim: sim.clone(),
            period: axi.period,
            bandwidth: axi.bandwidth,
            duplex: axi.duplex,
            latency: RefCell::new(LatencySource::new(axi.read_latency, axi.seed)),
            free: Default::default(),
            last_read: Cell::new(Time::ZERO),
            answers: Answers::new(sim, name),
            room: AwaitedEvent::new(sim.event(format!("{name}.room"))),
        }
    }
}

impl Level for Plain {
    fn granule(&self) -> u32 {
        GRANULE
    }

    fn offer(&self, part: TransferPart) -> bool {
        let now = self.sim.now();
        let start = match self.bandwidth {
            None => now,
            Some(rate) => {
                let free = &self.free[usize::from(self.duplex && part.write)];
                let start = now.max(free.get());
                let picoseconds = u128::from(part.bytes) * 1_000_000_000_000 / u128::from(rate.max(1));
                free.set(start + Time::ps(picoseconds as u64));
                start
            }
        };
        // A write is taken when its turn has come; what the acknowledgement takes is the interface's to say.
        let served = if part.write {
            start
        } else {
            // In order, as with one master.
            let at = (start + self.period * self.latency.borrow_mut().draw()).max(self.last_read.get());
            self.last_read.set(at);
            at
        };
        self.answers.at(served, part.owner);
        true
    }

    fn room(&self) -> &AwaitedEvent {
        &self.room
    }

    fn on_done(&self, done: Done) {
        self.answers.on_done(done);
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Plain { sim: _, period: _, bandwidth: _, duplex, latency, free, last_read, answers, room: _ } =
            self;
        at.part("memory")?;
        latency.borrow_mut().checkpoint(at)?;
        at.cell(&free[0])?;
        if *duplex {
            at.cell(&free[1])?;
        }
        at.cell(last_read)?;
        answers.checkpoint(at)
    }
}
