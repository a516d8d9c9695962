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
use vp_types::StepBy;

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

/// Breakpoint: the event at which time is made to stand.
pub type Breakpoint = vp_types::Breakpoint<Range<u64>>;
/// Event that a breakpoint waits for.
pub type BreakOn = vp_types::BreakOn<Range<u64>>;
/// A breakpoint that is set.
pub type SetBreakpoint = vp_types::SetBreakpoint<Range<u64>>;
