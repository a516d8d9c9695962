//! Figures of a plan's steps that are known before anything runs: cut, banks, bytes, and an estimate of cycles.
//!
//! A hardware layer is estimated to take as long as its slowest part: the products of the MAC array; the bytes that it reads, at DBBIF's
//! width, or, if these are more, at as many bursts at once as may be in flight at the latency for which the configuration is built; the
//! bytes that it writes, at DBBIF's width; and the elements that go through SDP, PDP or CDP, at their throughput. [`LAYER_CYCLES`] come
//! on top. The platform's memory is not in it, nor what hardware layers do at the same time.

use super::parts::{LAYER_CYCLES, read_cycles};
use crate::network::layout::MemoryAddress;
use std::ops::Range;
use vp_models::nvdla::config::Config;

/// Figures of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepOutline {
    /// Part of a convolution, if the step is one.
    pub cut: Option<CutOutline>,
    /// Bytes of cubes that it reads.
    pub input_bytes: u64,
    /// Bytes of weights, biases and other constants that it reads.
    pub weight_bytes: u64,
    /// Bytes that it writes.
    pub output_bytes: u64,
    /// Start of the cube of which it writes some or all.
    pub output: Option<MemoryAddress>,
    /// Estimated cycles; none of copies by BDMA, which are made while other steps run, and of the CPU's steps.
    pub cycles: u64,
}

/// Part of a convolution that is one hardware layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutOutline {
    /// Lines of the output.
    pub lines: Range<u32>,
    /// Kernels.
    pub kernels: Range<u32>,
    /// Lines of the input that lie under the windows.
    pub input_lines: Range<u32>,
    /// Banks of the convolution buffer for input.
    pub data_banks: u32,
    /// Banks of the convolution buffer for weights.
    pub weight_banks: u32,
    /// True if the hardware layer before has left its weights in the buffer.
    pub weights_are_there: bool,
}

/// Elements that go through units, and their products.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// Cycles of the MAC array.
    pub(super) mac_cycles: u64,
    /// Elements through SDP.
    pub(super) sdp: u64,
    /// Elements into PDP.
    pub(super) pdp: u64,
    /// Elements through CDP.
    pub(super) cdp: u64,
}

/// The estimate of a hardware layer's cycles.
pub(super) fn cycles(outline: &StepOutline, flow: Flow, config: &Config) -> u64 {
    let at = |elements: u64, throughput: u32| elements.div_ceil(throughput.max(1).into());
    let sdp = [config.sdp_bs_throughput, config.sdp_bn_throughput].into_iter().max().unwrap_or(1);
    [
        flow.mac_cycles,
        read_cycles(outline.input_bytes + outline.weight_bytes, config),
        outline.output_bytes.div_ceil(config.primary().width_bytes.into()),
        at(flow.sdp, sdp),
        at(flow.pdp, config.pdp_throughput),
        at(flow.cdp, config.cdp_throughput),
    ]
    .into_iter()
    .max()
    .unwrap_or_default()
        + LAYER_CYCLES
}
