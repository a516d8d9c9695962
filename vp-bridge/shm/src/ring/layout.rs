//! The layout of a ring: `docs/protocol.md`, "The register ring".

use super::sync::{AtomicU32, AtomicU64, Mapping};

/// Bytes of a ring's memory.
pub const BYTES: u64 = 0x2000;
/// Accesses, and answers, that there are places for. The model checker has to fill the ring in few steps.
pub const ENTRIES: u32 = if cfg!(loom) { 2 } else { 64 };

/// "VPRG".
#[cfg(not(loom))]
pub(super) const MAGIC: u32 = u32::from_le_bytes(*b"VPRG");
#[cfg(not(loom))]
pub(super) const VERSION: u32 = 1;

pub(super) const SIZE: usize = 32;
pub(super) const REQUESTS: usize = 0x100;
pub(super) const REPLIES: usize = REQUESTS + ENTRIES as usize * SIZE;

pub(super) const READ: u32 = 0;
pub(super) const WRITE: u32 = 1;
pub(super) const POSTED: u32 = 2;
/// Added to the kind of a request whose `at` counts.
pub(super) const HAS_AT: u32 = 1 << 8;

/// A ring's memory.
#[derive(Debug)]
pub(super) struct Memory(pub(super) Mapping);

/// An access in memory.
pub(super) struct RequestEntry<'a> {
    pub(super) turn: &'a AtomicU32,
    pub(super) kind: &'a AtomicU32,
    pub(super) address: &'a AtomicU64,
    pub(super) at: &'a AtomicU64,
    pub(super) value: &'a AtomicU32,
}

/// An answer in memory.
pub(super) struct ReplyEntry<'a> {
    pub(super) turn: &'a AtomicU32,
    pub(super) code: &'a AtomicU32,
    pub(super) value: &'a AtomicU32,
    pub(super) line: &'a AtomicU32,
    pub(super) time: &'a AtomicU64,
}

#[cfg(not(loom))]
impl Memory {
    pub(super) fn magic(&self) -> &AtomicU32 {
        self.0.word(0)
    }

    pub(super) fn version(&self) -> &AtomicU32 {
        self.0.word(4)
    }

    pub(super) fn entries(&self) -> &AtomicU32 {
        self.0.word(8)
    }
}

impl Memory {
    /// The client's: whether it wants its bell rung.
    pub(super) fn client_sleeps(&self) -> &AtomicU32 {
        self.0.word(0x40)
    }

    /// The server's: how many accesses it has taken.
    pub(super) fn taken(&self) -> &AtomicU32 {
        self.0.word(0x80)
    }

    /// The server's: whether it wants its bell rung.
    pub(super) fn server_sleeps(&self) -> &AtomicU32 {
        self.0.word(0xc0)
    }

    /// The server's: the interrupt line as it is.
    pub(super) fn line(&self) -> &AtomicU32 {
        self.0.word(0xc4)
    }

    pub(super) fn request(&self, number: u32) -> RequestEntry<'_> {
        let at = REQUESTS + (number % ENTRIES) as usize * SIZE;
        RequestEntry {
            turn: self.0.word(at),
            kind: self.0.word(at + 4),
            address: self.0.long(at + 8),
            at: self.0.long(at + 16),
            value: self.0.word(at + 24),
        }
    }

    pub(super) fn reply(&self, number: u32) -> ReplyEntry<'_> {
        let at = REPLIES + (number % ENTRIES) as usize * SIZE;
        ReplyEntry {
            turn: self.0.word(at),
            code: self.0.word(at + 4),
            value: self.0.word(at + 8),
            line: self.0.word(at + 12),
            time: self.0.long(at + 16),
        }
    }
}
