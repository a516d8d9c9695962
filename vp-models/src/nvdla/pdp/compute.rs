//! PDP's arithmetic: one output atom at a time, or a whole cube.
//!
//! The timed engine calls [`output_atom`] when an output is due. It reads the gathered input, of which only the
//! atoms under the window must have arrived. [`run`] does whole cubes with it. This module has no time,
//! registers or addresses. It ignores strips: a split layer gives the same result as the layer in one piece.

use crate::nvdla::cube::Cube;
use crate::nvdla::numeric::{Precision, round_shift};

use super::layer::{Average, Method, PdpLayer};

/// The most elements an atom holds.
pub(super) const MAX_LANES: usize = 32;

/// An element format.
trait Element: Copy + Ord {
    const BYTES: usize;
    const LOWEST: Self;
    const HIGHEST: Self;

    fn read(bytes: &[u8]) -> Self;
    /// Writes the low bits of a result.
    fn write(bytes: &mut [u8], result: i64);
    fn widen(self) -> i64;
}

impl Element for i8 {
    const BYTES: usize = 1;
    const LOWEST: Self = i8::MIN;
    const HIGHEST: Self = i8::MAX;

    fn read(bytes: &[u8]) -> Self {
        bytes[0].cast_signed()
    }

    fn write(bytes: &mut [u8], result: i64) {
        bytes[0] = result as u8;
    }

    fn widen(self) -> i64 {
        self.into()
    }
}

impl Element for i16 {
    const BYTES: usize = 2;
    const LOWEST: Self = i16::MIN;
    const HIGHEST: Self = i16::MAX;

    fn read(bytes: &[u8]) -> Self {
        i16::from_le_bytes([bytes[0], bytes[1]])
    }

    fn write(bytes: &mut [u8], result: i64) {
        bytes.copy_from_slice(&(result as i16).to_le_bytes());
    }

    fn widen(self) -> i64 {
        self.into()
    }
}

/// Computes output atom (x, y) of a surface from the input cube, one atom long.
///
/// Panics if the atom is outside the output, the input's shape is not the layer's.
pub fn output_atom(layer: &PdpLayer, input: &Cube, surface: u32, x: u32, y: u32, output: &mut [u8]) {
    assert!(x < layer.horizontal.output && y < layer.vertical.output, "output atom ({x}, {y})");
    assert_eq!((input.atom_bytes(), output.len()), (layer.atom, layer.atom), "bytes of an atom");
    let window = Window { layer, input, surface, x, y };
    match layer.precision {
        Precision::Int8 => window.pool::<i8>(output),
        Precision::Int16 => window.pool::<i16>(output),
        Precision::Fp16 => window.pool_float(output),
    }
}

/// Runs a whole layer.
///
/// Panics if the input's shape is not the layer's.
pub fn run(layer: &PdpLayer, input: &Cube) -> Cube {
    let mut output = Cube::new(layer.horizontal.output, layer.vertical.output, layer.surfaces(), layer.atom);
    for (surface, x, y) in output.coordinates() {
        output_atom(layer, input, surface, x, y, output.atom_mut(surface, x, y));
    }
    output
}

/// The input under one output atom.
pub(super) struct Window<'a> {
    pub(super) layer: &'a PdpLayer,
    input: &'a Cube,
    surface: u32,
    pub(super) x: u32,
    y: u32,
}

