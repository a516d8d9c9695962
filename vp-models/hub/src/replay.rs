//! Running a recording again, without the parties of the recorded run.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use thiserror::Error;
use vp_core::Time;

use super::record::{Accessed, Position, Recorded};
use super::{DirectMemory, DirectRange, Hub, Output, RunState};

/// Memory accessed directly in a replay: what was recorded comes again.
struct ReplayedMemory(Accessed);

impl DirectMemory for ReplayedMemory {
    fn read(&self, _: u64, into: &mut [u8]) -> bool {
        match self.0.borrow_mut().pop_front() {
            Some(Some(bytes)) if bytes.len() == into.len() => {
                into.copy_from_slice(&bytes);
                true
            }
            _ => false,
        }
    }

    fn write(&self, _: u64, _: &[u8]) -> bool {
        self.0.borrow_mut().pop_front().flatten().is_some()
    }
}

/// A recording that does not fit the platform, or is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// The run does not reach the recorded position.
    #[error(
        "the run does not come to entry {entry} of the recording: it stands at {at:?}, recorded at {recorded:?}"
    )]
    Elsewhere {
        /// Position of the entry in the recording, from 0.
        entry: u64,
        /// Position of the run.
        at: Position,
        /// Position of the run when it was recorded.
        recorded: Position,
    },
    /// The run reaches the recorded position, but something else has happened on the way.
    #[error(
        "at entry {entry} of the recording, at {time}, the event hash is {hash:016x}, and {recorded:016x} in the recording"
    )]
    OtherEvents {
        /// Position of the entry in the recording, from 0.
        entry: u64,
        /// The simulated time.
        time: Time,
        /// The hash of this run.
        hash: u64,
        /// Hash of the recorded run.
        recorded: u64,
    },
    /// A memory that was accessed directly does not exist.
    #[error("entry {entry} of the recording, at {time}: {why}")]
    NoMemory {
        /// Position of the entry in the recording, from 0.
        entry: u64,
        /// The simulated time.
        time: Time,
        /// Reason that the hub gives.
        why: String,
    },
}

/// Runs a recording again, entry by entry, on a hub in the initial state of the recorded one.
#[derive(Default)]
pub struct Replay {
    accessed: Accessed,
    /// Number of entries that are done.
    entries: u64,
    stop: Rc<Cell<bool>>,
}

impl Replay {
    /// A replay that is at its beginning.
    #[must_use]
    pub fn new() -> Replay {
        Replay::default()
    }

    /// Returns the number of entries that are done.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The flag that an observer sets, before it stops the simulation ([`vp_core::Sim::stop`]), to end the
    /// replay there.
    #[must_use]
    pub fn stop(&self) -> Rc<Cell<bool>> {
        self.stop.clone()
    }

    /// Takes the next entry, with time going no further than `until`. Returns whether it is done. If not, the
    /// replay cannot continue, because cutting it there may have changed what partners are promised.
    ///
    /// # Errors
    /// The run reaches another position than the recorded one: another platform, another build, or a damaged
    /// recording.
    pub fn take(&mut self, hub: &mut Hub, recorded: &Recorded, until: Time) -> Result<bool, ReplayError> {
        let entry = self.entries;
        match recorded {
            Recorded::Input(input) => hub.handle(input.clone()),
            Recorded::Direct { party, port, ranges } => {
                let memory: Rc<dyn DirectMemory> = Rc::new(ReplayedMemory(self.accessed.clone()));
                let part = |range: &Range<u64>| DirectRange { range: range.clone(), memory: memory.clone() };
                let parts = ranges.iter().map(part).collect();
                hub.access_directly(*party, *port, parts).map_err(|failure| ReplayError::NoMemory {
                    entry,
                    time: hub.now(),
                    why: failure.reason,
                })?;
            }
            Recorded::Accessed(was) => self.accessed.borrow_mut().push_back(was.clone()),
            Recorded::Ran(position) => {
                let is_there = self.run_to(hub, *position, until);
                let is_there =
                    is_there.map_err(|at| ReplayError::Elsewhere { entry, at, recorded: *position })?;
                if !is_there {
                    return Ok(false);
                }
            }
            Recorded::Hash(was) => {
                let hash = hub.platform().event_hash();
                if hash != *was {
                    return Err(ReplayError::OtherEvents { entry, time: hub.now(), hash, recorded: *was });
                }
            }
        }
        self.entries += 1;
        Ok(true)
    }

    /// Runs to a position, if that is not beyond `until`; an error says where the run stands if it does not come there.
    fn run_to(&self, hub: &mut Hub, position: Position, until: Time) -> Result<bool, Position> {
        let to = position.time.min(until);
        // A grant further away than this changes nothing; one to here may end an instant that would be held without it.
        hub.grant(if position.is_at_grant { to } else { Time::MAX });
        // Within an instant the recorded run has waited there, for an answer or a promise, and has made promises.
        if !hub.position().is_instant_over && promise_to_reach(hub, position) {
            return Ok(true);
        }
        loop {
            let before = hub.position();
            let ran = hub.run_unpromised(to);
            if self.stop.get() {
                return Ok(false);
            }
            let at = hub.position();
            // Where the recorded run was cut, and stood there with no more than its promises to make, they were made.
            let is_over = matches!(ran, RunState::Waiting | RunState::Limit);
            if at == position || is_over && promise_to_reach(hub, position) {
                return Ok(true);
            }
            // A run may have ended an instant, and no more.
            let is_stuck = at == before && is_over;
            if is_stuck && until < position.time {
                return Ok(false);
            }
            let counts = |at: Position| [at.outputs, at.driven, at.begun];
            let is_beyond = at.time > position.time
                || counts(at).iter().zip(counts(position)).any(|(at, recorded)| *at > recorded);
            if is_stuck || is_beyond {
                return Err(at);
            }
        }
    }
}

/// Makes all due promises, if only they are missing to reach a position; returns whether the run has reached it
/// then.
fn promise_to_reach(hub: &mut Hub, position: Position) -> bool {
    let (at, promises) = (hub.position(), hub.due_promises());
    let promised = Position { outputs: at.outputs + promises.len() as u64, ..at };
    promised == position && hub.tell_promises(promises)
}

/// Runs a whole recording on a hub in the initial state of the recorded one, and returns its outputs.
///
/// # Errors
/// As [`Replay::take`].
pub fn replay(hub: &mut Hub, recording: &[Recorded]) -> Result<Vec<Output>, ReplayError> {
    let (mut outputs, mut replay) = (Vec::new(), Replay::new());
    for recorded in recording {
        replay.take(hub, recorded, Time::MAX)?;
        outputs.extend(std::iter::from_fn(|| hub.poll()));
    }
    Ok(outputs)
}
