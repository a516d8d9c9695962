//! The way of a write client's lines from its engine to the arbiter.
//!
//! A line is a header and its atoms in one stream. Of branch nv_small and of `master` each burst is one beat:
//!
//! ```text
//! engine → lanes → DMAIF → pipe_p1 → pipe_p2 ┬→ header of a line: pipe_p3
//!                                            └→ data FIFO → commands in front of the arbiter
//! ```
//!
//! Branch nvdlav1 gathers the beats of an aligned block, and requests the arbiter for all of them at once:
//!
//! ```text
//! engine → pipe_p1 → pipe_p2 ┬→ header of a line: pipe_p3
//!                            └→ dfifo → beats of a block → dfifo in front of the arbiter
//! ```
//!
//! * `config`: the places of such a way, the lanes between engine and DMAIF, and how far ahead an engine begins its bursts.
//! * `registers`: the first way, place by place; `times` keeps when the last items got to each.
//! * `gathering`: the second way, by its beats and blocks at the arbiter.

mod config;
mod gathering;
mod registers;
mod times;

pub use config::{Begin, WriteLanes, WritePathConfig};
pub(crate) use gathering::WriteGatherer;
pub use gathering::WriteGathering;
pub(super) use registers::WritePath;
