//! Modes of time: what lets it move, and the latest time that can be given.

use serde::{Deserialize, Serialize};
use vp_core::Time;

/// The latest time that a party may give, about 53 days. It is far from the largest possible time, so that
/// there is time left to work in, whatever time the platform is moved to.
pub const HORIZON: Time = Time::ps(1 << 62);

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
