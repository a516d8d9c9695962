//! Files about a run, as the programs that show them read them.

mod common;
mod timelines;
mod waveforms;
