//! Accesses of parties to registers, memories and streams.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vp_core::Time;
use vp_types::{AccessKind, PortId};

/// An access to registers, memory or a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The port.
    pub port: PortId,
    /// Earliest time.
    pub at: Option<Time>,
    /// Operation that is done there.
    pub operation: Operation,
}

/// Operation of an access.
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
        /// Number of bytes.
        length: u32,
        /// Kind of the access: whether it takes part in the simulation.
        kind: AccessKind,
    },
    /// Writes memory.
    MemoryWrite {
        /// Byte address.
        address: u64,
        /// The bytes.
        data: Bytes,
        /// Mask of the bytes that are written: byte *i* by bit *i* mod 8 of strobe byte ⌊*i*/8⌋. `None`: all.
        strobes: Option<Bytes>,
        /// Kind of the access: whether it takes part in the simulation.
        kind: AccessKind,
    },
    /// Sends bytes into an input stream: the stream accepts all of them, after earlier bytes, or none.
    StreamSend {
        /// The bytes.
        data: Bytes,
        /// Kind of the access: whether it takes its turn among the party's accesses.
        kind: AccessKind,
    },
}

impl Operation {
    /// Returns true if the operation happens at once, and not in its turn.
    #[must_use]
    pub fn is_debug(&self) -> bool {
        matches!(
            self,
            Operation::MemoryRead { kind: AccessKind::Debug, .. }
                | Operation::MemoryWrite { kind: AccessKind::Debug, .. }
                | Operation::StreamSend { kind: AccessKind::Debug, .. }
        )
    }

    /// Returns true if the operation is a register access.
    #[must_use]
    pub fn is_register(&self) -> bool {
        matches!(self, Operation::RegisterRead { .. } | Operation::RegisterWrite { .. })
    }
}
