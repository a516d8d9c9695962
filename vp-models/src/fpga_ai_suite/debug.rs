//! Answers of the debug network: counts of the IP's inside, at addresses of our own.

use super::device::Suite;

/// Requests taken since power-on.
pub const REQUESTS: u32 = 0x00;
/// Jobs begun.
pub const BEGUN: u32 = 0x04;
/// Jobs complete.
pub const COMPLETE: u32 = 0x08;
/// Jobs refused.
pub const FAILED: u32 = 0x0c;
/// Descriptors that wait.
pub const QUEUED: u32 = 0x10;
/// Jobs that are active.
pub const ACTIVE: u32 = 0x14;
/// Layers computed.
pub const LAYERS: u32 = 0x18;
/// Bytes that were sent into the stream and not taken.
pub const STREAM_WAITING: u32 = 0x1c;

impl Suite {
    /// The word at an address; zero where there is none.
    pub(super) fn debug_word(&self, address: u32) -> u32 {
        let counts = &self.counts;
        let word = match address {
            REQUESTS => self.queue.borrow().taken(),
            BEGUN => counts.begun.get(),
            COMPLETE => counts.complete.get(),
            FAILED => counts.failed.get(),
            QUEUED => self.queue.borrow().len() as u64,
            ACTIVE => self.activity.borrow().active().into(),
            LAYERS => counts.layers.get(),
            STREAM_WAITING => self.stream.as_ref().map_or(0, |stream| stream.waiting() as u64),
            _ => 0,
        };
        word as u32
    }
}
