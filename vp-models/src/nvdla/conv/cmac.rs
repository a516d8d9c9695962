//! CMAC_A and CMAC_B, the MAC arrays: each multiplies half of the kernels of a group.
//!
//! They have registers of their own, and nothing to decide: what they compute for which positions the sequence
//! says. A [`Batch`] computes for many positions, and for several groups, at once, when the first of these sums is due.

use super::compute::float::{FloatConvolution, FloatWeights, FloatWindow};
use super::compute::{Convolution, Error, Geometry, MacArray, PackedWeights, Window, fits_i32};
use super::elements::Elements;
use super::hardware::Hardware;
use super::weights::Order;
use crate::nvdla::control::Control;
use crate::nvdla::numeric::Precision;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, cmac as reg};
use std::ops::Range;
use std::rc::Rc;

/// Kernels whose sums are computed at once, if their weights are there: with fewer, the vector paths load each
/// activation for too little use.
const KERNELS_AT_ONCE: usize = 64;

/// The most sums that are held.
const SUMS_AT_ONCE: usize = 1 << 20;

/// The registers of both arrays.
pub(super) struct Arrays {
    pub(super) a: Rc<Control>,
    pub(super) b: Rc<Control>,
}

impl Arrays {
    /// Waits until both have a layer.
    pub(super) async fn turn(&self) -> [Group; 2] {
        [self.a.turn().await.0, self.b.turn().await.0]
    }

    /// Both have done their layer.
    pub(super) fn finish(&self) {
        self.a.finish();
        self.b.finish();
    }

    /// Both must take what the sequence sends: tells whose register says otherwise, and what.
    pub(super) fn check(
        &self,
        groups: &[Group; 2],
        precision: Precision,
        hardware: &Hardware,
    ) -> Result<(), (&Control, Refused)> {
        for (control, group) in [&*self.a, &*self.b].into_iter().zip(groups) {
            let refuse = |field, why| Err((control, Refused::new(group, field, why)));
            if group.flag(reg::d_misc_cfg::CONV_MODE) {
                return refuse(reg::d_misc_cfg::CONV_MODE, "Winograd is not modelled");
            }
            let field = reg::d_misc_cfg::PROC_PRECISION;
            if hardware.precision(group, field).map_err(|refused| (control, refused))? != precision {
                return refuse(field, "CSC sends another format");
            }
        }
        Ok(())
    }
}

/// The sums of a run of positions, `[position][kernel]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// No sum can be wider.
    Narrow(Vec<i32>),
    /// As the accumulator of 48 bits holds them.
    Wide(Vec<i64>),
    /// Of fp16: codes of binary32, as they are delivered.
    Float(Vec<u32>),
}

impl Sums {
    /// These columns of these rows, each `width` wide.
    fn part(&self, rows: Range<usize>, columns: Range<usize>, width: usize) -> Sums {
        fn copy<T: Copy>(sums: &[T], rows: Range<usize>, columns: Range<usize>, width: usize) -> Vec<T> {
            let rows = &sums[rows.start * width..rows.end * width];
            if columns.len() == width {
                return rows.to_vec();
            }
            let mut part = Vec::with_capacity(rows.len() / width.max(1) * columns.len());
            rows.chunks_exact(width).for_each(|row| part.extend_from_slice(&row[columns.clone()]));
            part
        }
        match self {
            Sums::Narrow(sums) => Sums::Narrow(copy(sums, rows, columns, width)),
            Sums::Wide(sums) => Sums::Wide(copy(sums, rows, columns, width)),
            Sums::Float(sums) => Sums::Float(copy(sums, rows, columns, width)),
        }
    }
}

/// How many groups of kernels, of those whose weights are there, are computed together.
pub(super) fn groups_at_once(there: u32, group_kernels: u32, positions: u32) -> u32 {
    let wanted = KERNELS_AT_ONCE.div_ceil(group_kernels.max(1) as usize);
    let held = SUMS_AT_ONCE / (positions as usize * group_kernels as usize).max(1);
    there.min(wanted.min(held) as u32).max(1)
}

/// Weights of some kernels, packed for the arithmetic.
enum Packed {
    Int8(PackedWeights<i8>),
    Int16(PackedWeights<i16>),
    /// With the window, taken apart.
    Fp16(FloatWeights, FloatWindow),
    /// None: sums are left out.
    None,
}

/// Some groups of kernels over a layer's window.
pub(super) struct Batch<'a> {
    array: MacArray,
    geometry: Geometry,
    window: (&'a Elements, usize),
    weights: Packed,
    kernels: usize,
    positions: usize,
    /// Positions computed, and their sums for all kernels.
    computed: Range<usize>,
    sums: Sums,
}

impl<'a> Batch<'a> {
    /// Of kernels with their weights `[kernel][row][column][channel]`, which were in the buffer in that order, over a
    /// window of that pitch, which must hold what the positions reach.
    pub(super) fn new(
        array: MacArray,
        geometry: Geometry,
        window: (&'a Elements, usize),
        weights: (&Elements, &Order),
        positions: usize,
    ) -> Batch<'a> {
        Batch::checked(array, geometry, window, weights, positions).unwrap_or_else(|error| refused(error))
    }

    /// All of whose sums are zero, whatever the kernels.
    pub(super) fn without_sums(
        array: MacArray,
        geometry: Geometry,
        window: (&'a Elements, usize),
    ) -> Batch<'a> {
        let sums = match window.0 {
            Elements::Fp16(_) => Sums::Float(Vec::new()),
            _ => Sums::Narrow(Vec::new()),
        };
        let weights = Packed::None;
        Batch { array, geometry, window, weights, kernels: 0, positions: 0, computed: 0..0, sums }
    }

