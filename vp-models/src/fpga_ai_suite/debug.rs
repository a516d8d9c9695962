//! What the debug network answers: counts of the IP's inside, at addresses of our own.

use super::device::Suite;

impl Suite {
    /// The word at an address; zero where there is none.
    pub(super) fn debug_word(&self, address: u32) -> u32 {
        let counts = &self.counts;
        let word = match address {
            0x00 => self.queue.borrow().taken(),
            0x04 => counts.begun.get(),
            0x08 => counts.complete.get(),
            0x0c => counts.failed.get(),
            0x10 => self.queue.borrow().len() as u64,
            0x14 => self.activity.borrow().active().into(),
            0x18 => counts.layers.get(),
            0x1c => self.stream.as_ref().map_or(0, |stream| stream.waiting() as u64),
            _ => 0,
        };
        word as u32
    }
}
