//! The outputs of a hub: plain values that can be stored, and that belong to no protocol.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use vp_core::Time;
use vp_core::observe::WarningMarks;
use vp_types::{AccessKind, PartyId, PortId, StopReport, Why};

use super::ids::{RequestId, Tag};
use super::partner::{PortEvent, Promise};

/// One thing that a hub tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// A command is over.
    Completed {
        /// The party of the command.
        party: PartyId,
        /// Tag of the command.
        tag: Tag,
        /// Time at which it took effect.
        time: Time,
        /// Result of the command.
        result: Result<Completion, Failure>,
    },
    /// A request to the owner of a memory outside, to be answered by [`Input::Answer`](super::Input::Answer).
    Request {
        /// The owner.
        party: PartyId,
        /// The name of the request.
        request: RequestId,
        /// The memory port.
        port: PortId,
        /// Access that is asked for.
        access: MemoryAccess,
    },
    /// An interrupt line has changed; also sent to a party on attaching, with the present level.
    Level {
        /// The party that listens.
        party: PartyId,
        /// The line.
        port: PortId,
        /// True if it is high.
        level: bool,
        /// Time since which it has the level.
        time: Time,
    },
    /// A posted write was not done.
    PostedFailed {
        /// The party that wrote.
        party: PartyId,
        /// Time of the failure.
        time: Time,
        /// Reason.
        failure: Failure,
    },
    /// A port drives something for a partner.
    Driven {
        /// The partner.
        party: PartyId,
        /// The port.
        port: PortId,
        /// The edge at which the partner sees it.
        at: Time,
        /// Event that is driven.
        event: PortEvent,
    },
    /// The platform promises a partner to be silent.
    Promised {
        /// The partner.
        party: PartyId,
        /// Promise that is made.
        promise: Promise,
    },
    /// A party has broken the contract of time, or the rules of a port. It holds no ports any more.
    Expelled {
        /// The party that broke the contract.
        party: PartyId,
        /// Time of the break.
        time: Time,
        /// Failure that names the port and the rule.
        failure: Failure,
    },
    /// Time stands, by a debugger's will.
    Stopped {
        /// The receivers: each debugger, except the one whose command this completes; and all parties when a
        /// debugger stops time for the first time.
        party: PartyId,
        /// Report that says where time stands, and why.
        report: StopReport,
    },
    /// A warning for people, at every party.
    Warning {
        /// Severity: whether anything is wrong.
        severity: Severity,
        /// Time at which it happened.
        time: Time,
        /// Text that says what, where, and what would be right.
        text: String,
        /// Marks by which programs judge a run.
        marks: WarningMarks,
    },
}

impl Output {
    /// The receiver; `None`: all parties.
    #[must_use]
    pub fn party(&self) -> Option<PartyId> {
        match self {
            Output::Completed { party, .. }
            | Output::Request { party, .. }
            | Output::Level { party, .. }
            | Output::PostedFailed { party, .. }
            | Output::Driven { party, .. }
            | Output::Promised { party, .. }
            | Output::Expelled { party, .. }
            | Output::Stopped { party, .. } => Some(*party),
            Output::Warning { .. } => None,
        }
    }
}

/// Severity of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// A note: all is as it should be.
    Note,
    /// Something is lost, or was not done.
    Warning,
}

/// Access that is asked of a memory outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub length: u32,
    /// The bytes to write and which of them (see [`Operation::MemoryWrite`](super::Operation::MemoryWrite));
    /// `None`: a read.
    pub write: Option<(Bytes, Option<Bytes>)>,
    /// Kind of the access: whether it is a burst of the simulated bus.
    pub kind: AccessKind,
    /// The burst's transaction id.
    pub axi_id: u16,
    /// Time at which the burst was issued.
    pub at: Option<Time>,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completion {
    /// The command is done.
    Done,
    /// The register's word.
    Value(u32),
    /// The memory's bytes.
    Data(Bytes),
    /// Time has moved.
    Reached(Why),
    /// Everything up to the time of a Step is done, and the memories outside have answered.
    Stepped {
        /// The time of the next event, if nothing comes before; `None`: there is none.
        next: Option<Time>,
    },
    /// Time stands, by a debugger's will.
    Stopped(StopReport),
}

/// Reason for which a command was not carried out. No part of it was, unless the reason says so.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{reason}")]
pub struct Failure {
    /// Kind of the failure, for programs.
    pub kind: FailureKind,
    /// Reason for people: what was wrong, and what would be right.
    pub reason: String,
}

impl Failure {
    /// A failure, with its reason for people.
    #[must_use]
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Failure {
        Failure { kind, reason: reason.into() }
    }
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// A port that does not exist.
    NoSuchPort,
    /// The port does not have that role, or the role does not allow this command.
    WrongRole,
    /// Another party holds the port already.
    PortBusy,
    /// The party does not hold the port, or lacks what the command needs.
    NotAttached,
    /// Addresses outside the port's window, or invalid times.
    BadRange,
    /// A register address that is no multiple of 4.
    Misaligned,
    /// No register there.
    DecodeError,
    /// The target could not do it.
    SlaveError,
    /// The stream has no room for the bytes now, or the device does not listen to it; no byte was accepted.
    NotAccepted,
    /// A request that does not suit the time mode.
    WrongTimeMode,
    /// A partner does not keep to the contract of time, or to the rules of its port.
    ContractBroken,
    /// Simulated time does not move, however much the platform does; only a reset helps.
    Livelock,
    /// The command was cancelled by a reset, or because a party left.
    Cancelled,
    /// A request that this platform or port cannot do.
    Unsupported,
    /// The platform's own fault.
    Internal,
    /// The limit of the host's memory for the platform is reached.
    OutOfMemory,
    /// A state that is to be taken up is none of this platform.
    WrongState,
}