impl<'a> Window<'a> {
    /// The window's rows that are inside the input, each as the bytes of its atoms.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let columns = self.layer.horizontal.window(self.x);
        let (input, surface) = (self.input, self.surface);
        let rows = self.layer.vertical.window(self.y);
        rows.map(move |row| input.atoms(surface, columns.start, row, columns.end - columns.start))
    }

    fn pool<E: Element>(&self, output: &mut [u8]) {
        match &self.layer.method {
            Method::Max => self.fold(output, E::LOWEST, E::max),
            Method::Min => self.fold(output, E::HIGHEST, E::min),
            Method::Average(average) => self.average::<E>(average, output),
        }
    }

    /// Maximum or minimum: padding takes no part.
    fn fold<E: Element>(&self, output: &mut [u8], start: E, pick: impl Fn(E, E) -> E) {
        let mut results = [start; MAX_LANES];
        for atom in self.rows().flat_map(|row| row.chunks_exact(self.layer.atom)) {
            for (result, element) in results.iter_mut().zip(atom.chunks_exact(E::BYTES)) {
                *result = pick(*result, E::read(element));
            }
        }
        for (element, result) in output.chunks_exact_mut(E::BYTES).zip(results) {
            E::write(element, result.widen());
        }
    }

    /// Average: pixels outside the input add the padding registers.
    fn average<E: Element>(&self, average: &Average, output: &mut [u8]) {
        let PdpLayer { atom, horizontal, vertical, .. } = self.layer;
        let rows = self.rows();
        let missing_columns = horizontal.kernel as usize - horizontal.window(self.x).len();
        let missing_rows = vertical.kernel as usize - rows.len();
        let padding = average.missing(missing_columns) * rows.len() as i64
            // Wholly missing rows: each of their columns counts.
            + average.missing(missing_rows) * i64::from(horizontal.kernel);

        let mut sums = [padding; MAX_LANES];
        for pixel in rows.flat_map(|row| row.chunks_exact(*atom)) {
            for (sum, element) in sums.iter_mut().zip(pixel.chunks_exact(E::BYTES)) {
                *sum += E::read(element).widen();
            }
        }
        for (element, sum) in output.chunks_exact_mut(E::BYTES).zip(sums) {
            E::write(element, average.of(sum));
        }
    }
}

impl Average {
    /// Returns the sum that `count` missing pixels add.
    fn missing(&self, count: usize) -> i64 {
        count.checked_sub(1).and_then(|index| self.padding.get(index)).copied().map_or(0, i64::from)
    }

