//! Companions of an atom of data on its way through SDP's stages: its operands, and what it adds to the counters.

use super::lut;
use crate::nvdla::float::SpecialCounts;

/// Counts of the statistics registers, and the outcome of a comparison.
///
/// Lanes beyond the channel count are counted like real ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtomCounters {
    /// `D_PERF_OUT_SATURATION`: results that the converter's clamp to 17 bits changes by more than one. The clamp to 8 or 16
    /// bits behind it is not counted. Of fp16 output: the largest numbers, whatever made them.
    pub out_saturation: u64,
    /// `D_PERF_LUT_*`.
    pub lut: lut::Counters,
    /// `D_STATUS_NAN_INPUT_NUM` and `D_STATUS_INF_INPUT_NUM` of SDP_RDMA: counts in the data from memory,
    /// before it is flushed.
    pub input: SpecialCounts,
    /// `D_STATUS_NAN_OUTPUT_NUM`: results that are not numbers.
    pub nan_output: u64,
    /// `D_STATUS`: a byte that goes to the write DMA is not 0, in every layer: the hardware has no other test for the outcome of a
    /// comparison (`EQL`), which is 1 where the two differ (RTL, `NV_NVDLA_SDP_WDMA_DAT_out.v`, `dfifo0_unequal`).
    pub unequal: bool,
}

impl std::ops::AddAssign for AtomCounters {
    fn add_assign(&mut self, other: Self) {
        self.out_saturation += other.out_saturation;
        self.lut += other.lut;
        self.input += other.input;
        self.nan_output += other.nan_output;
        self.unequal |= other.unequal;
    }
}

/// The memory operands of one atom, as they lie in memory; empty for stages without memory operands.
///
/// Lengths are [`OperandStream::group_bytes`](super::layer::OperandStream::group_bytes).
#[derive(Clone, Copy, Debug, Default)]
pub struct AtomOperands<'a> {
    /// Operands of stage BS.
    pub bs: &'a [u8],
    /// Operands of stage BN.
    pub bn: &'a [u8],
    /// Operands of the element-wise stage.
    pub ew: &'a [u8],
}

/// An atom of a layer, or the first of some that are alike.
#[derive(Clone, Copy)]
pub(super) struct AtomPosition {
    pub(super) surface: u32,
    pub(super) line: u64,
    pub(super) column: u64,
    /// In its surface.
    pub(super) pixel: u64,
}

impl AtomPosition {
    /// Returns the surface, and the place in it.
    pub(super) fn in_surface(self) -> (u32, u64) {
        (self.surface, self.pixel)
    }
}
