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

/// What a debugger wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugCommand {
    /// That time stands, from now on.
    Stop,
    /// Lets time move again, as far as the other parties let it.
    Continue,
    /// Lets time move by so many steps, and stops it again. Completed when it stops, for whatever reason.
    Step {
        /// By what.
        by: StepBy,
        /// How many; at least 1.
        count: u32,
    },
    /// Makes time stop at an event.
    Break(Breakpoint),
    /// Removes a breakpoint, whichever debugger has set it.
    Clear {
        /// Its number.
        number: u32,
    },
}

/// How far a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepBy {
    /// To the next clock edge.
    Cycle,
    /// Over the next instant at which something happens.
    Event,
    /// Until a unit has ended a layer.
    Layer,
    /// Until a register has been read or written over its bus.
    Access,
}

/// Where time stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint {
    /// What has to happen.
    pub on: BreakOn,
    /// How often it may happen before.
    pub skip: u32,
    /// Whether the breakpoint is removed when it has stopped time. One at a time always is.
    pub once: bool,
}

/// What a breakpoint waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BreakOn {
    /// A register is accessed over its bus.
    Register {
        /// Byte address.
        address: u64,
        /// How.
        access: Accesses,
        /// Only with this value; `None`: with any.
        value: Option<u32>,
    },
    /// The interrupt line goes high.
    Interrupt,
    /// A unit begins or ends a layer, or a job.
    Layer {
        /// Which, such as `sdp`; empty: any.
        unit: String,
        /// Whether to stop at the end, and not at the beginning.
        end: bool,
    },
    /// A burst of the device touches one of these bytes: for a read when it is on the bus, for a write when it
    /// is acknowledged.
    Memory {
        /// Which memory.
        port: PortIndex,
        /// The bytes.
        range: Range<u64>,
        /// How.
        access: Accesses,
    },
    /// That time, or the next clock edge after it. Everything that is due at it is done.
    Time(Time),
}

/// Reads, writes, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accesses {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both.
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
    /// Its number.
    pub number: u32,
    /// The debugger that has set it.
    pub party: PartyId,
    /// What it is.
    pub breakpoint: Breakpoint,
    /// How often it has stopped time.
    pub hits: u32,
}

/// That time stands, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// The debugger that stopped time, stepped, or set the breakpoint.
    pub by: PartyId,
    /// Where time stands.
    pub time: Time,
    /// Why.
    pub why: StopWhy,
    /// What has happened: the first few things.
    pub hits: Vec<Hit>,
}

/// Why time stands.
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
    /// When it happened: not later than the time of the stop.
    pub time: Time,
    /// What.
    pub seen: DebugEvent,
}

/// An event that a debugger waits for and that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugEvent {
    /// A register was accessed.
    Register {
        /// Whether it was written.
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
        /// Whether it has ended.
        end: bool,
        /// The unit.
        unit: String,
        /// The register group, or the job's number.
        number: u64,
        /// What kind of layer.
        label: String,
    },
    /// A burst of the device.
    Burst {
        /// The memory.
        port: PortIndex,
        /// Whether it writes.
        write: bool,
        /// Its transaction id.
        id: u32,
        /// Byte address.
        address: u64,
        /// Its bytes.
        bytes: u32,
    },
    /// The time has come.
    Time,
}
