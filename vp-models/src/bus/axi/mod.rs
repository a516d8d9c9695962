//! AXI: memory reads and writes in bursts, many in flight, answered in order.
//!
//! An engine has a [`ReadStream`] or a [`WriteStream`] for each of its DMA clients. An [`Interconnect`]
//! arbitrates among the clients of one memory interface, by weight, one address a cycle. Behind it the read and
//! the write channel hold the transfers in flight, determine when data and acknowledgements come back, and
//! access the memory, an [`AxiTarget`], which may be in this process or behind a socket.
//!
//! ```text
//! engine → ReadStream ─┐                      ┌→ read channel  → AxiTarget
//! engine → ReadStream ─┼→ Interconnect (WRR) ─┤
//! engine → WriteStream ┘                      └→ write channel → AxiTarget
//! ```
//!
//! [`AxiConfig`] determines when answers come, or a [`TimedPort`] if the memory takes its own time. Where a
//! partner with a clock is the memory, `ManagerPins` drive the five channels and sample them in the memory's
//! place. Where it is another master, `SubordinatePins` are in front of the arbiter.

mod burst;
mod bytes;
mod intake;
mod interconnect;
mod latency;
mod observed;
mod outstanding;
mod pins;
mod read;
mod read_client;
mod read_pipeline;
mod read_stream;
mod request_path;
mod ring;
mod statistics;
mod target;
#[cfg(test)]
mod tests;
mod timed;
mod turn;
mod write;
mod write_client;
mod write_stream;

pub use burst::{Burst, bursts};
pub use intake::{BeatConsumer, IntakeStage};
pub use interconnect::Interconnect;
pub(crate) use latency::LatencySource;
pub use latency::{Drawn, Latency, LatencyError};
pub use pins::{AxiChannel, AxiEvent};
pub use pins::{AxiSink, AxiViolation, Driven, ManagerPins, SubordinatePins};
pub use read_client::{Request, Requester};
pub use read_pipeline::ReadPipelineConfig;
pub use read_stream::{ReadStream, ReadStreamConfig};
pub use request_path::STALL_COUNTERS;
pub use statistics::{AxiStatistics, Traffic};
pub use target::{Answer, AxiTarget, Completion, Unmapped};
pub use timed::{Served, TimedPort};
pub(crate) use turn::WeightedRoundRobin;
pub use write_stream::WriteStream;

use std::cell::Cell;
use vp_core::Time;

/// The parameters of one AXI interface and of the memory behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct AxiConfig {
    /// One clock cycle.
    pub period: Time,
    /// Width of the data bus in bytes: 4 to 64, a power of two.
    pub beat_bytes: u32,
    /// Longest burst in beats: a power of two.
    pub burst_beats: u32,
    /// Bits of an address; higher bits of the device's addresses are not on the bus.
    pub address_bits: u32,
    /// Reads accepted and not yet completely returned, at most.
    pub read_outstanding: u32,
    /// Reads that the arbiter has chosen and the memory has not accepted, at most.
    pub read_pipeline: ReadPipelineConfig,
    /// Writes accepted and not yet acknowledged, at most.
    pub write_outstanding: u32,
    /// Latency from the acceptance of a read's address to its first data.
    pub read_latency: Latency,
    /// Latency from a write's last data to its acknowledgement.
    pub write_latency: Latency,
    /// Bytes a second that the memory can move, reads and writes together; the bus's own rate if `None`.
    pub bandwidth: Option<u64>,
    /// True if reads and writes have that bandwidth each, because the memory has a port for each.
    pub duplex: bool,
    /// Seed from which latencies are drawn.
    pub seed: u64,
    /// True if a write client's next burst enters its buffer at the arbiter while the previous one leaves it.
    pub write_overlap: bool,
}

impl AxiConfig {
    /// An address as the bus has it.
    fn on_the_bus(&self, address: u64) -> u64 {
        address & u64::MAX >> (64 - self.address_bits.clamp(1, 64))
    }

    /// Clock edge of the interface at which it sees what a memory with a clock of its own hands over at `time`.
    fn edge_from(&self, time: Time) -> Time {
        let period = self.period.as_ps().max(1);
        Time::ps(time.as_ps().checked_next_multiple_of(period).unwrap_or(u64::MAX))
    }

    /// Edge at which the memory starts on a burst that reaches it at `now`: at once, or if it moves bytes more
    /// slowly than the bus, when it is free; it is then busy with this one.
    fn serve(&self, free: &Cell<Time>, now: Time, burst: &Burst) -> Time {
        let Some(rate) = self.bandwidth else { return now };
        let start = now.max(free.get());
        let bytes = u128::from(burst.beats) * u128::from(self.beat_bytes);
        free.set(start + Time::ps((bytes * 1_000_000_000_000 / u128::from(rate.max(1))) as u64));
        // The memory's time is kept whole, so the rate is kept: only what the interface sees of it is at an edge.
        self.edge_from(start)
    }
}
