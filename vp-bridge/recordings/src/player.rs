//! Running a recording again.

use std::io::Read;

use thiserror::Error;
use vp_core::Time;
use vp_hub::{Hub, Output, Recorded, Replay, ReplayError};
use vp_models::platform::{DescriptionError, RestoreError};

use super::reader::{ReadError, Reader, RecordingEnd};

/// Reason for which a recording does not run again.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The file.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The platform cannot be built.
    #[error("the recording's platform: {0}")]
    Description(#[from] DescriptionError),
    /// The saved platform that it begins with is none, or another one.
    #[error("the platform that the recording goes on from: {0}")]
    Restore(#[from] RestoreError),
    /// The run is another one.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Outcome of a step of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStep {
    /// An entry is done: this one.
    Done(Recorded),
    /// The run stands where it was to, before the end.
    Stopped,
    /// All entries are done, and the recording ends so.
    Ended(RecordingEnd),
}

/// Runs a recording again, entry by entry.
pub struct Player<R> {
    reader: Reader<R>,
    hub: Hub,
    replay: Replay,
    is_hash_checked: bool,
}

impl<R: Read> Player<R> {
    /// Builds the recorded platform, at its beginning.
    ///
    /// # Errors
    /// No recording, or of a platform that cannot be built.
    pub fn new(file: R) -> Result<Player<R>, PlayError> {
        let mut reader = Reader::new(file)?;
        let hub = match reader.take_saved() {
            None => reader.header().hub()?,
            Some(saved) => reader.header().hub_from(&saved)?,
        };
        Ok(Player { reader, hub, replay: Replay::new(), is_hash_checked: false })
    }

    /// Returns the reader of the recording.
    pub fn reader(&self) -> &Reader<R> {
        &self.reader
    }

    /// The hub that runs again.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Returns the hub that runs again, to put observers beside it before it runs.
    pub fn hub_mut(&mut self) -> &mut Hub {
        &mut self.hub
    }

    /// The replay.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Returns true if the run has come to the event hash of the recorded one with the last entry.
    pub fn is_hash_checked(&self) -> bool {
        self.is_hash_checked
    }

    /// Runs the next entry, with time going no further than `until`. `told` has the outputs.
    ///
    /// # Errors
    /// The recording is damaged, or the run is another one.
    pub fn step(&mut self, until: Time, told: &mut dyn FnMut(Output)) -> Result<ReplayStep, PlayError> {
        let Some(entry) = self.reader.next_entry()? else {
            return Ok(ReplayStep::Ended(
                self.reader.end().cloned().unwrap_or(RecordingEnd::CutOff { bytes: 0 }),
            ));
        };
        let is_done = self.replay.take(&mut self.hub, &entry, until);
        while let Some(output) = self.hub.poll() {
            told(output);
        }
        self.is_hash_checked = matches!(entry, Recorded::Hash(_));
        Ok(if is_done? { ReplayStep::Done(entry) } else { ReplayStep::Stopped })
    }
}
