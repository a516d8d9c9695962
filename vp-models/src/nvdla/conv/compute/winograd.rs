//! Winograd's method for kernels of 3 x 3: four outputs at once from a tile of 4 x 4 inputs, with 16 products a channel
//! instead of 36.
//!
//! Kernels are already transformed. A tile is transformed when it is used (CSC's pre-addition), the products of
//! each of its 16 places are summed up over the channels, and the sums are transformed to four outputs (CMAC's
//! post-addition). Tiles overlap by two pixels.
//!
//! For integers, the sums of one place over the channels are those of a convolution with one tap, so the
//! convolution's paths compute them. The order of summing up and of the second transformation does not change
//! the result: the accumulator, to which hardware adds the result of four channels at a time, cannot saturate,
//! because nine sums of 8192 products stay below 2⁴⁷.

use std::ops::Range;

use super::element::Element;
use super::error::Error;
use super::{Axes, Convolution, Geometry, Kernel, MacArray, PackedWeights, Wide, Window};
use crate::nvdla::float::{Fp16, Fp17};
use crate::nvdla::numeric::{round_shift, saturate};

/// Pixels of a tile in a line, and lines.
const SIDE: usize = 4;

/// Places of a tile.
pub const PLACES: usize = SIDE * SIDE;

/// Outputs of a tile in a line, and lines of them.
const OUT: usize = 2;

/// Outputs of a tile.
pub const OUTPUTS: usize = OUT * OUT;

/// Channels whose products the array takes at once: with 16 places each they fill it.
pub const STEP_CHANNELS: usize = 4;

/// Places of the tiles over the pixels of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Tiles in a line, and lines of them.
    pub count: [usize; 2],
    /// Channels.
    pub channels: usize,
    /// Elements of the window from a line to the next.
    pub pitch: usize,
}

impl Tiles {
    /// Returns the tiles of an output of that width and height, both even.
    pub fn of_output([width, height]: [usize; 2], channels: usize, pitch: usize) -> Tiles {
        Tiles { count: [width / OUT, height / OUT], channels, pitch }
    }

    fn len(&self) -> usize {
        self.count[0] * self.count[1]
    }

    /// Reads each tile of each channel: `put` gets tile, channel and the elements line by line.
    fn each<T: Copy + Default>(&self, elements: &[T], mut put: impl FnMut(usize, usize, [[T; SIDE]; SIDE])) {
        for tile in 0..self.len() {
            let first = tile / self.count[0] * OUT * self.pitch + tile % self.count[0] * OUT * self.channels;
            for channel in 0..self.channels {
                let mut read = [[T::default(); SIDE]; SIDE];
                for (row, line) in read.iter_mut().enumerate() {
                    for (column, element) in line.iter_mut().enumerate() {
                        *element = elements[first + row * self.pitch + column * self.channels + channel];
                    }
                }
                put(tile, channel, read);
            }
        }
    }

    /// Puts the outputs of some lines of tiles, `[tile][kernel]`, where they belong: `[position][kernel]`.
    pub fn spread<S: Copy + Default>(&self, outputs: &[[S; OUTPUTS]], kernels: usize) -> Vec<S> {
        let (columns, width) = (self.count[0], self.count[0] * OUT);
        let mut spread = vec![S::default(); outputs.len() * OUTPUTS];
        for (tile, of_kernels) in outputs.chunks_exact(kernels.max(1)).enumerate() {
            let (x, y) = (tile % columns * OUT, tile / columns * OUT);
            for place in 0..OUTPUTS {
                let position = (y + place / OUT) * width + x + place % OUT;
                let row = &mut spread[position * kernels..][..kernels];
                row.iter_mut().zip(of_kernels).for_each(|(sum, outputs)| *sum = outputs[place]);
            }
        }
        spread
    }
}

/// One transformation of a line of four, or of four lines: what is subtracted from what, or added.
fn combine<V: Copy>(d: [V; SIDE], add: impl Fn(V, V) -> V, subtract: impl Fn(V, V) -> V) -> [V; SIDE] {
    [subtract(d[0], d[2]), add(d[1], d[2]), subtract(d[2], d[1]), subtract(d[1], d[3])]
}

/// The transformation of a tile: of its lines, then of what that makes of its columns.
fn transformed<V: Copy + Default>(
    tile: [[V; SIDE]; SIDE],
    add: impl Fn(V, V) -> V,
    subtract: impl Fn(V, V) -> V,
) -> [V; PLACES] {
    let column = |column: usize| combine(tile.map(|line| line[column]), &add, &subtract);
    let columns = [0, 1, 2, 3].map(column);
    let mut places = [V::default(); PLACES];
    for (row, places) in places.chunks_exact_mut(SIDE).enumerate() {
        places.copy_from_slice(&combine(columns.map(|column| column[row]), &add, &subtract));
    }
    places
}

