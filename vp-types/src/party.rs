//! Parties at a platform, the ports, and what one may do at a port.

use serde::{Deserialize, Serialize};

/// Number of a party: a session of a server, or a program in the same process. It is never given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartyId(pub u64);

/// Position of a port in the list of a platform's ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortId(pub u16);

/// Role of a party at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Initiator of accesses: a CPU at registers, a loader or a DMA engine at memory.
    Initiator,
    /// Target of accesses: a memory, or a device.
    Target,
    /// Drives an interrupt line.
    Source,
    /// Watches an interrupt line.
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

/// Kind of an access to memory or a stream: whether it takes part in the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Goes over the simulated bus, takes its turn and its time.
    Timed,
    /// Happens at once, without the bus: for loaders and debuggers (`transport_dbg`).
    Debug,
}
