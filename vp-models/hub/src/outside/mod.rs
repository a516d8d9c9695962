//! Memory outside the platform: bursts become requests to the party that owns it, its answers complete them.

mod memory;
mod requests;

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

pub(super) use memory::OutsideMemory;
pub(super) use requests::{AnswerReceiver, HubNotice, OrderedOwner, Requests};

/// Bytes that a platform can access without asking their owner, such as mapped memory.
pub trait DirectMemory {
    /// Reads bytes from an offset on. `false`: not all of them exist.
    fn read(&self, offset: u64, into: &mut [u8]) -> bool;

    /// Writes bytes from an offset on. `false`: not all of them exist.
    fn write(&self, offset: u64, bytes: &[u8]) -> bool;
}

/// A part of a memory outside that is accessed directly.
#[derive(Clone)]
pub struct DirectRange {
    /// Addresses of the range.
    pub range: Range<u64>,
    /// Bytes of the range: the first one is that of the first address.
    pub memory: Rc<dyn DirectMemory>,
}

impl fmt::Debug for DirectRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectRange").field("range", &self.range).finish_non_exhaustive()
    }
}
