//! Where everything lies: `docs/protocol.md`, "The register ring".

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::RingError;
use crate::memory::Mapping;
use crate::{Region, RegionError};

/// Bytes of a ring's memory.
pub const BYTES: u64 = 0x2000;
/// Accesses, and answers, that there are places for.
pub const ENTRIES: u32 = 64;

/// "VPRG".
pub(super) const MAGIC: u32 = u32::from_le_bytes(*b"VPRG");
pub(super) const VERSION: u32 = 1;

const SIZE: usize = 32;
const REQUESTS: usize = 0x100;
const REPLIES: usize = REQUESTS + ENTRIES as usize * SIZE;

pub(super) const READ: u32 = 0;
pub(super) const WRITE: u32 = 1;
pub(super) const POSTED: u32 = 2;
/// Added to the kind of a request whose `at` counts.
pub(super) const HAS_AT: u32 = 1 << 8;

/// A ring's memory.
#[derive(Debug)]
pub(super) struct Memory(Mapping);

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

impl Memory {
    pub(super) fn map(file: impl AsFd) -> Result<Self, RingError> {
        // The same checks as for any region: above all that it cannot shrink.
        drop(Region::map(&file, 0, BYTES)?);
        let mapping = Mapping::new(file, 0, BYTES as usize).map_err(RegionError::from)?;
        Ok(Self(mapping))
    }

    pub(super) fn magic(&self) -> &AtomicU32 {
        self.0.word(0)
    }

    pub(super) fn version(&self) -> &AtomicU32 {
        self.0.word(4)
    }

    pub(super) fn entries(&self) -> &AtomicU32 {
        self.0.word(8)
    }

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
