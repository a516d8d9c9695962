//! The entries of a recording: every input of a hub, with the point of the run at which it took effect.
//! `replay.rs` runs them again.
//!
//! Between two inputs the hub may run. A recording says where the run stood when the next input came, by a
//! [`Position`], which does not depend on how the run was cut into pieces. Inputs that come while the
//! simulation runs take effect at the end of an instant, or where an answer or a line has ended the run. A
//! replay can find both points.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vp_core::Time;
use vp_core::observe::WarningMarks;
use vp_types::{PartyId, PortId};

use super::{DirectMemory, DirectRange, Hub, Input, Output, Severity};

/// An entry of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recorded {
    /// The hub ran, up to there.
    Ran(Position),
    /// An input took effect.
    Input(Input),
    /// From then on these addresses of a party's memory are accessed directly ([`Hub::access_directly`]).
    Direct {
        /// The party that owns the memory.
        party: PartyId,
        /// Port of the memory.
        port: PortId,
        /// The addresses of each part.
        ranges: Vec<Range<u64>>,
    },
    /// The result of a direct access in the run that follows: the bytes read, or none for a write; nothing, if
    /// not all bytes existed.
    Accessed(Option<Bytes>),
    /// The event hash of the run so far ([`Platform::event_hash`](vp_models::platform::Platform::event_hash)).
    Hash(u64),
}

/// Stores a recording while it is made. A function that takes entries is one, too.
pub trait Recorder {
    /// Takes the next entry.
    fn record(&mut self, entry: Recorded);

    /// Outputs that follow from the entries so far are about to leave the hub: stores those entries where they
    /// survive the end of the program.
    ///
    /// # Errors
    /// They cannot be stored. The recording ends, and everybody is told this message before the outputs.
    fn commit(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The recording ends: with the run, or before it for this reason.
    fn end(&mut self, why: Option<&str>) {
        let _ = why;
    }
}

impl<F: FnMut(Recorded)> Recorder for F {
    fn record(&mut self, entry: Recorded) {
        self(entry);
    }
}

/// The recorder of a hub, if it has one.
#[derive(Default)]
pub(super) struct Recording {
    recorder: Option<Box<dyn Recorder>>,
    /// Reason for which there is no recorder any more, as everybody was told.
    failure: Option<String>,
    /// True if outputs may leave.
    is_committed: bool,
    /// True if the hub has run since the last entry.
    has_run: bool,
    /// Results of direct accesses that are to be recorded.
    accessed: Accessed,
}

impl Recording {
    fn add(&mut self, entry: Recorded) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(entry);
            self.is_committed = false;
        }
    }
}

/// Results of direct accesses, in their order.
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

/// Position of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The simulated time.
    pub time: Time,
    /// Number of times that an answer or a line has ended a run of the kernel.
    pub stops: u64,
    /// Number of outputs so far.
    pub outputs: u64,
    /// Number of events driven by partners that have taken effect.
    pub driven: u64,
    /// Number of commands that have begun.
    pub begun: u64,
    /// True if all of the present instant was done.
    pub is_instant_over: bool,
    /// True if there is still work in the present instant, such as a command that has begun since.
    pub has_work_now: bool,
    /// Free mode: whether time has reached the granted limit ([`Hub::grant`]).
    pub is_at_grant: bool,
    /// Number of delta cycles of the present instant that are over, if they are too many for one run and
    /// there are more.
    pub cycles: u64,
}

impl Hub {
    /// Returns the position of the run.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            time: self.now(),
            stops: self.outcomes.stops(),
            outputs: self.outputs.count(),
            driven: self.partners.applied(),
            begun: self.turns.begun(),
            is_instant_over: self.time.is_instant_over(),
            has_work_now: self.platform.simulation().next_time() == Some(self.now()),
            is_at_grant: self.time.granted() == self.now(),
            cycles: self.time.cycles_over(self.now()),
        }
    }

    /// Records every input from now on, before it takes effect, and the results of direct accesses to parts
    /// named from now on ([`Hub::access_directly`]). The recording ends with the hub.
    pub fn record_to(&mut self, recorder: impl Recorder + 'static) {
        let accessed = self.recording.accessed.clone();
        self.recording = Recording { recorder: Some(Box::new(recorder)), accessed, ..Recording::default() };
    }

    /// Ends the recording, if there is one: with the run, or before it for this reason.
    pub fn end_recording(&mut self, why: Option<&str>) {
        if why.is_none() && self.recording.recorder.is_some() {
            self.record_run();
            self.recording.add(Recorded::Hash(self.platform.event_hash()));
        }
        if let Some(mut recorder) = self.recording.recorder.take() {
            recorder.end(why);
        }
    }

    pub(super) fn record(&mut self, input: &Input) {
        if self.recording.recorder.is_some() {
            self.record_run();
            self.recording.add(Recorded::Input(input.clone()));
        }
    }

    /// Notes that the hub has run.
    pub(super) fn has_run(&mut self) {
        self.recording.has_run = true;
    }

    /// Records how far the hub has run, if it has.
    pub(super) fn record_run(&mut self) {
        if std::mem::take(&mut self.recording.has_run) && self.recording.recorder.is_some() {
            self.recording.add(Recorded::Ran(self.position()));
        }
    }

    /// Records what came of the direct accesses of a run.
    pub(super) fn record_accessed(&mut self) {
        if self.recording.accessed.borrow().is_empty() {
            return;
        }
        let accessed = std::mem::take(&mut *self.recording.accessed.borrow_mut());
        accessed.into_iter().for_each(|accessed| self.recording.add(Recorded::Accessed(accessed)));
    }

    /// Returns what everybody was told when the recording could not go on: for parties that come later.
    #[must_use]
    pub fn recording_failure(&self) -> Option<&str> {
        self.recording.failure.as_deref()
    }

    /// Outputs are about to leave: their inputs are stored before. If that fails, everybody is told first.
    pub(super) fn commit_recording(&mut self) {
        if self.recording.recorder.is_none() {
            return;
        }
        self.record_run();
        if std::mem::replace(&mut self.recording.is_committed, true) {
            return;
        }
        if let Some(Err(why)) = self.recording.recorder.as_mut().map(|recorder| recorder.commit()) {
            self.recording.recorder = None;
            let text = format!("{why}; what follows is not recorded");
            self.recording.failure = Some(text.clone());
            let (severity, marks) = (Severity::Warning, WarningMarks::NONE);
            self.outputs.push_first(Output::Warning { severity, time: self.now(), text, marks });
        }
    }

    /// Parts of a memory are accessed directly from now on: as they are to be accessed while all is recorded.
    pub(super) fn record_direct(
        &mut self,
        (party, port): (PartyId, PortId),
        parts: Vec<DirectRange>,
    ) -> Vec<DirectRange> {
        if self.recording.recorder.is_none() {
            return parts;
        }
        let ranges = parts.iter().map(|part| part.range.clone()).collect();
        self.record_run();
        self.recording.add(Recorded::Direct { party, port, ranges });
        let recorded = |DirectRange { range, memory }| {
            let memory = Rc::new(RecordedMemory { memory, accessed: self.recording.accessed.clone() });
            DirectRange { range, memory }
        };
        parts.into_iter().map(recorded).collect()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Of a run that a fault has ended the recording has no end.
        if !std::thread::panicking() {
            self.end_recording(None);
        }
    }
}
