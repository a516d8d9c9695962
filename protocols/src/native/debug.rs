//! Debuggers: stopping simulated time, and making it stop at chosen events.
//!
//! The order of the variants of every enum is their number on the wire: new ones go to the end, none is ever removed.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Range, StepBy, StopReport};

/// Breakpoint: the event at which time is to stand.
pub type Breakpoint = vp_types::Breakpoint<Range>;
/// Event that a breakpoint waits for.
pub type BreakOn = vp_types::BreakOn<Range>;
/// A breakpoint that is set.
pub type SetBreakpoint = vp_types::SetBreakpoint<Range>;

/// Command of a debugger to a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(prefix = "Debug ")]
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

/// Debugging state of a platform: whether time is stopped, and the breakpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugState {
    /// Report of the stop, if time is stopped.
    pub stopped: Option<StopReport>,
    /// All breakpoints, in the order of their numbers.
    pub breakpoints: Vec<SetBreakpoint>,
}
