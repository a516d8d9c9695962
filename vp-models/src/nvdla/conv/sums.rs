//! The sums of a layer in the order of the positions: their operands, and the portions in which they are
//! computed.
//!
//! A [`Batch`] computes for many positions, and for several groups of kernels, at once, when the first of these sums is
//! due.

use super::compute::float::{FloatConvolution, FloatWeights, FloatWindow};
use super::compute::winograd::{self, Tiles, TransformedWeights, TransformedWindow};
use super::compute::{Axes, Convolution, Error, Geometry, Kernel, MacArray, PackedWeights, Window, fits_i32};
use super::elements::Elements;
use super::weights::Order as WeightOrder;
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::{Order, Run};
use std::ops::Range;

/// Kernels whose sums are computed at once, if their weights are there: with fewer, the vector paths load each
/// activation for too little use.
const KERNELS_AT_ONCE: usize = 64;

/// The most sums that are held.
const SUMS_AT_ONCE: usize = 1 << 20;

/// About so many products are computed before others have a turn, and a few lines more: parts of a second, also of fp16. A run that
/// is to end does so between two such computations.
const PRODUCTS_AT_ONCE: usize = 1 << 28;

/// Returns the number of positions that are computed together for so many kernels of so many taps.
fn positions_at_once(kernels: usize, taps: usize) -> usize {
    (SUMS_AT_ONCE / kernels.max(1)).min(PRODUCTS_AT_ONCE / (kernels * taps).max(1))
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
    /// Returns these columns of these rows, each `width` wide.
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

/// Returns the number of groups of kernels, of those whose weights are there, that are computed together.
pub(super) fn groups_at_once(there: u32, group_kernels: u32, positions: u32, taps: usize) -> u32 {
    let wanted = KERNELS_AT_ONCE.div_ceil(group_kernels.max(1) as usize);
    let held = positions_at_once(group_kernels as usize, taps) / (positions as usize).max(1);
    there.min(wanted.min(held) as u32).max(1)
}

/// Shape of a layer's sums: all that they are of, but for the numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) geometry: Geometry,
    /// Elements of a window from a line to the next.
    pub(super) pitch: usize,
    /// Order in which positions pass.
    pub(super) order: Order,
    /// Output columns and lines.
    pub(super) size: [usize; 2],
}

impl Shape {
    /// Positions of all cubes.
    fn positions(&self) -> usize {
        self.size[0] * self.size[1] * self.order.cubes() as usize
    }

    fn tiles(&self) -> Tiles {
        Tiles::of_output(self.size, self.geometry.kernel.channels, self.pitch)
    }

    /// Tiles as positions of kernels of one place.
    fn tile_geometry(&self) -> Geometry {
        let Tiles { count: [columns, lines], channels, .. } = self.tiles();
        let kernel =
            Kernel { height: 1, width: 1, channels: winograd::PLACES * channels, dilation: Axes::ONE };
        Geometry { kernel, stride: Axes::ONE, output_width: columns * lines }
    }
}

/// A layer's activations, prepared for the arithmetic: the window of each cube, or the only one in tiles.
pub(super) enum Activations {
    Int8(Vec<Vec<i8>>),
    Int16(Vec<Vec<i16>>),
    Fp16(Vec<FloatWindow>),
    Int8Tiles(TransformedWindow<i8>),
    Int16Tiles(TransformedWindow<i16>),
    Fp16Tiles(FloatWindow),
    /// None: sums are left out.
    None(Precision),
}

