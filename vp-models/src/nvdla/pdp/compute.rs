//! PDP's arithmetic: one output atom at a time, or a whole cube.
//!
//! [`output_atom`] is what the timed engine calls when an output is due; it reads the gathered input, of which only
//! the atoms under the window must have arrived. [`run`] does whole cubes with it. Knows neither time nor registers
//! nor addresses. Strips need no care here: a split layer gives what the layer in one piece gives.

use crate::nvdla::cube::Cube;
use crate::nvdla::numeric::{Precision, round_shift, wrap};

use super::layer::{Average, Layer, Method};

/// The largest atom, in bytes.
const MAX_ATOM: usize = 32;

/// Bits of a row's sum in the int8 datapath, and of its padding.
const ROW_BITS: u32 = 11;
/// Bits of a window's sum in the int8 datapath.
const WINDOW_BITS: u32 = 14;

/// Computes output atom (x, y) of a surface from the input cube, one atom long.
///
/// Panics if the atom is outside the output, or the input's shape is not the layer's.
pub fn output_atom(layer: &Layer, input: &Cube, surface: u32, x: u32, y: u32, output: &mut [u8]) {
    assert_eq!(layer.precision, Precision::Int8, "formats the decoder lets pass");
    assert!(x < layer.horizontal.output && y < layer.vertical.output, "output atom ({x}, {y})");
    assert_eq!((input.atom_bytes(), output.len()), (layer.atom, layer.atom), "bytes of an atom");
    let window = Window { layer, input, surface, x, y };
    match &layer.method {
        Method::Max => window.fold(output, i8::MIN, i8::max),
        Method::Min => window.fold(output, i8::MAX, i8::min),
        Method::Average(average) => window.average(average, output),
    }
}

/// Runs a whole layer.
///
/// Panics if the input's shape is not the layer's.
pub fn run(layer: &Layer, input: &Cube) -> Cube {
    let mut output = Cube::new(layer.horizontal.output, layer.vertical.output, layer.surfaces(), layer.atom);
    for (surface, x, y) in output.coordinates() {
        output_atom(layer, input, surface, x, y, output.atom_mut(surface, x, y));
    }
    output
}

/// The input under one output atom.
struct Window<'a> {
    layer: &'a Layer,
    input: &'a Cube,
    surface: u32,
    x: u32,
    y: u32,
}

impl<'a> Window<'a> {
    /// The window's rows that are inside the input, each as the bytes of its atoms.
    fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let columns = self.layer.horizontal.window(self.x);
        let (input, surface) = (self.input, self.surface);
        let rows = self.layer.vertical.window(self.y);
        rows.map(move |row| input.atoms(surface, columns.start, row, columns.end - columns.start))
    }

    /// Maximum or minimum: padding takes no part.
    fn fold(&self, output: &mut [u8], start: i8, pick: impl Fn(i8, i8) -> i8) {
        output.fill(start as u8);
        for atom in self.rows().flat_map(|row| row.chunks_exact(self.layer.atom)) {
            for (so_far, &element) in output.iter_mut().zip(atom) {
                *so_far = pick(so_far.cast_signed(), element.cast_signed()) as u8;
            }
        }
    }

    /// Average: pixels outside the input add the padding registers.
    fn average(&self, average: &Average, output: &mut [u8]) {
        let Layer { atom, horizontal, vertical, .. } = self.layer;
        let rows = self.rows();
        let missing_columns = horizontal.kernel as usize - horizontal.window(self.x).len();
        let missing_rows = vertical.kernel as usize - rows.len();
        let row_padding = wrap(average.missing(missing_columns), ROW_BITS);
        // Wholly missing rows: each of their columns counts.
        let column_padding = average.missing(missing_rows) * i64::from(horizontal.kernel);

        let mut sums = [0; MAX_ATOM];
        for row in rows {
            let mut row_sums = [row_padding; MAX_ATOM];
            for pixel in row.chunks_exact(*atom) {
                for (sum, &element) in row_sums.iter_mut().zip(pixel) {
                    *sum += i64::from(element.cast_signed());
                }
            }
            for (sum, row_sum) in sums.iter_mut().zip(row_sums) {
                *sum += wrap(row_sum, ROW_BITS);
            }
        }
        for (element, sum) in output.iter_mut().zip(sums) {
            let sum = wrap(sum + column_padding, WINDOW_BITS);
            let over_width = multiply(sum, average.reciprocal_width, ROW_BITS);
            *element = multiply(over_width, average.reciprocal_height, 8) as u8;
        }
    }
}

impl Average {
    /// What `count` missing pixels add.
    fn missing(&self, count: usize) -> i64 {
        count.checked_sub(1).and_then(|index| self.padding.get(index)).copied().map_or(0, i64::from)
    }
}

/// Times a 16-bit fraction, rounded, cut to `bits` bits: results too large lose their high bits, positive ones keep
/// their sign bit clear until rounding.
fn multiply(value: i64, reciprocal: u32, bits: u32) -> i64 {
    let product = value * i64::from(reciprocal);
    if product < 0 {
        wrap(round_shift(product, 16), bits)
    } else {
        let magnitude = (product >> 16) & ((1 << (bits - 1)) - 1);
        wrap(magnitude + ((product >> 15) & 1), bits)
    }
}
