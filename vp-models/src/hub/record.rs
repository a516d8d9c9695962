//! The form of a recording: every input of a hub, with where in the run it took effect. Running that again is the replay.
//!
//! Between two inputs the hub may run. A recording says where it stood when the next input came, by a [`Position`], which
//! does not depend on how the run was cut into pieces. Inputs that come while the simulation runs take effect at the end
//! of an instant, or where an answer or a line has ended the run: both are found again.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use vp_core::Time;

use super::{Hub, Input, Output};

/// An entry of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recorded {
    /// The hub ran, up to there.
    Ran(Position),
    /// An input took effect.
    Input(Input),
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
            is_instant_over: self.is_instant_over,
        }
    }

    /// Tells every input from now on, before it takes effect. Bytes that a platform accesses directly
    /// ([`Hub::access_directly`]) are no inputs, and are not told.
    pub fn on_input(&mut self, told: impl FnMut(&Recorded) + 'static) {
        self.has_run = false;
        self.recorder = Some(Box::new(told));
    }

    pub(super) fn record(&mut self, input: &Input) {
        let (position, has_run) = (self.position(), std::mem::take(&mut self.has_run));
        if let Some(recorder) = &mut self.recorder {
            if has_run {
                recorder(&Recorded::Ran(position));
            }
            recorder(&Recorded::Input(input.clone()));
        }
    }
}

/// Runs a recording on a hub that is as the recorded one was at the beginning, and gives its outputs.
///
/// # Errors
/// The run comes to another position than the recorded one: another platform, another build, or a damaged recording.
pub fn replay(hub: &mut Hub, recording: &[Recorded]) -> Result<Vec<Output>, ReplayError> {
    let mut outputs = Vec::new();
    for (entry, recorded) in recording.iter().enumerate() {
        match recorded {
            Recorded::Input(input) => hub.handle(input.clone()),
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
        hub.run(position.time);
        let at = hub.position();
        if at == position {
            return Ok(());
        }
        if at == before || at.time > position.time || at.outputs > position.outputs {
            return Err(at);
        }
    }
}
