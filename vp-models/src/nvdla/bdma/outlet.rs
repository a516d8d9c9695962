//! BDMA's output: beats on their way to the memory interfaces.
//!
//! Unlike other engines, BDMA may write to another memory with each command, and does not wait between
//! commands. So each line carries its destination.

use crate::bus::DelayLine;
use crate::bus::axi::WriteStream;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::nvdla::cube::Ram;
use crate::nvdla::dma::{MemoryPorts, WRITE_BUFFER};
use crate::nvdla::nocif::write_id;
use crate::nvdla::timing::Timing;
use std::cell::Cell;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// Bytes that pass in a cycle.
pub(super) const BEAT: usize = 64;

/// Item that passes the outlet.
enum Item {
    /// A line begins: where it goes, and its bytes.
    Line(usize, u64, u32),
    /// Some of its bytes.
    Data([u8; BEAT], usize),
}

pub(super) struct Outlet {
    ports: MemoryPorts,
    streams: Vec<Rc<WriteStream>>,
    pipeline: DelayLine<Item>,
    /// Items inside, [`WRITE_BUFFER`] at most.
    under_way: Cell<usize>,
    passed: Event,
}

impl Outlet {
    pub(super) fn new(sim: &Sim, ports: &MemoryPorts, cycle: Time, timing: &Timing) -> Rc<Outlet> {
        let latency = cycle * u64::from(timing.bdma.output);
        let outlet = Rc::new(Outlet {
            ports: ports.clone(),
            streams: ports.all().map(|port| WriteStream::new(port, "nvdla.bdma", write_id::BDMA)).collect(),
            pipeline: DelayLine::new(sim, "nvdla.bdma.pipeline", latency),
            under_way: Cell::new(0),
            passed: sim.event("nvdla.bdma.passed"),
        });
        sim.server("nvdla.bdma.write", outlet.clone().write());
        outlet
    }

    /// Begins a line.
    pub(super) async fn line(&self, ram: Ram, address: u64, bytes: u32) {
        self.put(Item::Line(self.ports.index(ram), address, bytes)).await;
    }

    /// Puts up to a beat of the line's bytes; waits while memory holds back what is before.
    pub(super) async fn data(&self, bytes: &[u8]) {
        let mut beat = [0; BEAT];
        beat[..bytes.len()].copy_from_slice(bytes);
        self.put(Item::Data(beat, bytes.len())).await;
    }

    async fn put(&self, item: Item) {
        while self.under_way.get() >= WRITE_BUFFER {
            self.passed.wait().await;
        }
        self.under_way.set(self.under_way.get() + 1);
        self.pipeline.push(item);
    }

    /// Waits until both memories have acknowledged all that was put.
    pub(super) async fn drained(&self) {
        while self.under_way.get() > 0 {
            self.passed.wait().await;
        }
        for stream in &self.streams {
            stream.drained().await;
        }
    }

    /// Returns the time for which complete bursts have waited for a memory interface since this was last asked.
    pub(super) fn take_stalled(&self) -> Time {
        self.streams.iter().fold(Time::ZERO, |sum, stream| sum + stream.take_stalled())
    }

    async fn write(self: Rc<Self>) {
        let mut stream = &self.streams[0];
        loop {
            match self.pipeline.next().await {
                Item::Line(port, address, bytes) => {
                    stream = &self.streams[port];
                    stream.line(address, bytes);
                }
                Item::Data(beat, bytes) => stream.put(&beat[..bytes], WRITE_BUFFER).await,
            }
            self.under_way.set(self.under_way.get() - 1);
            self.passed.notify_delta();
        }
    }
}

impl Outlet {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Outlet { ports: _, streams, pipeline, under_way, passed: _ } = self;
        at.at_rest(under_way.get() == 0, "BDMA has yet to write")?;
        pipeline.checkpoint(at)?;
        streams.iter().try_for_each(|stream| stream.checkpoint(at))
    }
}