impl Activations {
    /// Of windows that hold what the positions reach; of tiles of integers, shifted by `truncate`.
    pub(super) fn new(
        precision: Precision,
        windows: Vec<Elements>,
        shape: &Shape,
        truncate: u32,
    ) -> Activations {
        if shape.order == Order::Tiles {
            let tiles = shape.tiles();
            return match windows.into_iter().next() {
                Some(Elements::Int8(window)) => {
                    Activations::Int8Tiles(TransformedWindow::new(tiles, &window, truncate))
                }
                Some(Elements::Int16(window)) => {
                    Activations::Int16Tiles(TransformedWindow::new(tiles, &window, truncate))
                }
                Some(Elements::Fp16(codes)) => {
                    let codes = winograd::transformed_codes(&tiles, &codes);
                    Activations::Fp16Tiles(FloatWindow::new(&codes, codes.len()))
                }
                None => Activations::None(precision),
            };
        }
        match precision {
            Precision::Int8 => Activations::Int8(windows.into_iter().filter_map(Elements::int8).collect()),
            Precision::Int16 => Activations::Int16(windows.into_iter().filter_map(Elements::int16).collect()),
            Precision::Fp16 => {
                let codes = windows.into_iter().filter_map(Elements::fp16);
                Activations::Fp16(codes.map(|codes| FloatWindow::new(&codes, shape.pitch)).collect())
            }
        }
    }
}

/// Weights of some kernels, packed for the arithmetic.
enum Packed {
    Int8(PackedWeights<i8>),
    Int16(PackedWeights<i16>),
    Fp16(FloatWeights),
    Int8Tiles(TransformedWeights<i8>),
    Int16Tiles(TransformedWeights<i16>),
    None,
}

/// Some groups of kernels over a layer's activations.
pub(super) struct Batch<'a> {
    array: MacArray,
    shape: Shape,
    activations: &'a Activations,
    weights: Packed,
    kernels: usize,
    /// Weights of a kernel.
    taps: usize,
    /// Positions computed, and their sums for all kernels.
    computed: Range<usize>,
    sums: Sums,
}