/// Returns the outputs that the sums of a tile's places become, line by line.
#[inline(always)]
pub(super) fn outputs<V: Copy>(
    p: [V; PLACES],
    add: impl Fn(V, V) -> V,
    subtract: impl Fn(V, V) -> V,
) -> [V; OUTPUTS] {
    let upper = [0, 1, 2, 3].map(|i| add(add(p[i], p[4 + i]), p[8 + i]));
    let lower = [0, 1, 2, 3].map(|i| subtract(subtract(p[4 + i], p[8 + i]), p[12 + i]));
    let left = |line: [V; SIDE]| add(add(line[0], line[1]), line[2]);
    let right = |line: [V; SIDE]| subtract(subtract(line[1], line[2]), line[3]);
    [left(upper), right(upper), left(lower), right(lower)]
}

/// Integers that are transformed.
pub trait Integer: Element + Wide {
    /// Bits of one.
    const BITS: u32;
    /// The nearest one.
    fn nearest(value: i64) -> Self;
}

impl Integer for i8 {
    const BITS: u32 = 8;

    fn nearest(value: i64) -> i8 {
        saturate(value, Self::BITS) as i8
    }
}

impl Integer for i16 {
    const BITS: u32 = 16;

    fn nearest(value: i64) -> i16 {
        saturate(value, Self::BITS) as i16
    }
}

/// Activations, transformed: `[place][tile][channel]`.
#[derive(Clone, Debug)]
pub struct TransformedWindow<T> {
    tiles: Tiles,
    places: Vec<Vec<T>>,
}

impl<T: Integer> TransformedWindow<T> {
    /// Of a window, shifted right by `truncate` behind the transformation.
    ///
    /// # Panics
    /// When tiles reach beyond the window.
    pub fn new(tiles: Tiles, elements: &[T], truncate: u32) -> TransformedWindow<T> {
        let mut places = vec![vec![T::default(); tiles.len() * tiles.channels]; PLACES];
        tiles.each(elements, |tile, channel, read| {
            let wide = read.map(|line| line.map(Into::<i64>::into));
            let sums = transformed(wide, |a, b| a + b, |a, b| a - b);
            for (place, sum) in places.iter_mut().zip(sums) {
                place[tile * tiles.channels + channel] = T::nearest(round_shift(sum, truncate));
            }
        });
        TransformedWindow { tiles, places }
    }

    /// Returns the places of the window's tiles.
    pub fn tiles(&self) -> &Tiles {
        &self.tiles
    }
}

/// Kernels that came transformed, packed.
#[derive(Clone, Debug)]
pub struct TransformedWeights<T: Element> {
    places: Vec<PackedWeights<T>>,
}

impl<T: Integer> TransformedWeights<T> {
    /// Packs weights that lie `[kernel][place][channel]`.
    pub fn pack(channels: usize, kernels: usize, weights: &[T]) -> Result<Self, Error> {
        let needed = kernels * channels * PLACES;
        if weights.len() != needed {
            return Err(Error::Weights { needed, given: weights.len() });
        }
        let of = |place: usize| {
            let kernels_of = weights.chunks_exact(PLACES * channels);
            let own: Vec<T> =
                kernels_of.flat_map(|kernel| &kernel[place * channels..][..channels]).copied().collect();
            PackedWeights::pack(one_tap(channels), kernels, &own)
        };
        Ok(TransformedWeights { places: (0..PLACES).map(of).collect::<Result<_, _>>()? })
    }

    fn kernels(&self) -> usize {
        self.places.first().map_or(0, PackedWeights::kernels)
    }
}

fn one_tap(channels: usize) -> Kernel {
    Kernel { height: 1, width: 1, channels, dilation: Axes::ONE }
}

impl MacArray {
    /// The sums of all kernels for some tiles, `[tile][kernel]`.
    pub fn accumulate_tiles<T: Integer>(
        &self,
        window: &TransformedWindow<T>,
        weights: &TransformedWeights<T>,
        tiles: Range<usize>,
    ) -> Result<Vec<[i64; OUTPUTS]>, Error> {
        let (kernels, channels) = (weights.kernels(), window.tiles.channels);
        let geometry =
            Geometry { kernel: one_tap(channels), stride: Axes::ONE, output_width: window.tiles.len() };
        let mut sums = vec![[0i64; PLACES]; tiles.len() * kernels];
        let mut of_place = vec![0; sums.len()];
        for (place, (elements, weights)) in window.places.iter().zip(&weights.places).enumerate() {
            let window = Window { elements, pitch: elements.len() };
            let convolution = Convolution::new(geometry, window, weights)?;
            self.accumulate_wide(&convolution, tiles.clone(), 0..kernels, &mut of_place)?;
            sums.iter_mut().zip(&of_place).for_each(|(sums, &sum)| sums[place] = sum);
        }
        Ok(sums.into_iter().map(|sums| outputs(sums, |a, b| a + b, |a, b| a - b)).collect())
    }
}

