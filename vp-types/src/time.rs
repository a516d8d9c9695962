//! Ends up to which simulated time moves, and reasons for which it does not.

use serde::{Deserialize, Serialize};
use vp_core::Time;

use super::PortId;

/// End up to which time should move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Until {
    /// A time, also when nothing happens.
    Time(Time),
    /// The line's rise, or at once if it is high.
    Interrupt {
        /// An interrupt port that the party is attached to as sink.
        port: PortId,
        /// Time beyond which it does not go.
        limit: Option<Time>,
    },
    /// The end of all work.
    Idle,
}

/// Reason for which time stopped moving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// The requested time, or the limit, is reached.
    Time,
    /// The line is high.
    Interrupt,
    /// Nothing is left to do.
    Idle,
    /// Nothing can happen any more, though work is unfinished.
    Deadlock {
        /// The processes that wait, and for what.
        report: String,
    },
    /// Reserved: the platform was stopped. No hub gives it; a command that a reset ends is cancelled.
    Stopped,
}

/// Activity of a platform: whether it has work to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activity {
    /// Time moves.
    Running,
    /// Work is left, but time does not move until a party lets it move.
    Held,
    /// Nothing to do until a request comes.
    Idle,
    /// Nothing can happen any more, though work is unfinished.
    Deadlocked,
}