    fn checked(
        array: MacArray,
        geometry: Geometry,
        window: (&'a Elements, usize),
        (weights, order): (&Elements, &Order),
        positions: usize,
    ) -> Result<Batch<'a>, Error> {
        let kernel = geometry.kernel;
        let kernels = weights.len() / kernel.taps()?;
        let (weights, sums) = match weights {
            Elements::Int8(weights) => {
                let narrow = fits_i32(kernel.taps()?);
                let sums = if narrow { Sums::Narrow(Vec::new()) } else { Sums::Wide(Vec::new()) };
                (Packed::Int8(PackedWeights::pack(kernel, kernels, weights)?), sums)
            }
            Elements::Int16(weights) => {
                (Packed::Int16(PackedWeights::pack(kernel, kernels, weights)?), Sums::Wide(Vec::new()))
            }
            Elements::Fp16(codes) => {
                let steps = order.steps(&kernel, window.1);
                let weights = FloatWeights::pack(steps, kernels, codes)?;
                let activations = match window.0 {
                    Elements::Fp16(codes) => FloatWindow::new(codes, window.1),
                    _ => unreachable!("weights and activations of one layer have one format"),
                };
                (Packed::Fp16(weights, activations), Sums::Float(Vec::new()))
            }
        };
        Ok(Batch { array, geometry, window, weights, kernels, positions, computed: 0..0, sums })
    }

    /// The sums of some positions for some of the kernels. Positions are asked for in order, unless all are held.
    pub(super) fn of(&mut self, positions: Range<usize>, kernels: Range<usize>) -> Sums {
        if let Packed::None = self.weights {
            let count = positions.len() * kernels.len();
            return match self.sums {
                Sums::Float(_) => Sums::Float(vec![0; count]),
                _ => Sums::Narrow(vec![0; count]),
            };
        }
        if positions.start < self.computed.start || positions.end > self.computed.end {
            let run = (SUMS_AT_ONCE / self.kernels.max(1)).max(positions.len());
            self.computed = positions.start..(positions.start + run).min(self.positions);
            self.compute().unwrap_or_else(|error| refused(error));
        }
        let first = self.computed.start;
        self.sums.part(positions.start - first..positions.end - first, kernels, self.kernels)
    }

    fn compute(&mut self) -> Result<(), Error> {
        let Batch { array, geometry, window: (window, pitch), weights, kernels, computed, sums, .. } = self;
        let (geometry, pitch, positions, kernels) = (*geometry, *pitch, computed.clone(), 0..*kernels);
        let count = positions.len() * kernels.len();
        match (window, &*weights, sums) {
            (Elements::Int8(elements), Packed::Int8(weights), Sums::Narrow(sums)) => {
                sums.resize(count, 0);
                let convolution = Convolution::new(geometry, Window { elements, pitch }, weights)?;
                array.accumulate(&convolution, positions, kernels, sums)
            }
            (Elements::Int8(elements), Packed::Int8(weights), Sums::Wide(sums)) => {
                sums.resize(count, 0);
                let convolution = Convolution::new(geometry, Window { elements, pitch }, weights)?;
                array.accumulate_wide(&convolution, positions, kernels, sums)
            }
            (Elements::Int16(elements), Packed::Int16(weights), Sums::Wide(sums)) => {
                sums.resize(count, 0);
                let convolution = Convolution::new(geometry, Window { elements, pitch }, weights)?;
                array.accumulate_wide(&convolution, positions, kernels, sums)
            }
            (_, Packed::Fp16(weights, window), Sums::Float(sums)) => {
                sums.resize(count, 0);
                let convolution = FloatConvolution::new(geometry, window, weights)?;
                array.accumulate_float(&convolution, positions, kernels, sums)
            }
            _ => unreachable!("weights and activations of one layer have one format"),
        }
    }
}

/// A decoded layer's kernels have taps, and its window all that they reach.
fn refused(error: Error) -> ! {
    unreachable!("a checked layer cannot be computed: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::conv::compute::{Axes, Kernel};

    #[test]
    fn groups_are_computed_together_where_their_sums_can_be_held() {
        assert_eq!(groups_at_once(9, 8, 100), 8);
        assert_eq!(groups_at_once(3, 8, 100), 3);
        assert_eq!(groups_at_once(9, 32, 100), 2);
        assert_eq!(groups_at_once(9, 32, 1 << 20), 1);
    }

    #[test]
    fn a_group_gets_its_own_columns_of_the_sums() {
        // One pixel, one channel a position; three kernels, the last of which is a group of its own.
        let geometry = Geometry {
            kernel: Kernel { height: 1, width: 1, channels: 1, dilation: Axes::ONE },
            stride: Axes::ONE,
            output_width: 4,
        };
        let (window, weights) = (Elements::Int8(vec![1, 2, 3, 4]), Elements::Int8(vec![1, 10, 100]));
        let order = Order { channels: 1, columns: 1, rows: 1, block: 64, row_group: 1 };
        let mut batch = Batch::new(MacArray::default(), geometry, (&window, 4), (&weights, &order), 4);
        let mut of = |positions, kernels| batch.of(positions, kernels);
        assert_eq!(of(1..3, 0..2), Sums::Narrow(vec![2, 20, 3, 30]));
        assert_eq!(of(3..4, 0..2), Sums::Narrow(vec![4, 40]));
        assert_eq!(of(0..2, 2..3), Sums::Narrow(vec![100, 200]));
    }
}
