//! Reasons for which a partner cannot go on.

use thiserror::Error;
use vp_core::Time;

/// Reason for which a partner cannot go on, or cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PartnerError {
    /// The platform cannot be reached.
    #[error("{0}")]
    Connect(String),
    /// The platform has ended, as platforms do: all is well.
    #[error("the platform has ended: {0}")]
    Over(String),
    /// The platform has put this partner out, or is gone.
    #[error("{0}")]
    Ended(String),
    /// The platform does not do what was asked for.
    #[error("{0}")]
    Refused(String),
    /// The platform has no such port.
    #[error("the platform has no port `{name}`: it has {ports}")]
    NoPort {
        /// Name that was asked for.
        name: String,
        /// Ports that there are.
        ports: String,
    },
    /// A port of another kind, or of another width.
    #[error("{port}: {what}")]
    Port {
        /// The port.
        port: String,
        /// Fault, and what would be right.
        what: String,
    },
    /// The pins on this side break a rule of their interface.
    #[error("{port}, {channel}, at {time}: {rule}")]
    Pins {
        /// The port.
        port: String,
        /// The channel, as its specification names it.
        channel: String,
        /// The edge at which the pins were like that.
        time: Time,
        /// The rule.
        rule: String,
    },
    /// The platform drives what its port does not have.
    #[error("{port}, at {time}: the platform drives {what}")]
    Platform {
        /// The port.
        port: String,
        /// Time at which it drives.
        time: Time,
        /// Event that it drives, in words.
        what: String,
    },
}
