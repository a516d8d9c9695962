//! The form of a recording: every input of a hub, with where in the run it took effect. Running that again is the replay.
//!
//! Between two inputs the hub may run. A recording says where it stood when the next input came, by a [`Position`], which
//! does not depend on how the run was cut into pieces. Inputs that come while the simulation runs take effect at the end
//! of an instant, or where an answer or a line has ended the run: both are found again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use vp_core::Time;

use super::{DirectMemory, DirectRange, Hub, Input, Output, PartyId, PortIndex, Ran};

/// An entry of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recorded {
    /// The hub ran, up to there.
    Ran(Position),
    /// An input took effect.
    Input(Input),
    /// From then on these addresses of a party's memory are accessed directly ([`Hub::access_directly`]).
    Direct {
        /// Whose.
        party: PartyId,
        /// Behind which port.
        port: PortIndex,
        /// The addresses of each part.
        ranges: Vec<Range<u64>>,
    },
    /// What came of a direct access in the run that follows: the bytes read, or none for a write; nothing, if not all were there.
    Accessed(Option<Bytes>),
}

/// What came of direct accesses, in their order.
pub(super) type Accessed = Rc<RefCell<VecDeque<Option<Bytes>>>>;

/// Memory accessed directly, whose accesses are recorded.
struct RecordedMemory {
    memory: Rc<dyn DirectMemory>,
    accessed: Accessed,
}

impl DirectMemory for RecordedMemory {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let is_there = self.memory.read(offset, into);
        self.accessed.borrow_mut().push_back(is_there.then(|| Bytes::copy_from_slice(into)));
        is_there
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        let is_there = self.memory.write(offset, bytes);
        self.accessed.borrow_mut().push_back(is_there.then(Bytes::new));
        is_there
    }
}

/// The same in a replay: what was recorded comes again.
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

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The simulated time.
    pub time: Time,
    /// How often an answer or a line has ended a run of the kernel.
    pub stops: u64,
    /// How many outputs there have been.
    pub outputs: u64,
    /// How many events that partners have driven have taken effect.
    pub driven: u64,
    /// Whether all of the present instant was done.
    pub is_instant_over: bool,
}

/// A recording that does not fit the platform, or is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the run does not come to entry {entry} of the recording: it stands at {at:?}, recorded at {recorded:?}"
)]
pub struct ReplayError {
    /// Position of the entry in the recording, from 0.
    pub entry: usize,
    /// Where the run stands.
    pub at: Position,
    /// Where it stood when it was recorded.
    pub recorded: Position,
}

impl Hub {
    /// Where the run stands.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            time: self.now(),
            stops: self.stops.get(),
            outputs: self.polled + self.outputs.len() as u64,
            driven: self.applied,
            is_instant_over: self.is_instant_over,
        }
    }

    /// Tells every input from now on, before it takes effect, and what comes of direct accesses to parts named from now on
    /// ([`Hub::access_directly`]).
    pub fn on_input(&mut self, told: impl FnMut(&Recorded) + 'static) {
        self.has_run = false;
        self.recorder = Some(Box::new(told));
    }

    pub(super) fn record(&mut self, input: &Input) {
        if self.recorder.is_some() {
            self.record_entry(&Recorded::Input(input.clone()));
        }
    }

    fn record_entry(&mut self, entry: &Recorded) {
        if std::mem::take(&mut self.has_run) {
            self.record_run();
        }
        if let Some(recorder) = &mut self.recorder {
            recorder(entry);
        }
    }

    /// Tells how far the hub has run.
    pub(super) fn record_run(&mut self) {
        self.has_run = false;
        let position = self.position();
        if let Some(recorder) = &mut self.recorder {
            recorder(&Recorded::Ran(position));
        }
    }

    /// Tells what came of the direct accesses of a run.
    pub(super) fn record_accessed(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            self.accessed.borrow_mut().drain(..).for_each(|accessed| recorder(&Recorded::Accessed(accessed)));
        }
    }

    /// Parts of a memory are accessed directly from now on: as they are to be accessed while all is recorded.
    pub(super) fn record_direct(
        &mut self,
        (party, port): (PartyId, PortIndex),
        parts: Vec<DirectRange>,
    ) -> Vec<DirectRange> {
        if self.recorder.is_none() {
            return parts;
        }
        let ranges = parts.iter().map(|part| part.range.clone()).collect();
        self.record_entry(&Recorded::Direct { party, port, ranges });
        let recorded = |DirectRange { range, memory }| {
            let memory = Rc::new(RecordedMemory { memory, accessed: self.accessed.clone() });
            DirectRange { range, memory }
        };
        parts.into_iter().map(recorded).collect()
    }
}

/// Runs a recording on a hub that is as the recorded one was at the beginning, and gives its outputs.
///
/// # Errors
/// The run comes to another position than the recorded one: another platform, another build, or a damaged recording.
pub fn replay(hub: &mut Hub, recording: &[Recorded]) -> Result<Vec<Output>, ReplayError> {
    let mut outputs = Vec::new();
    let accessed = Accessed::default();
    for (entry, recorded) in recording.iter().enumerate() {
        match recorded {
            Recorded::Input(input) => hub.handle(input.clone()),
            Recorded::Direct { party, port, ranges } => {
                let memory: Rc<dyn DirectMemory> = Rc::new(ReplayedMemory(accessed.clone()));
                let part = |range: &Range<u64>| DirectRange { range: range.clone(), memory: memory.clone() };
                let parts = ranges.iter().map(part).collect();
                hub.access_directly(*party, *port, parts).map_err(|_| {
                    let at = hub.position();
                    ReplayError { entry, at, recorded: at }
                })?;
            }
            Recorded::Accessed(was) => accessed.borrow_mut().push_back(was.clone()),
            Recorded::Ran(position) => {
                run_to(hub, *position).map_err(|at| ReplayError { entry, at, recorded: *position })?;
            }
        }
        outputs.extend(std::iter::from_fn(|| hub.poll()));
    }
    Ok(outputs)
}

/// Runs to a position; an error says where the run stands if it does not come there.
fn run_to(hub: &mut Hub, position: Position) -> Result<(), Position> {
    hub.grant(position.time);
    loop {
        let before = hub.position();
        let ran = hub.run(position.time);
        let at = hub.position();
        if at == position {
            return Ok(());
        }
        let is_beyond =
            at.time > position.time || at.outputs > position.outputs || at.driven > position.driven;
        // A run may have ended an instant, and no more.
        let is_stuck = at == before && !matches!(ran, Ran::Again | Ran::InInstant);
        if is_stuck || is_beyond {
            return Err(at);
        }
    }
}
