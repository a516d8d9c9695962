//! Counts that CDP makes of a layer.

use super::lut;
use crate::nvdla::float::SpecialCounts;

/// Counts of a layer's statistics registers, in elements. Lanes beyond the channels count like all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Of the lookup table.
    pub lut: lut::Counters,
    /// Results the output converter had to clamp; none in fp16.
    pub out_saturation: u64,
    /// Inputs that are no finite numbers, before they are flushed.
    pub input: SpecialCounts,
    /// Results that are not numbers.
    pub nan_output: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.lut += other.lut;
        self.out_saturation += other.out_saturation;
        self.input += other.input;
        self.nan_output += other.nan_output;
    }
}
