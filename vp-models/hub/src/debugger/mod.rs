//! Debuggers: stopping simulated time, stepping it, and making it stop at chosen events.
//!
//! While the platform is stopped time does not move, and no command begins that waits for its turn. Accesses
//! that need no time, such as reading registers or memory for a debugger, are done as usual. A debugger's
//! command is an input, and is in a recording.
//!
//! A debugger never lets time move further than it would without the debugger: a run with stops has the same
//! events, and the same event hash, as one without. So a stop is between two instants, or where an answer or
//! the interrupt ends a run within an instant; the event of the breakpoint is then complete. In lockstep time
//! moves only for commands of other parties, and a step waits for them.

mod stopping;
mod watcher;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use vp_core::Time;

use super::ids::{PartyId, PortIndex};
pub(super) use stopping::Debugging;

/// Most breakpoints at a time, of all debuggers together.
pub const MOST_BREAKPOINTS: usize = 32;
/// Most hits reported for one stop.
const MOST_HITS: usize = 8;
/// Bytes of a layer's label, and of a unit's name, at most.
const MOST_LABEL: usize = 64;
const MOST_UNIT: usize = 32;

/// Command of a debugger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugCommand {
    /// Stops time, from now on.
    Stop,
    /// Lets time move again, as far as the other parties let it.
    Continue,
    /// Lets time move by so many steps, and stops it again. Completed when it stops, for whatever reason.
    Step {
        /// Length of a step.
        by: StepBy,
        /// Number of steps; at least 1.
        count: u32,
    },
    /// Makes time stop at an event.
    Break(Breakpoint),
    /// Removes a breakpoint, whichever debugger has set it.
    Clear {
        /// Number of the breakpoint.
        number: u32,
    },
}

/// Unit of a step: how far it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// Event at which time is made to stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint {
    /// Event that has to happen.
    pub on: BreakOn,
    /// Number of times that it may happen before.
    pub skip: u32,
    /// True if the breakpoint is removed when it has stopped time. One at a time always is.
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
        /// Name of the unit, such as `sdp`; empty: any.
        unit: String,
        /// True to stop at the end, and not at the beginning.
        end: bool,
    },
    /// A burst of the device touches one of these bytes: for a read when it is on the bus, for a write when it
    /// is acknowledged.
    Memory {
        /// Port of the memory.
        port: PortIndex,
        /// The bytes.
        range: Range<u64>,
        /// Direction of the accesses.
        access: Accesses,
    },
    /// A time, or the next clock edge after it. Everything that is due at it is done.
    Time(Time),
}

/// Reads, writes, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accesses {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes.
    Any,
}

impl Accesses {
    fn has(self, write: bool) -> bool {
        match self {
            Accesses::Read => !write,
            Accesses::Write => write,
            Accesses::Any => true,
        }
    }
}

/// A breakpoint that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetBreakpoint {
    /// Number of the breakpoint.
    pub number: u32,
    /// The debugger that has set it.
    pub party: PartyId,
    /// Breakpoint as it was set.
    pub breakpoint: Breakpoint,
    /// Number of times that it has stopped time.
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
        port: PortIndex,
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
