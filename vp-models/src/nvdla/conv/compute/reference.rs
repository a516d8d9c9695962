//! The obvious version: step by step, as the hardware accumulates.

use std::ops::Range;

use crate::nvdla::numeric::saturate;

use super::Convolution;
use super::element::Element;
use super::geometry::Kernel;

/// Channels the MAC array takes at once (nv_full's atomic C).
const STEP_CHANNELS: usize = 64;

/// Width of the accumulator.
pub(super) const ACCUMULATOR_BITS: u32 = 48;

/// Sums `[position][kernel]`: for each block of 64 channels, for each tap of the kernel, the exact sum of the
/// products is added to the accumulator, which saturates at 48 bits after each such step.
///
/// The order of steps matters only where [`saturates`](super::saturates) says so. int8 accumulates in 34 bits in
/// hardware, but then no kernel that fits the convolution buffer reaches their end: 2¹⁴ · 480 Ki < 2³³.
pub(super) fn sums<T: Element>(
    convolution: &Convolution<'_, T>,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [i64],
) {
    let width = kernels.len();
    for (position, sums) in positions.zip(sums.chunks_exact_mut(width)) {
        for (k, sum) in kernels.clone().zip(sums) {
            *sum = accumulate(convolution, position, k);
        }
    }
}

fn accumulate<T: Element>(convolution: &Convolution<'_, T>, position: usize, k: usize) -> i64 {
    let (geometry, window, weights) = (convolution.geometry, convolution.window, convolution.weights);
    let Kernel { height, width, channels, dilation } = geometry.kernel;
    let start = geometry.start(position, window.pitch);
    let mut accumulator = 0;
    for block in (0..channels).step_by(STEP_CHANNELS) {
        for r in 0..height {
            for s in 0..width {
                let pixel = start + r * dilation.y * window.pitch + s * dilation.x * channels;
                let step: i64 = (block..channels.min(block + STEP_CHANNELS))
                    .map(|c| window.elements[pixel + c].into() * weights.at(k, r, s, c).into())
                    .sum();
                accumulator = saturate(accumulator + step, ACCUMULATOR_BITS);
            }
        }
    }
    accumulator
}
