//! Reports for when nothing happens any more, or time does not move on: which processes wait for what, and
//! which run.

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
    /// Time at which the simulation came to rest.
    pub time: Time,
    /// Processes in the middle of something: if there are any, this is a deadlock.
    pub blocked: Vec<Blocked>,
    /// Servers that wait for the next request.
    pub at_rest: Vec<Blocked>,
}

impl IdleReport {
    /// Returns true if some process can never finish.
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

/// The state of a simulation in which much happens and time does not move on.
///
/// ```
/// use vp_core::{Livelock, Simulation, Stop};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let (ping, pong) = (sim.event("ping"), sim.event("pong"));
/// let (wakes, woken) = (pong.clone(), ping.clone());
/// sim.method("a").sensitive(&ping).run(move |_| wakes.notify_delta());
/// sim.method("b").sensitive(&pong).run(move |_| woken.notify_delta());
/// simulation.set_delta_limit(1000);
/// assert_eq!(simulation.run(), Stop::Livelock);
/// let livelock: Livelock = simulation.livelock().unwrap();
/// assert_eq!(livelock.to_string(), "time stands still at 0 s while a, b run again and again");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Livelock {
    /// The time that does not pass.
    pub time: Time,
    /// The processes that ran in the last delta cycles, or were about to.
    pub processes: Vec<Name>,
}

/// Processes that are named; of more, how many.
const NAMED: usize = 8;

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, more) = (if self.processes.len() == 1 { "runs" } else { "run" }, self.processes.len());
        let named = self.processes[..more.min(NAMED)].join(", ");
        write!(f, "time stands still at {} while {named}", self.time)?;
        if more > NAMED {
            write!(f, " and {} more", more - NAMED)?;
        }
        write!(f, " {verb} again and again")
    }
}
