//! Timelines in Perfetto's format: what units do and wait for, memory traffic, interrupts, register accesses, on tracks.

mod packets;
pub mod proto;
mod stalls;
mod tracks;
mod writer;

pub(crate) use writer::Timeline;

/// Cycles of a window: counters have one value in each.
const WINDOW: u64 = 1024;
/// Cycles without any burst of a client after which its next one is a slice of its own.
const PAUSE: u64 = 64;
/// Cycles from which on a stall is a slice; those of any length are counted.
const SHORTEST_STALL: u64 = 64;
