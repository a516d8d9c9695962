//! The MAC array's arithmetic, slow and obvious: position by position, kernel by kernel.
//!
//! Pure: knows neither time nor registers. Integer sums are exact; the hardware's accumulators (34 bits at int8,
//! 48 at int16) saturate after each step, which no kernel that fits the convolution buffer reaches at int8:
//! 2¹⁴ · 480 Ki < 2³³.

use crate::nvdla::numeric::saturate;
use std::ops::Range;

/// A pair of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Along a row.
    pub x: usize,
    /// From row to row.
    pub y: usize,
}

/// A kernel's extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Kernel rows, R.
    pub height: usize,
    /// Kernel columns, S.
    pub width: usize,
    /// Channels, C.
    pub channels: usize,
    /// Input pixels from one tap to the next.
    pub dilation: Axes,
}

impl Kernel {
    /// Weights of one kernel.
    pub const fn taps(&self) -> usize {
        self.height * self.width * self.channels
    }
}

/// A kernel and how it moves over its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// What moves.
    pub kernel: Kernel,
    /// Input pixels from one output to the next.
    pub stride: Axes,
    /// Outputs in a row. Position p is column p mod this, and row p div this.
    pub output_width: usize,
}

/// Rows of activations: pixel after pixel, each with exactly the kernel's channels, padding written out.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a, T> {
    /// The rows; the first holds the first tap of position 0.
    pub elements: &'a [T],
    /// Elements from one row to the next.
    pub pitch: usize,
}

/// Width of the accumulator that can be reached.
const ACCUMULATOR_BITS: u32 = 48;

/// Sums `[position][kernel]`; weights lie `[kernel][row][column][channel]`.
///
/// # Panics
/// When a position reads beyond the window, or the kernels beyond the weights.
pub fn sums<T: Copy + Into<i64>>(
    geometry: &Geometry,
    window: Window<'_, T>,
    weights: &[T],
    positions: Range<usize>,
    sums: &mut Vec<i64>,
) {
    let Geometry { kernel, stride, output_width } = *geometry;
    sums.clear();
    for position in positions {
        let (column, row) = (position % output_width, position / output_width);
        let start = row * stride.y * window.pitch + column * stride.x * kernel.channels;
        for weights in weights.chunks_exact(kernel.taps()) {
            let mut taps = weights.chunks_exact(kernel.channels);
            let mut sum: i64 = 0;
            for r in 0..kernel.height {
                for s in 0..kernel.width {
                    let pixel = start
                        + r * kernel.dilation.y * window.pitch
                        + s * kernel.dilation.x * kernel.channels;
                    let activations = &window.elements[pixel..pixel + kernel.channels];
                    for (&activation, &weight) in activations.iter().zip(taps.next().unwrap_or_default()) {
                        sum += activation.into() * weight.into();
                    }
                }
            }
            sums.push(saturate(sum, ACCUMULATOR_BITS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_are_dilated_positions_are_strided() {
        // One channel, kernels of 2 x 2 with a pixel between taps, every second column.
        let geometry = Geometry {
            kernel: Kernel { height: 2, width: 2, channels: 1, dilation: Axes { x: 2, y: 2 } },
            stride: Axes { x: 2, y: 1 },
            output_width: 2,
        };
        let elements: Vec<i8> = (0..20).collect();
        let window = Window { elements: &elements, pitch: 5 };
        let mut found = Vec::new();
        sums(&geometry, window, &[1, 10, 100, -1, 0, 0, 0, 1], 0..4, &mut found);
        let of = |at: i64| [at + 10 * (at + 2) + 100 * (at + 10) - (at + 12), at + 12];
        assert_eq!(found, [0, 2, 5, 7].map(of).concat());
    }
}
