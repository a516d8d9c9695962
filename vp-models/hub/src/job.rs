//! Jobs: what a party wants done in its turn, and what it waits for at the bus.

use vp_core::Time;
use vp_types::Until;

use super::access::Access;
use super::ids::Tag;
use super::output::Failure;

/// Something to be done in its turn.
pub(super) struct Job {
    /// The tag with which its end is reported; `None` for a posted write.
    pub(super) tag: Option<Tag>,
    pub(super) at: Option<Time>,
    pub(super) task: Task,
}

pub(super) enum Task {
    Register {
        address: u32,
        write: Option<u32>,
    },
    Memory(Access),
    Advance(Until),
    Step(Time),
    Inject(String),
    /// A register access that fails, in its turn: answers of a port keep request order.
    Fail(Failure),
}

impl Job {
    pub(super) fn is_memory(&self) -> bool {
        matches!(self.task, Task::Memory(_))
    }

    /// Returns true if the job is an access to a register, which waits for room on the bus.
    pub(super) fn is_register(&self) -> bool {
        matches!(self.task, Task::Register { .. })
    }

    /// Returns true if the job is an access: a part of what the platform does, and not only a wait.
    pub(super) fn is_access(&self) -> bool {
        matches!(self.task, Task::Register { .. } | Task::Memory(_) | Task::Fail(_))
    }

    /// Returns true if something follows from the job at the ports, or time moves for it.
    pub(super) fn waits_for_time(&self) -> bool {
        self.at.is_some() || !matches!(self.task, Task::Memory(_) | Task::Fail(_))
    }

    /// Returns this job, to begin at once.
    pub(super) fn now(self) -> Job {
        Job { at: None, ..self }
    }
}
