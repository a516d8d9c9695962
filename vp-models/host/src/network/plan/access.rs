//! Memory that the steps of a plan touch.

use std::ops::Range;

/// Part of a memory that a step touches.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// The cubes' memories, and behind them the copies that BDMA makes.
    pub(super) storage: usize,
    /// Frames whose copies it touches.
    pub(super) copies: Range<u32>,
    pub(super) surfaces: Range<u32>,
    pub(super) lines: Range<u32>,
}
