//! Modes of time: what lets it move, and the latest time that can be given.

use serde::{Deserialize, Serialize};

/// Mode of time: what lets it move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TimeMode {
    /// The commands of the parties: time moves only for the current one. So a run depends only on the commands,
    /// and not on when they came.
    Lockstep,
    /// The platform's own work, as far as [`Hub::grant`](super::Hub::grant) lets it.
    Free,
}

impl TimeMode {
    /// The mode in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimeMode::Lockstep => "lockstep",
            TimeMode::Free => "free",
        }
    }
}
