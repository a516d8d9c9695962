//! A network's convolutions of integers by Winograd's method, tile by tile: which kernels hardware is given, and what it adds up.

use vp_host::network::{Convolution, Shape};

use super::network::{Integer, under};
use super::winograd::{output, places};
use super::{saturate, shift_rounding};

/// Places of a tile, and of a transformed kernel.
const PLACES: usize = 16;

/// Bits of transformed elements that are dropped: each is the sum of four.
const DROPPED: u32 = 2;

/// `G g G^T` of a kernel of 3 x 3 with `G` doubled, so four times as large.
pub(super) fn four_times_transformed(tap: impl Fn(usize, usize) -> f64) -> [f64; PLACES] {
    const TWICE_G: [[f64; 3]; 4] = [[2.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 2.0]];
    std::array::from_fn(|place| {
        let (rows, columns) = (TWICE_G[place / 4], TWICE_G[place % 4]);
        let taps = (0..3).flat_map(|row| (0..3).map(move |column| (row, column)));
        taps.map(|(row, column)| rows[row] * columns[column] * tap(row, column)).sum()
    })
}

/// A convolution in tiles of 2 x 2 outputs.
pub(super) struct Tiles {
    /// Tiles side by side.
    columns: u32,
    channels: usize,
    /// Channels that a kernel sees, and kernels of each group.
    seen: usize,
    makes: u32,
    /// Transformed elements: `[tile][channel]`.
    elements: Vec<[i64; PLACES]>,
    /// Transformed kernels: `[kernel][channel that it sees]`.
    kernels: Vec<[i64; PLACES]>,
    /// Right shift of the sums.
    shift: u32,
    /// Bits by which the sums are then too small.
    pub(super) missing: u32,
}

impl Tiles {
    /// Of a convolution whose kernels of 3 x 3 move pixel by pixel.
    pub(super) fn of<E: Integer>(
        convolution: &Convolution,
        weights: &[E],
        input: &[E],
        [shape, made]: [Shape; 2],
    ) -> Tiles {
        let channels = shape.channels as usize;
        let seen = channels / convolution.groups as usize;
        let transformed: Vec<[f64; PLACES]> = (0..convolution.kernels as usize * seen)
            .map(|of| {
                let (kernel, channel) = (of / seen, of % seen);
                let tap = |row: usize, column: usize| {
                    weights[((kernel * 3 + row) * 3 + column) * seen + channel].into() as f64
                };
                four_times_transformed(tap)
            })
            .collect();
        // The fewest bits are dropped with which the largest one fits.
        let largest = transformed.iter().flatten().fold(0.0, |most: f64, code| most.max(code.abs())) as i128;
        let fits = |bits: &u32| shift_rounding(largest, *bits as i32) < 1 << (E::BITS - 1);
        let bits = (0..).find(fits).expect("a size that fits");
        let kernel =
            |codes: [f64; PLACES]| codes.map(|code| shift_rounding(code as i128, bits as i32) as i64);
        let [columns, rows] = [made.width, made.height].map(|size| size.div_ceil(2));
        let tiles = (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x)));
        let element = |y: i64, x: i64, channel: usize| -> i64 {
            let pixel = under(shape, convolution.window, [0, 0], [y as u32, x as u32]);
            pixel.map_or(convolution.padding.into(), |pixel| input[pixel + channel].into())
        };
        let transformed_element = |(ty, tx): (u32, u32), channel: usize| {
            let at = |y: i64, x: i64| element(i64::from(2 * ty) + y, i64::from(2 * tx) + x, channel);
            let places = places(at, |a, b| a + b, |a, b| a - b);
            let limit =
                |place: usize| saturate(shift_rounding(places[place].into(), DROPPED as i32), E::BITS) as i64;
            std::array::from_fn(limit)
        };
        // Kernels are four times as large, less the bits dropped of them and of elements.
        let by = convolution.truncate as i32 + 2 - bits as i32 - DROPPED as i32;
        Tiles {
            columns,
            channels,
            seen,
            makes: convolution.kernels / convolution.groups,
            elements: tiles
                .flat_map(|tile| (0..channels).map(move |channel| (tile, channel)))
                .map(|(tile, channel)| transformed_element(tile, channel))
                .collect(),
            kernels: transformed.into_iter().map(kernel).collect(),
            shift: by.max(0) as u32,
            missing: (-by).max(0) as u32,
        }
    }

    /// Sum that SDP gets for an output: 32 bits.
    pub(super) fn sum(&self, [y, x]: [u32; 2], kernel: u32) -> i128 {
        let tile = (y / 2 * self.columns + x / 2) as usize * self.channels;
        let first = (kernel / self.makes) as usize * self.seen;
        let elements = &self.elements[tile + first..][..self.seen];
        let kernels = &self.kernels[kernel as usize * self.seen..][..self.seen];
        let products = |place: usize| -> i128 {
            elements.iter().zip(kernels).map(|(x, w)| i128::from(x[place] * w[place])).sum()
        };
        saturate(shift_rounding(output([y, x], products), self.shift as i32), 32)
    }
}
