//! A network's hardware layers as the engines know them: a file a pipeline. Their encoders know the registers.

mod convolution;
mod look_up;
mod normalisation;
mod pooling;
mod sdp;

pub(super) use convolution::{Convolve, Pixels, PlacedWeights};
pub(super) use look_up::{entries, settings};
pub(super) use normalisation::{normalisation, tables};
pub(super) use pooling::{Pool, is_whole};
pub(super) use sdp::{Alu, Factor, Operand, Process, Stage, half};

use super::description;
use vp_models::nvdla::numeric::Converter;

/// Number of cubes that a hardware layer takes, and the bytes from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cubes {
    pub(super) count: u32,
    pub(super) stride: u32,
}

impl Cubes {
    pub(super) const ONE: Cubes = Cubes { count: 1, stride: 0 };
}

/// A shift as the engines have it. One that is too large for them is too large for each register.
fn narrow(shift: u32) -> u8 {
    u8::try_from(shift).unwrap_or(u8::MAX)
}

impl description::Converter {
    fn of_hardware(self) -> Converter {
        Converter { offset: self.offset, scale: self.scale, shift: narrow(self.shift) }
    }
}
