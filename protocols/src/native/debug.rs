//! Debuggers: stopping simulated time, and making it stop at chosen events.
//!
//! The order of the variants of every enum is their number on the wire: new ones go to the end, none is ever removed.

use serde::{Deserialize, Serialize};

use super::{PortId, SessionId, Time};

/// Command of a debugger to a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugCommand {
    /// Asks whether time is stopped, and which breakpoints there are.
    /// [`Reply::DebugState`](super::Reply::DebugState).
    State,
    /// Stops time. [`Reply::Stopped`](super::Reply::Stopped).
    Stop,
    /// Lets time go on. [`Reply::Done`](super::Reply::Done).
    Continue,
    /// Lets time go on for so many steps. [`Reply::Stopped`](super::Reply::Stopped), when it is stopped again,
    /// for whatever reason.
    Step {
        /// Length of a step.
        by: StepBy,
        /// Number of steps; at least 1.
        count: u32,
    },
    /// Makes time stop at an event. [`Reply::Value`](super::Reply::Value): the breakpoint's number.
    Break(Breakpoint),
    /// Removes a breakpoint. [`Reply::Done`](super::Reply::Done).
    Clear {
        /// Number of the breakpoint.
        number: u32,
    },
}

/// Length of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepBy {
    /// A step to the next clock edge.
    Cycle,
    /// A step over the next instant at which something happens.
    Event,
    /// A step until a unit has ended a layer.
    Layer,
    /// A step until a register has been accessed over its bus.
    Access,
}

/// Breakpoint: the event at which time is to stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint {
    /// Event that has to happen.
    pub on: BreakOn,
    /// Number of times that the event may happen before.
    pub skip: u32,
    /// True if the breakpoint is removed when it has stopped time.
    pub once: bool,
}

/// Event that a breakpoint waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BreakOn {
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
        /// The unit, such as `sdp`, at most 32 bytes; empty: any.
        unit: String,
        /// True to stop at the end, and not at the beginning.
        end: bool,
    },
    /// A burst of the device touches a memory.
    Memory {
        /// Port of the memory.
        port: PortId,
        /// The first byte.
        base: u64,
        /// Number of bytes.
        size: u64,
        /// Direction of the accesses.
        access: Accesses,
    },
    /// A time comes.
    Time {
        /// The time; one between two clock edges means the later edge.
        time: Time,
    },
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

/// A breakpoint that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBreakpoint {
    /// Number of the breakpoint.
    pub number: u32,
    /// The session that has set it.
    pub session: SessionId,
    /// Breakpoint as it was set.
    pub breakpoint: Breakpoint,
    /// Number of times that the breakpoint has stopped time.
    pub hits: u32,
}

/// Debugging state of a platform: whether time is stopped, and the breakpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugState {
    /// Report of the stop, if time is stopped.
    pub stopped: Option<StopReport>,
    /// All breakpoints, in the order of their numbers.
    pub breakpoints: Vec<SetBreakpoint>,
}

/// Report of a stop: time is stopped, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// The session that stopped time, stepped, or set the breakpoint.
    pub by: SessionId,
    /// Simulated time of the stop.
    pub time: Time,
    /// Reason of the stop.
    pub why: StopWhy,
    /// Events that have happened: the first few.
    pub hits: Vec<Hit>,
}

/// Reason for which time stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Time at which the event happened: not later than the time of the stop.
    pub time: Time,
    /// Event that was seen.
    pub seen: DebugEvent,
}

/// An event that a debugger waited for and that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugEvent {
    /// A register was accessed.
    Register {
        /// True if the register was written.
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
        /// True if the layer has ended.
        end: bool,
        /// The unit.
        unit: String,
        /// The register group, or the job's number.
        number: u64,
        /// The kind of layer; only the start of a long text.
        label: String,
    },
    /// A burst of the device: for a read its request, for a write its end.
    Burst {
        /// The memory.
        port: PortId,
        /// True if the burst writes.
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
