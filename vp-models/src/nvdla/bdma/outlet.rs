//! BDMA's output: beats on their way to the memory interfaces.
//!
//! Unlike other engines, BDMA may write to another memory with each command, and does not wait between
//! commands. So each line carries its destination.

use crate::bus::DelayLine;
use crate::bus::axi::WriteStream;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::nvdla::cube::Ram;
use crate::nvdla::dma::MemoryPorts;
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
    /// Items inside, at most and now.
    capacity: u32,
    under_way: Cell<u32>,
    passed: Event,
    sim: Sim,
    cycle: Time,
    gathered: Option<u32>,
}

/// Bytes of a line that the memory interface gathers, up to a boundary.
#[derive(Default)]
struct Gathered {
    /// Address of the next byte, and number of bytes of the line that are to come.
    address: u64,
    left: u32,
    bytes: Vec<u8>,
    /// Time at which the bytes behind may follow those that left last.
    free: Time,
}

/// Cycles from a beat's leaving the interface's buffer to the entry of the one that takes its place.
const REFILL: u64 = 2;

impl Outlet {
    pub(super) fn new(sim: &Sim, ports: &MemoryPorts, cycle: Time, timing: &Timing) -> Rc<Outlet> {
        let (latency, buffer) = (cycle * u64::from(timing.bdma.output), timing.write_buffer);
        let outlet = Rc::new(Outlet {
            ports: ports.clone(),
            streams: ports
                .all()
                .map(|port| WriteStream::new(port, "nvdla.bdma", write_id::BDMA, buffer))
                .collect(),
            pipeline: DelayLine::new(sim, "nvdla.bdma.pipeline", latency),
            capacity: buffer.max(1),
            under_way: Cell::new(0),
            passed: sim.event("nvdla.bdma.passed"),
            sim: sim.clone(),
            cycle,
            gathered: timing.bdma.gathered,
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
        while self.under_way.get() >= self.capacity {
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

    /// Sends some bytes of a line, or keeps them until those that go with them are there.
    async fn gather(&self, stream: &WriteStream, gathered: &mut Gathered, beat: &[u8]) {
        let Some(size) = self.gathered else { return stream.put(beat).await };
        gathered.bytes.extend(beat);
        gathered.address = gathered.address.wrapping_add(beat.len() as u64);
        gathered.left = gathered.left.saturating_sub(beat.len() as u32);
        if gathered.left > 0 && !gathered.address.is_multiple_of(u64::from(size)) {
            return;
        }
        self.sim.wait_until(gathered.free).await;
        let beats = gathered.bytes.len().div_ceil(BEAT) as u64;
        gathered.free = self.sim.now() + self.cycle * (beats + REFILL);
        stream.put(&gathered.bytes).await;
        gathered.bytes.clear();
    }

    async fn write(self: Rc<Self>) {
        let mut stream = &self.streams[0];
        let mut gathered = Gathered::default();
        loop {
            match self.pipeline.next().await {
                Item::Line(port, address, bytes) => {
                    stream = &self.streams[port];
                    stream.line(address, bytes);
                    (gathered.address, gathered.left) = (address, bytes);
                }
                Item::Data(beat, bytes) => self.gather(stream, &mut gathered, &beat[..bytes]).await,
            }
            self.under_way.set(self.under_way.get() - 1);
            self.passed.notify_delta();
        }
    }
}

impl Outlet {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Outlet {
            ports: _,
            streams,
            pipeline,
            capacity: _,
            under_way,
            passed: _,
            sim: _,
            cycle: _,
            gathered: _,
        } = self;
        at.at_rest(under_way.get() == 0, "BDMA has yet to write")?;
        pipeline.checkpoint(at)?;
        streams.iter().try_for_each(|stream| stream.checkpoint(at))
    }
}
