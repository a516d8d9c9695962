//! Debuggers: what makes simulated time stop, and the report of a stop.

use serde::{Deserialize, Serialize};
use vp_core::Time;

use super::{PartyId, PortId};

/// Length of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepBy {
    /// A step to the next clock edge.
    Cycle,
    /// A step over the next instant at which something happens.
    Event,
    /// A step until a unit has ended a layer.
    Layer,
    /// A step until a register has been read or written over its bus.
    Access,
}

/// Breakpoint: the event at which time is to stand. `R` is the form of a range of bytes: the first and the number of them on
/// the wire, the first and the one after the last in recordings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint<R> {
    /// Event that has to happen.
    pub on: BreakOn<R>,
    /// Number of times that the event may happen before.
    pub skip: u32,
    /// True if the breakpoint is removed when it has stopped time. One at a time always is.
    pub once: bool,
}

/// Event that a breakpoint waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BreakOn<R> {
    /// A register is accessed over its bus.
    Register {
        /// Byte address.
        address: u64,
        /// Direction of the accesses.
        access: Accesses,
        /// Value that the access must have, if not any.
        value: Option<u32>,
    },
    /// The interrupt line goes high.
    Interrupt,
    /// A unit begins or ends a layer, or a job.
    Layer {
        /// Name of the unit, such as `sdp`, at most 32 bytes; empty: any.
        unit: String,
        /// True to stop at the end, and not at the beginning.
        end: bool,
    },
    /// A burst of the device touches one of these bytes: for a read when it is on the bus, for a write when it
    /// is acknowledged.
    Memory {
        /// Port of the memory.
        port: PortId,
        /// The bytes.
        range: R,
        /// Direction of the accesses.
        access: Accesses,
    },
    /// A time, or the next clock edge after it. Everything that is due at it is done.
    Time(Time),
}

impl<R> Breakpoint<R> {
    /// The breakpoint with its range of bytes in another form.
    pub fn with_range<S>(self, form: impl FnOnce(R) -> S) -> Breakpoint<S> {
        let on = match self.on {
            BreakOn::Register { address, access, value } => BreakOn::Register { address, access, value },
            BreakOn::Interrupt => BreakOn::Interrupt,
            BreakOn::Layer { unit, end } => BreakOn::Layer { unit, end },
            BreakOn::Memory { port, range, access } => BreakOn::Memory { port, range: form(range), access },
            BreakOn::Time(time) => BreakOn::Time(time),
        };
        Breakpoint { on, skip: self.skip, once: self.once }
    }
}

/// Reads, writes, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Accesses {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes.
    Any,
}

impl Accesses {
    /// Returns true if writes, or else reads, are among them.
    #[must_use]
    pub fn include(self, write: bool) -> bool {
        match self {
            Accesses::Read => !write,
            Accesses::Write => write,
            Accesses::Any => true,
        }
    }
}

/// A breakpoint that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBreakpoint<R> {
    /// Number of the breakpoint.
    pub number: u32,
    /// The debugger that has set it.
    pub by: PartyId,
    /// Breakpoint as it was set.
    pub breakpoint: Breakpoint<R>,
    /// Number of times that the breakpoint has stopped time.
    pub hits: u32,
}

/// Report of a stop: time is stopped, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// The debugger that stopped time, stepped, or set the breakpoint.
    pub by: PartyId,
    /// Simulated time at which time stands.
    pub time: Time,
    /// Reason of the stop.
    pub why: StopWhy,
    /// Events that have happened: the first few.
    pub hits: Vec<Hit>,
}

/// Reason for which time stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopWhy {
    /// A debugger has stopped time.
    Asked,
    /// A step is over.
    Stepped,
    /// A breakpoint is hit.
    Breakpoint,
}

/// Something for which time stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The breakpoint; `None`: the step.
    pub breakpoint: Option<u32>,
    /// Time at which it happened: not later than the time of the stop.
    pub time: Time,
    /// Event that was seen.
    pub seen: DebugEvent,
}

/// An event that a debugger waits for and that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugEvent {
    /// A register was accessed.
    Register {
        /// True if it was written.
        write: bool,
        /// Byte address.
        address: u64,
        /// The value read or written.
        value: u32,
    },
    /// The interrupt line has gone high.
    Interrupt,
    /// A layer has begun or ended.
    Layer {
        /// True if it has ended.
        end: bool,
        /// The unit.
        unit: String,
        /// The register group, or the job's number.
        number: u64,
        /// Kind of the layer.
        label: String,
    },
    /// A burst of the device.
    Burst {
        /// The memory.
        port: PortId,
        /// True if it writes.
        write: bool,
        /// Transaction id of the burst.
        id: u32,
        /// Byte address.
        address: u64,
        /// Number of bytes of the burst.
        bytes: u32,
    },
    /// The time has come.
    Time,
}
