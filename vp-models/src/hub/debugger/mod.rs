//! Debuggers: who stops simulated time, lets it go on step by step, and has it stop where something happens.
//!
//! While the platform is stopped time does not move and no command begins that waits for its turn; what goes round time, such as
//! a look at registers or memory, is done as ever. What a debugger wants is an input, and stands in a recording.
//!
//! A debugger lets time move no further than without it, and no other way: a run with stops has the events, and the event
//! hash, of the one without. So it stops between two instants, or where an answer or the interrupt ends a run in the middle of
//! one: what a breakpoint has seen is done then. In lockstep time moves only for others' commands; a step waits for them.

mod stopping;
mod watcher;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use vp_core::Time;

use super::input::{PartyId, PortIndex};
pub(super) use stopping::Debugging;

/// Breakpoints that there are at a time, at most: all debuggers' together.
pub const MOST_BREAKPOINTS: usize = 32;
/// What is told of one stop, at most.
const MOST_HITS: usize = 8;
/// Bytes of a layer's label, and of a unit's name, at most.
const MOST_LABEL: usize = 64;
const MOST_UNIT: usize = 32;

/// What a debugger wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugCommand {
    /// That time stands, from now on.
    Stop,
    /// That it moves again, as far as the others let it.
    Continue,
    /// That it moves so far, and stands again. Completed when it does, for whatever reason.
    Step {
        /// By what.
        by: StepBy,
        /// How many; at least 1.
        count: u32,
    },
    /// That it stands where something happens.
    Break(Breakpoint),
    /// That a breakpoint goes, whoever has set it.
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
    /// Whether the breakpoint goes when it has stopped time. One at a time always does.
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
        /// Whether its end is meant, and not its beginning.
        end: bool,
    },
    /// A burst of the device touches one of these bytes: of a read when it is on the bus, of a write when it is acknowledged.
    Memory {
        /// Which memory.
        port: PortIndex,
        /// The bytes.
        range: Range<u64>,
        /// How.
        access: Accesses,
    },
    /// That time, or the next clock edge after it. Nothing that is due there is left over.
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
    /// Who has set it.
    pub party: PartyId,
    /// What it is.
    pub breakpoint: Breakpoint,
    /// How often it has stopped time.
    pub hits: u32,
}

/// That time stands, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// The debugger whose stop, step or breakpoint it is.
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
    /// A debugger has said so.
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
    /// When it happened: not later than where time stands.
    pub time: Time,
    /// What.
    pub seen: Seen,
}

/// Something that a debugger waits for and that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
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
