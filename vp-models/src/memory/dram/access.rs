//! Accesses to a channel.

use super::mapping::Location;

/// An access as it comes: a burst of the DRAM, or part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) owner: u64,
    pub(super) write: bool,
    pub(super) at: Location,
    /// First byte and end in the burst.
    pub(super) bytes: (u32, u32),
    pub(super) priority: u8,
}