impl<'a> Batch<'a> {
    /// Of kernels with their weights `[kernel][row][column][channel]`, which were in the buffer in that order. Without
    /// activations all sums are zero, whatever the kernels.
    pub(super) fn new(
        array: MacArray,
        shape: Shape,
        activations: &'a Activations,
        weights: (&Elements, &WeightOrder),
    ) -> Batch<'a> {
        let taps = weights.1.taps();
        let (packed, kernels) =
            Batch::pack(&shape, activations, weights).unwrap_or_else(|error| refused(error));
        let sums = Sums::Narrow(Vec::new());
        Batch { array, shape, activations, weights: packed, kernels, taps, computed: 0..0, sums }
    }

    fn pack(
        shape: &Shape,
        activations: &Activations,
        (weights, order): (&Elements, &WeightOrder),
    ) -> Result<(Packed, usize), Error> {
        if let Activations::None(_) = activations {
            return Ok((Packed::None, 0));
        }
        let (kernel, kernels) = (shape.geometry.kernel, weights.len() / order.taps().max(1));
        let (channels, tiles) = (kernel.channels, shape.order == Order::Tiles);
        let packed = match weights {
            Elements::Int8(weights) if tiles => {
                Packed::Int8Tiles(TransformedWeights::pack(channels, kernels, weights)?)
            }
            Elements::Int16(weights) if tiles => {
                Packed::Int16Tiles(TransformedWeights::pack(channels, kernels, weights)?)
            }
            Elements::Fp16(codes) if tiles => {
                // A tile's places lie one after the other.
                let place = Kernel { height: 1, width: 1, channels, dilation: Axes::ONE };
                Packed::Fp16(FloatWeights::pack(order.steps(&place, channels), kernels, codes)?)
            }
            Elements::Int8(weights) => Packed::Int8(PackedWeights::pack(kernel, kernels, weights)?),
            Elements::Int16(weights) => Packed::Int16(PackedWeights::pack(kernel, kernels, weights)?),
            Elements::Fp16(codes) => {
                Packed::Fp16(FloatWeights::pack(order.steps(&kernel, shape.pitch), kernels, codes)?)
            }
        };
        Ok((packed, kernels))
    }

    /// The sums of some positions for some of the kernels. Positions are asked for in order, unless all are held.
    pub(super) fn of(&mut self, positions: Range<usize>, kernels: Range<usize>) -> Sums {
        if let Activations::None(precision) = self.activations {
            let count = positions.len() * kernels.len();
            return match precision {
                Precision::Fp16 => Sums::Float(vec![0; count]),
                _ => Sums::Narrow(vec![0; count]),
            };
        }
        if positions.start < self.computed.start || positions.end > self.computed.end {
            let run = positions_at_once(self.kernels, self.taps).max(positions.len());
            // Lines of which positions take turns are computed together.
            let together = match self.shape.order {
                Order::Lines => 1,
                order => self.shape.size[0] * (order.lines_together() * order.cubes()) as usize,
            };
            let start = positions.start / together * together;
            let end = (positions.start + run).next_multiple_of(together).min(self.shape.positions());
            self.computed = start..end;
            self.sums = self.compute().unwrap_or_else(|error| refused(error));
        }
        let first = self.computed.start;
        self.sums.part(positions.start - first..positions.end - first, kernels, self.kernels)
    }

    fn compute(&self) -> Result<Sums, Error> {
        let Batch { array, shape: Shape { geometry, pitch, .. }, kernels, .. } = self;
        let (geometry, pitch, kernels) = (*geometry, *pitch, 0..*kernels);
        Ok(match (self.activations, &self.weights) {
            (Activations::Int8(windows), Packed::Int8(weights)) => {
                let of = |cube: usize| {
                    Convolution::new(geometry, Window { elements: &windows[cube], pitch }, weights)
                };
                if fits_i32(geometry.kernel.taps()?) {
                    Sums::Narrow(self.gather(|cube, positions, sums| {
                        array.accumulate(&of(cube)?, positions, kernels.clone(), sums)
                    })?)
                } else {
                    Sums::Wide(self.gather(|cube, positions, sums| {
                        array.accumulate_wide(&of(cube)?, positions, kernels.clone(), sums)
                    })?)
                }
            }
            (Activations::Int16(windows), Packed::Int16(weights)) => {
                Sums::Wide(self.gather(|cube, positions, sums| {
                    let window = Window { elements: &windows[cube], pitch };
                    let convolution = Convolution::new(geometry, window, weights)?;
                    array.accumulate_wide(&convolution, positions, kernels.clone(), sums)
                })?)
            }
            (Activations::Fp16(windows), Packed::Fp16(weights)) => {
                Sums::Float(self.gather(|cube, positions, sums| {
                    let convolution = FloatConvolution::new(geometry, &windows[cube], weights)?;
                    array.accumulate_float(&convolution, positions, kernels.clone(), sums)
                })?)
            }
            (Activations::Int8Tiles(window), Packed::Int8Tiles(weights)) => {
                Sums::Wide(self.tiles(|tiles| array.accumulate_tiles(window, weights, tiles))?)
            }
            (Activations::Int16Tiles(window), Packed::Int16Tiles(weights)) => {
                Sums::Wide(self.tiles(|tiles| array.accumulate_tiles(window, weights, tiles))?)
            }
            (Activations::Fp16Tiles(window), Packed::Fp16(weights)) => {
                let convolution = FloatConvolution::new(self.shape.tile_geometry(), window, weights)?;
                Sums::Float(self.tiles(|tiles| {
                    let mut sums = vec![[0; winograd::OUTPUTS]; tiles.len() * kernels.len()];
                    array.accumulate_float_tiles(&convolution, tiles, kernels.clone(), &mut sums)?;
                    Ok(sums)
                })?)
            }
            _ => unreachable!("weights and activations of one layer have one format"),
        })
    }

    /// The sums of tiles that `compute` gives, as positions pass.
    fn tiles<S: Copy + Default>(
        &self,
        compute: impl Fn(Range<usize>) -> Result<Vec<[S; winograd::OUTPUTS]>, Error>,
    ) -> Result<Vec<S>, Error> {
        let tiles = self.shape.tiles();
        self.gather(|_, positions, sums| {
            let all = positions.start / winograd::OUTPUTS..positions.end / winograd::OUTPUTS;
            sums.copy_from_slice(&tiles.spread(&compute(all)?, self.kernels));
            Ok(())
        })
    }

    /// All sums that are due, `[position][kernel]` as positions pass; `compute` gives those of positions line after
    /// line, of each cube.
    fn gather<S: Copy + Default>(
        &self,
        compute: impl Fn(usize, Range<usize>, &mut [S]) -> Result<(), Error>,
    ) -> Result<Vec<S>, Error> {
        let Shape { order, size: [width, _], .. } = self.shape;
        let kernels = self.kernels;
        if order == Order::Lines {
            let mut sums = vec![S::default(); self.computed.len() * kernels];
            compute(0, self.computed.clone(), &mut sums)?;
            return Ok(sums);
        }
        let cubes = order.cubes() as usize;
        let positions = self.computed.start / cubes..self.computed.end / cubes;
        let mut of_cubes = vec![vec![S::default(); positions.len() * kernels]; cubes];
        for (cube, sums) in of_cubes.iter_mut().enumerate() {
            compute(cube, positions.clone(), sums)?;
        }
        let mut sums = Vec::with_capacity(self.computed.len() * kernels);
        for Run { cube, x, y, count } in order.runs(width as u32, (positions.len() / width.max(1)) as u32) {
            let first = y as usize * width + x as usize;
            let rows = first * kernels..(first + count as usize) * kernels;
            sums.extend_from_slice(&of_cubes[cube as usize][rows]);
        }
        Ok(sums)
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
        assert_eq!(groups_at_once(9, 8, 100, 1), 8);
        assert_eq!(groups_at_once(3, 8, 100, 1), 3);
        assert_eq!(groups_at_once(9, 32, 100, 1), 2);
        assert_eq!(groups_at_once(9, 32, 1 << 20, 1), 1);
    }

    #[test]
    fn nobody_waits_for_more_products_than_a_computation_may_have() {
        for (kernels, positions, taps) in [(16, 1 << 16, 1 << 12), (64, 4, 1 << 20), (8, 1, 1)] {
            let groups = groups_at_once(9, kernels, positions, taps) as usize;
            let all = groups * kernels as usize;
            // One group is computed at any rate, a few positions at a time.
            assert!(groups == 1 || all * positions as usize * taps <= PRODUCTS_AT_ONCE, "{groups}");
            assert!(positions_at_once(all, taps) * all * taps <= PRODUCTS_AT_ONCE);
        }
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
        let order = WeightOrder { channels: 1, columns: 1, rows: 1, block: 64, row_group: 1 };
        let shape = Shape { geometry, pitch: 4, order: Order::Lines, size: [4, 1] };
        let activations = Activations::new(Precision::Int8, vec![window], &shape, 0);
        let mut batch = Batch::new(MacArray::default(), shape, &activations, (&weights, &order));
        let mut of = |positions, kernels| batch.of(positions, kernels);
        assert_eq!(of(1..3, 0..2), Sums::Narrow(vec![2, 20, 3, 30]));
        assert_eq!(of(3..4, 0..2), Sums::Narrow(vec![4, 40]));
        assert_eq!(of(0..2, 2..3), Sums::Narrow(vec![100, 200]));
    }

    #[test]
    fn cubes_take_turns_in_the_sums() {
        let geometry = Geometry {
            kernel: Kernel { height: 1, width: 1, channels: 1, dilation: Axes::ONE },
            stride: Axes::ONE,
            output_width: 3,
        };
        let order = WeightOrder { channels: 1, columns: 1, rows: 1, block: 64, row_group: 1 };
        let shape = Shape { geometry, pitch: 3, order: Order::Cubes(2), size: [3, 1] };
        let windows = vec![Elements::Int8(vec![1, 2, 3]), Elements::Int8(vec![4, 5, 6])];
        let activations = Activations::new(Precision::Int8, windows, &shape, 0);
        let weights = Elements::Int8(vec![1]);
        let mut batch = Batch::new(MacArray::default(), shape, &activations, (&weights, &order));
        assert_eq!(batch.of(0..4, 0..1), Sums::Narrow(vec![1, 4, 2, 5]));
        assert_eq!(batch.of(4..6, 0..1), Sums::Narrow(vec![3, 6]));
    }
}
