//! Names of parties, ports and requests.

use serde::{Deserialize, Serialize};

/// Identifies a party. The adapter that brings in the party chooses the number and does not use it for another
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartyId(pub u64);

/// Identifies a command of a party until it is completed. The party chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag(pub u64);

/// Position of a port in [`Hub::ports`](super::Hub::ports).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortIndex(pub u16);

/// Identifies a request to the owner of a memory outside until it is answered. The hub chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// Role of a party at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Sends requests.
    Initiator,
    /// Answers them.
    Target,
    /// Drives a line.
    Source,
    /// Listens to a line.
    Sink,
}

impl Role {
    /// The other side of a link between two ports.
    #[must_use]
    pub fn opposite(self) -> Role {
        match self {
            Role::Initiator => Role::Target,
            Role::Target => Role::Initiator,
            Role::Source => Role::Sink,
            Role::Sink => Role::Source,
        }
    }

    /// The role in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Initiator => "initiator",
            Role::Target => "target",
            Role::Source => "source",
            Role::Sink => "sink",
        }
    }
}
