//! Register accesses and their answers in shared memory, without a system call while both sides are awake.
//!
//! The *client* makes the memory and sends accesses; the *server* maps it and answers. There are [`ENTRIES`]
//! places for accesses and as many for answers. An entry carries its own number, stored last. So a side that
//! waits for an entry reads only its number, and one cache line has to come. No side takes a position in memory
//! from the other. Each counts by itself, and a number that is not the expected one means that the entry has
//! not come yet. So whatever a peer writes, the worst result is that it is not understood.
//!
//! A side that is about to sleep sets a flag first and then looks once more (`wakeup.rs`). A side that has
//! written or taken an entry checks whether the other sleeps, and rings its bell. [`Client::wait`] and
//! [`Server::fall_asleep`] are the ways to sleep. The layout is specified in `docs/protocol.md`, "The register
//! ring".
//!
//! Built with `--cfg loom`, the same code runs in the model checker loom: `model.rs`.

mod client;
mod layout;
#[cfg(loom)]
mod model;
mod server;
#[cfg(not(loom))]
mod shared;
mod sync;
#[cfg(all(test, not(loom)))]
mod tests;
mod wait;
mod wakeup;

pub use client::{Client, LineReader};
pub use layout::{BYTES, ENTRIES};
pub use server::{BadEntry, Server};
pub use wait::Wait;

use std::io;

use thiserror::Error;

use crate::RegionError;

/// Kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The value of a register.
    Read,
    /// Store of a value, with an answer.
    Write(u32),
    /// Store of a value, without an answer.
    Posted(u32),
}

/// A register access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Kind of the access.
    pub access: Access,
    /// Byte address.
    pub address: u64,
    /// Earliest time, in picoseconds.
    pub at: Option<u64>,
}

/// The answer to a read, or to a write that is not posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// 0, or the protocol's error code.
    pub code: u32,
    /// The value read.
    pub value: u32,
    /// Time at which the access took effect, in picoseconds.
    pub time: u64,
    /// The interrupt line as it was then.
    pub line: Line,
}

/// The level of an interrupt line, and the number of its changes, which tells the newer of two levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line(u32);

impl Line {
    /// The level.
    pub fn level(self) -> bool {
        self.0 & 1 == 1
    }

    /// The next one, with this level.
    #[must_use]
    pub fn changed(self, level: bool) -> Self {
        Self((self.0 | 1).wrapping_add(1) | u32::from(level))
    }

    /// Returns true if this is later than the other.
    pub fn is_newer(self, than: Self) -> bool {
        let apart = (self.0 >> 1).wrapping_sub(than.0 >> 1) & (u32::MAX >> 1);
        apart != 0 && apart < 1 << 30
    }
}

/// Reason for which there is no ring.
#[derive(Debug, Error)]
pub enum RingError {
    /// The memory cannot be used.
    #[error("the ring's memory: {0}")]
    Memory(#[from] RegionError),
    /// The memory is not a ring, or is one of another kind.
    #[error("the ring's memory does not begin as one of {ENTRIES} entries and {BYTES} bytes does")]
    Layout,
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}