/// Codes of fp16, transformed: `[tile][place][channel]`. In between they have 17 bits.
pub fn transformed_codes(tiles: &Tiles, codes: &[u16]) -> Vec<u16> {
    let mut places = vec![0; tiles.len() * PLACES * tiles.channels];
    tiles.each(codes, |tile, channel, read| {
        let wide = read.map(|line| line.map(|code| Fp16::from_bits(code.into()).widened()));
        let sums = transformed(wide, |a: Fp17, b| a + b, |a, b| a - b);
        for (place, sum) in sums.into_iter().enumerate() {
            places[(tile * PLACES + place) * tiles.channels + channel] = sum.to_fp16().bits() as u16;
        }
    });
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::conv::compute::Path;
    use proptest::prelude::*;

    /// A kernel of 3 x 3, transformed and four times as large, so that nothing is a fraction.
    fn transformed_kernel(g: &[i64; 9]) -> [i64; PLACES] {
        let lines = |g: [i64; 3]| [2 * g[0], g[0] + g[1] + g[2], g[0] - g[1] + g[2], 2 * g[2]];
        let rows = [0, 1, 2].map(|row| lines([g[3 * row], g[3 * row + 1], g[3 * row + 2]]));
        let columns = [0, 1, 2, 3].map(|column| lines(rows.map(|row| row[column])));
        let mut places = [0; PLACES];
        for row in 0..SIDE {
            for column in 0..SIDE {
                places[row * SIDE + column] = columns[column][row];
            }
        }
        places
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Sums where nothing is cut off: the method gives a convolution's.
        #[test]
        fn tiles_give_the_sums_of_a_convolution(
            tiles in [1..4usize, 1..3usize],
            channels in 1..9usize,
            kernels in 1..20usize,
            seed in prop::collection::vec(-30i64..30, 40),
        ) {
            let size = tiles.map(|count| count * OUT);
            let pitch = (size[0] + 2) * channels;
            let mut seed = seed.into_iter().cycle();
            let elements: Vec<i16> = (0..pitch * (size[1] + 2)).map(|_| seed.next().unwrap() as i16).collect();
            let plain: Vec<[i64; 9]> = (0..kernels * channels)
                .map(|_| [0; 9].map(|_| seed.next().unwrap()))
                .collect();
            let mut weights = vec![0i16; kernels * PLACES * channels];
            for (index, kernel) in plain.iter().enumerate() {
                let (k, c) = (index / channels, index % channels);
                for (place, weight) in transformed_kernel(kernel).into_iter().enumerate() {
                    weights[(k * PLACES + place) * channels + c] = weight as i16;
                }
            }
            let tiles = Tiles::of_output(size, channels, pitch);
            let window = TransformedWindow::new(tiles, &elements, 0);
            let weights = TransformedWeights::pack(channels, kernels, &weights).unwrap();
            for path in Path::all() {
                let sums = MacArray::by(path).accumulate_tiles(&window, &weights, 0..tiles.len()).unwrap();
                let spread = tiles.spread(&sums, kernels);
                for (index, sum) in spread.into_iter().enumerate() {
                    let (position, k) = (index / kernels, index % kernels);
                    let (x, y) = (position % size[0], position / size[0]);
                    let tap = |c: usize, tap: usize| {
                        let at = (y + tap / 3) * pitch + (x + tap % 3) * channels + c;
                        i64::from(elements[at]) * plain[k * channels + c][tap]
                    };
                    let expected: i64 = (0..channels).flat_map(|c| (0..9).map(move |t| (c, t))).map(|(c, t)| tap(c, t)).sum();
                    prop_assert_eq!(sum, 4 * expected, "{} {} {}", x, y, k);
                }
            }
        }
    }

    #[test]
    fn what_is_transformed_is_rounded_and_saturates() {
        let tiles = Tiles { count: [1, 1], channels: 1, pitch: 4 };
        let mut elements = [0i8; 16];
        (elements[5], elements[6], elements[9], elements[10]) = (100, 100, 100, 99);
        let places = |truncate| {
            let window = TransformedWindow::new(tiles, &elements, truncate);
            window.places.iter().map(|place| place[0]).collect::<Vec<_>>()
        };
        assert_eq!(places(0)[5], 127);
        // 399 and 2 to the right.
        assert_eq!((places(2)[5], places(2)[6]), (100, 0));
    }
}
