//! Modes of time: what lets it move, and the latest time that can be given.
//!
//! In *lockstep* (`vp run`, `LocalHost`) time moves only while a request waits, and posted writes queue
//! without moving it. So a program has the same cycles and event hash in process, over TCP, and with the RAM
//! on the client's side. In *free* mode a platform runs whenever it has work; the *paced* mode of a server is
//! the free one, granted by the wall clock. In these two, the time at which a request takes effect depends on
//! when it arrives.

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
