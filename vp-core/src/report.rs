//! What is said when nothing happens any more: who waits, and for what.

use crate::name::Name;
use crate::time::Time;
use std::fmt;

/// One process that waits.
///
/// ```
/// use vp_core::{Blocked, Simulation};
/// let mut simulation = Simulation::new();
/// let irq = simulation.sim().event("irq");
/// simulation.sim().process("driver", async move { irq.wait().await });
/// simulation.run();
/// let blocked: Blocked = simulation.idle_report().blocked.remove(0);
/// assert_eq!((&*blocked.process, &*blocked.waits_for[0]), ("driver", "irq"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The process's name.
    pub process: Name,
    /// The names of the events it waits for; empty if it waits for nothing that this kernel knows.
    pub waits_for: Vec<Name>,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.waits_for.as_slice() {
            [] => write!(f, "{} waits for nothing that could come", self.process),
            [one] => write!(f, "{} waits for {one}", self.process),
            several => write!(f, "{} waits for one of {}", self.process, several.join(", ")),
        }
    }
}

/// The state of a simulation in which nothing happens by itself any more.
///
/// ```
/// use vp_core::{IdleReport, Simulation};
/// let mut simulation = Simulation::new();
/// let irq = simulation.sim().event("irq");
/// simulation.sim().process("driver", async move { irq.wait().await });
/// simulation.run();
/// let report: IdleReport = simulation.idle_report();
/// assert!(report.is_deadlock());
/// assert_eq!(report.to_string(), "nothing happens after 0 s; driver waits for irq");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleReport {
    /// When it came to rest.
    pub time: Time,
    /// Processes in the middle of something: if there are any, this is a deadlock.
    pub blocked: Vec<Blocked>,
    /// Servers that wait for the next request.
    pub at_rest: Vec<Blocked>,
}

impl IdleReport {
    /// Whether some process can never finish.
    pub fn is_deadlock(&self) -> bool {
        !self.blocked.is_empty()
    }
}

impl fmt::Display for IdleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing happens after {}", self.time)?;
        for blocked in &self.blocked {
            write!(f, "; {blocked}")?;
        }
        Ok(())
    }
}
