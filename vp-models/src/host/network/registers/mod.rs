//! A hardware layer's registers, as a driver writes them: a file a pipeline.
//!
//! Values are quantities; the table of registers knows how they are encoded.

mod convolution;
mod normalisation;
mod pooling;
mod sdp;

pub(super) use convolution::{Convolve, Pixels, convolution};
pub(super) use normalisation::{normalisation, tables};
pub(super) use pooling::{Pool, Strips, pooling};
pub(super) use sdp::{Operand, Process, Stage, process};

/// How many cubes a hardware layer takes, and the bytes from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cubes {
    pub(super) count: u32,
    pub(super) stride: u32,
}

impl Cubes {
    pub(super) const ONE: Cubes = Cubes { count: 1, stride: 0 };
}

/// `IN_PRECISION`, `PROC_PRECISION`, `OUT_PRECISION` of all units.
const INT8: u32 = 0;
/// `RAM_TYPE` of all units: the primary memory.
const PRIMARY: u32 = 1;

fn low(address: u64) -> u32 {
    address as u32
}

fn high(address: u64) -> u32 {
    (address >> 32) as u32
}