    /// A sum times both reciprocals, fractions of 16 bits, rounded each time. What is too large for an element loses its
    /// high bits.
    fn of(&self, sum: i64) -> i64 {
        let over_width = round_shift(sum * i64::from(self.reciprocal_width), 16);
        round_shift(over_width * i64::from(self.reciprocal_height), 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::numeric::wrap;
    use crate::nvdla::pdp::layer::{Axis, PdpSource, Strips};
    use proptest::prelude::*;

    /// Pools the image padded with `value` (`None`: padding takes no part), one element at a time.
    fn obvious(layer: &PdpLayer, input: &Cube, value: Option<i64>, at: (u32, u32, u32), lane: usize) -> i64 {
        let (surface, x, y) = at;
        let PdpLayer { horizontal, vertical, .. } = layer;
        let mut elements = Vec::new();
        for row in 0..vertical.kernel {
            for column in 0..horizontal.kernel {
                let column = i64::from(x * horizontal.stride + column) - i64::from(horizontal.padding);
                let row = i64::from(y * vertical.stride + row) - i64::from(vertical.padding);
                let inside = (0..i64::from(horizontal.input)).contains(&column)
                    && (0..i64::from(vertical.input)).contains(&row);
                match value {
                    _ if inside => {
                        elements.push(lanes_of(layer, input.atom(surface, column as u32, row as u32))[lane]);
                    }
                    Some(value) => elements.push(value),
                    None => {}
                }
            }
        }
        let result = match &layer.method {
            Method::Max => *elements.iter().max().unwrap(),
            Method::Min => *elements.iter().min().unwrap(),
            Method::Average(average) => {
                let over_width =
                    round_shift(elements.iter().sum::<i64>() * i64::from(average.reciprocal_width), 16);
                round_shift(over_width * i64::from(average.reciprocal_height), 16)
            }
        };
        wrap(result, 8 * layer.precision.bytes() as u32)
    }

    fn lanes_of(layer: &PdpLayer, atom: &[u8]) -> Vec<i64> {
        match layer.precision {
            Precision::Int8 => atom.iter().map(|&byte| (byte as i8).into()).collect(),
            _ => atom.chunks(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into()).collect(),
        }
    }

    prop_compose! {
        fn padded_axis()(
            (input, kernel, stride) in (1u32..20, 1u32..=8, 1u32..=16),
        )(
            (input, kernel, stride) in Just((input, kernel, stride)),
            padding in 0..kernel,
            padding_after in 0..kernel,
        ) -> Axis {
            let windows = (padding + input + padding_after).saturating_sub(kernel) / stride + 1;
            Axis { input, output: windows, kernel, stride, padding, padding_after }
        }
    }

    fn axis() -> impl Strategy<Value = Axis> {
        padded_axis().prop_filter("some window lies in the padding, or beyond", |axis| {
            axis.padding + axis.input + axis.padding_after >= axis.kernel
                && (axis.output - 1) * axis.stride < axis.padding + axis.input
        })
    }

    fn layer(atom: usize, channels: u32, horizontal: Axis, vertical: Axis, method: Method) -> PdpLayer {
        PdpLayer {
            atom,
            channels,
            precision: Precision::Int8,
            nan_to_zero: false,
            method,
            horizontal,
            vertical,
            source: PdpSource::Sdp,
            destination: Surface {
                ram: Ram::Primary,
                base: 0,
                line_stride: 0,
                surface_stride: 0,
                pixel: atom as u32,
                atom: atom as u32,
                packing: Packing::Strided,
            },
            strips: Strips::whole(&horizontal),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_element_is_that_of_the_padded_image(
            atom in prop_oneof![Just(8usize), Just(16), Just(32)],
            channels in 1u32..40,
            (horizontal, vertical) in (axis(), axis()),
            method in 0..3,
            precision in prop_oneof![2 => Just(Precision::Int8), 1 => Just(Precision::Int16)],
            value in -128i64..128,
            seed: u64,
        ) {
            use rand::{RngCore, SeedableRng};
            let (method, padding) = match method {
                0 => (Method::Max, None),
                1 => (Method::Min, None),
                _ => {
                    let average = Average {
                        reciprocal_width: 65536 / horizontal.kernel,
                        reciprocal_height: 65536 / vertical.kernel,
                        padding: [1, 2, 3, 4, 5, 6, 7].map(|count| count * value as i32),
                    };
                    (Method::Average(average), Some(value))
                }
            };
            let layer = PdpLayer { precision, ..layer(atom, channels, horizontal, vertical, method) };
            let mut input = Cube::new(horizontal.input, vertical.input, layer.surfaces(), atom);
            rand::rngs::SmallRng::seed_from_u64(seed).fill_bytes(input.as_bytes_mut());
            let output = run(&layer, &input);
            for (surface, x, y) in output.coordinates() {
                for (lane, element) in lanes_of(&layer, output.atom(surface, x, y)).into_iter().enumerate() {
                    let expected = obvious(&layer, &input, padding, (surface, x, y), lane);
                    prop_assert_eq!(element, expected, "({}, {}, {}) lane {}", surface, x, y, lane);
                }
            }
        }
    }

    #[test]
    fn an_average_rounds_twice() {
        let axis = Axis { input: 3, output: 1, kernel: 3, stride: 1, padding: 0, padding_after: 0 };
        let average = Average { reciprocal_width: 21845, reciprocal_height: 21845, padding: [0; 7] };
        let layer = layer(8, 1, axis, axis, Method::Average(average));
        let mut input = Cube::new(3, 3, 1, 8);
        input.atom_mut(0, 1, 1)[0] = 10;
        // 10 / 3 is 3, and 3 / 3 is 1.
        assert_eq!(run(&layer, &input).as_bytes(), [1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn results_too_large_lose_their_high_bits() {
        let average = Average { reciprocal_width: 65536, reciprocal_height: 65536, padding: [0; 7] };
        let written = |sum| {
            let mut byte = [0];
            i8::write(&mut byte, average.of(sum));
            byte[0].cast_signed()
        };
        assert_eq!([-130, 127, 128, 130, 300].map(written), [126, 127, -128, -126, 44]);
    }

    #[test]
    fn missing_pixels_add_the_register_of_their_number() {
        // One pixel under a window of 3 x 3: two rows and two columns are missing.
        let axis = Axis { input: 1, output: 1, kernel: 3, stride: 1, padding: 1, padding_after: 1 };
        let padding = [1, 20, 1, 1, 1, 1, 1];
        let average = Average { reciprocal_width: 65536, reciprocal_height: 65536, padding };
        let layer = layer(8, 1, axis, axis, Method::Average(average));
        let input = Cube::new(1, 1, 1, 8);
        assert_eq!(run(&layer, &input).as_bytes(), [20 + 20 * 3; 8]);
    }
}
