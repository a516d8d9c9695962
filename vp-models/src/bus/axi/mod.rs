//! AXI: memory reads and writes in bursts, many in flight, answered in order.
//!
//! An engine has a [`ReadStream`] or a [`WriteStream`] for each of its DMA clients. An [`Interconnect`] (`interconnect`) is one process with two
//! channels, for reads and for writes, of one shape (`channel`). A burst's way, and under it the files:
//!
//! ```text
//!             CDMA: Requester::next
//!                  ↑ call up
//! ReadStream → ReadClient → Arbiter → Pipeline → CountLimit → Pipeline → AR: issue ┬→ AxiTarget, which gives the bytes at once
//! read_stream  read_client  arbiter   pipeline   outstanding  pipeline       read  │  target
//!                                                                                  └→ Responder, which says when they are on R
//!                                                                                     responder, latency, timed ─┐
//! ReadStream ← ReadClient ← Intake ← Egress ← R: put_on_bus, a beat a cycle, in order over all clients ←─────────┘
//! read_stream  read_client  intake   read::egress  read; read::returning where a beat or the answer waits
//!                             ↓ call up
//!             CDMA: BeatConsumer::take
//!
//! WriteStream → WriteClient → Arbiter → Pipeline → CountLimit → Pipeline → AW: issue → W, a beat a cycle ─┐
//! write_stream  write_client  arbiter   pipeline   outstanding  pipeline       write                      │
//!               write_path                                                                                │
//! WriteStream ← WriteClient ← B: acknowledge, in order ← Responder, which says when ← AxiTarget: store ←──┘
//! write_stream  write_client     write                   responder, latency, timed    target     write
//! ```
//!
//! * A read's bytes are fetched when its address is on AR, and its time is the responder's. So while nothing waits, `issue` reads, asks for the time
//!   and delivers to the client, with the times at which its beats are on R; the engine takes them then. A memory model ([`TimedPort`]) says the time
//!   later, to `served`. An [`AxiTarget`] behind a socket answers later, too.
//! * Engines request what they have room for. The exception is CDMA, whose room is in the convolution buffer, and given back as CSC reads. So the
//!   interface calls up, within its own step: [`Requester::next`] makes the next read, and [`BeatConsumer::take`] says when a beat is taken.
//! * What a client has in front of the arbiter: `request_registers` of a read client, `write_path` of a write client, with or without the
//!   gathering of its beats. `realigner` is where a client's beats are not the bus's.
//! * Where a partner with a clock is the memory, its [`ManagerPins`] answer, beat by beat, in the responder's place (`read::pins`, `write::pins`);
//!   where it is another master, its [`SubordinatePins`] are one more client (`partners`).

mod arbiter;
mod burst;
mod bytes;
mod channel;
mod intake;
mod interconnect;
mod latency;
mod observed;
mod outstanding;
mod partners;
mod pins;
mod pipeline;
mod read;
mod read_client;
mod read_stream;
mod realigner;
mod request_registers;
mod request_watch;
mod responder;
mod statistics;
mod target;
#[cfg(test)]
mod tests;
mod timed;
mod turn;
mod write;
mod write_client;
mod write_path;
mod write_stream;

pub use burst::Burst;
pub use intake::{BeatConsumer, IntakeStage};
pub use interconnect::Interconnect;
pub(crate) use latency::LatencySource;
pub use latency::{Drawn, Latency, LatencyError};
pub use pins::AxiEvent;
pub use pins::{AxiSink, AxiViolation, Driven, ManagerPins, SubordinatePins};
pub use pipeline::PipelineConfig;
pub use read_client::{Request, Requester};
pub use read_stream::{ReadStream, ReadStreamConfig};
pub use request_registers::{EarliestRequest, RegisterKind, RequestPlaces, STALL_COUNTERS};
pub use request_watch::RequestWatch;
pub use statistics::{AxiStatistics, Traffic};
pub use target::{Answer, AxiTarget, Completion, Unmapped};
pub use timed::{Served, TimedPort};
pub(crate) use turn::WeightedRoundRobin;
pub use vp_types::AxiChannel;
pub(crate) use write_path::WriteGatherer;
pub use write_path::{Begin, WriteGathering, WriteLanes, WritePathConfig};
pub use write_stream::WriteStream;

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
    /// Beats that the arbiter of reads grants at once, to go on AR as several bursts: `burst_beats`, or a multiple.
    pub transaction_beats: u32,
    /// True if read data reaches a client in beats that begin with the first byte of each request, wherever on the bus that lies.
    pub realigns_reads: bool,
    /// Bits of an address; higher bits of the device's addresses are not on the bus.
    pub address_bits: u32,
    /// Reads accepted and not yet completely returned, at most.
    pub read_outstanding: u32,
    /// Reads that the arbiter has chosen and the memory has not accepted, at most.
    pub read_pipeline: PipelineConfig,
    /// Kind of the registers for reads in front of the arbiter.
    pub request_registers: RegisterKind,
    /// Writes accepted and not yet acknowledged, at most.
    pub write_outstanding: u32,
    /// Writes that the arbiter has chosen and the memory has not accepted, at most.
    pub write_pipeline: PipelineConfig,
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
    /// Blocks whose beats the interface gathers before a write client asks the arbiter, if it does so.
    pub write_gathering: Option<WriteGathering>,
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
}
