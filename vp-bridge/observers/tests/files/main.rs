//! Files about a run, as the programs that show them read them.

mod common;
mod memories;
mod timelines;
mod waveforms;
