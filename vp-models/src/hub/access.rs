//! Accesses of parties to registers, memories and streams.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vp_core::Time;

use super::ids::PortIndex;

/// An access to registers, memory or a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The port.
    pub port: PortIndex,
    /// Not earlier than this.
    pub at: Option<Time>,
    /// What is done there.
    pub operation: Operation,
}

/// What an access does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Reads a 32-bit register.
    RegisterRead {
        /// Byte address.
        address: u64,
    },
    /// Writes a 32-bit register.
    RegisterWrite {
        /// Byte address.
        address: u64,
        /// The word.
        value: u32,
    },
    /// Reads memory.
    MemoryRead {
        /// Byte address.
        address: u64,
        /// How many bytes.
        length: u32,
        /// Whether it takes part in the simulation.
        kind: AccessKind,
    },
    /// Writes memory.
    MemoryWrite {
        /// Byte address.
        address: u64,
        /// The bytes.
        data: Bytes,
        /// Which of them are written: byte *i* by bit *i* mod 8 of strobe byte ⌊*i*/8⌋. `None`: all.
        strobes: Option<Bytes>,
        /// Whether it takes part in the simulation.
        kind: AccessKind,
    },
    /// Sends bytes into an input stream: the stream accepts all of them, after earlier bytes, or none.
    StreamSend {
        /// The bytes.
        data: Bytes,
        /// Whether it takes its turn among the party's accesses.
        kind: AccessKind,
    },
}

impl Operation {
    /// Whether it happens at once, and not in its turn.
    #[must_use]
    pub fn is_debug(&self) -> bool {
        matches!(
            self,
            Operation::MemoryRead { kind: AccessKind::Debug, .. }
                | Operation::MemoryWrite { kind: AccessKind::Debug, .. }
                | Operation::StreamSend { kind: AccessKind::Debug, .. }
        )
    }

    /// Whether it is a register access.
    #[must_use]
    pub fn is_register(&self) -> bool {
        matches!(self, Operation::RegisterRead { .. } | Operation::RegisterWrite { .. })
    }
}

/// Whether an access to memory or a stream takes part in the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Takes its turn among the party's accesses.
    Timed,
    /// Happens at once, without the bus: for loaders and debuggers (`transport_dbg`).
    Debug,
}
