//! PDP's arithmetic in fp16: maxima and minima of codes, averages in 17 bits.
//!
//! Called by [`super::compute`]. The order of the additions is the hardware's: a row from left to right, then its
//! padding; a row to the rows above it, after the last one the padding of whole rows.

use super::compute::{MAX_LANES, Window};
use super::layer::{Average, Method, PdpLayer};
use crate::nvdla::float::{Fp16, Fp17};

impl Window<'_> {
    pub(super) fn pool_float(&self, output: &mut [u8]) {
        let mut results = [Fp16::ZERO; MAX_LANES];
        match &self.layer.method {
            Method::Max => self.fold_float(&mut results, Fp16::max),
            Method::Min => self.fold_float(&mut results, Fp16::min),
            Method::Average(average) => self.average_float(average, &mut results),
        }
        for (pair, result) in output.as_chunks_mut().0.iter_mut().zip(results) {
            *pair = result.to_bytes();
        }
    }

    /// The elements of a pixel.
    fn elements<'p>(&self, pixel: &'p [u8]) -> impl Iterator<Item = Fp16> + use<'p> {
        let flush = self.layer.nan_to_zero;
        pixel.as_chunks().0.iter().map(move |&pair| Fp16::from_bytes(pair).flushed(flush))
    }

    /// Maximum or minimum: padding takes no part. Of what is not a number the first operand is kept, which is a row's
    /// leftmost pixel, but the lowest row.
    fn fold_float(&self, results: &mut [Fp16; MAX_LANES], pick: impl Fn(Fp16, Fp16) -> Fp16) {
        for (y, row) in self.rows().enumerate() {
            let mut of_row = [Fp16::ZERO; MAX_LANES];
            for (x, pixel) in row.chunks_exact(self.layer.atom).enumerate() {
                for (result, element) in of_row.iter_mut().zip(self.elements(pixel)) {
                    *result = if x == 0 { element } else { pick(*result, element) };
                }
            }
            for (result, of_row) in results.iter_mut().zip(of_row) {
                *result = if y == 0 { of_row } else { pick(of_row, *result) };
            }
        }
    }

    fn average_float(&self, average: &Average, results: &mut [Fp16; MAX_LANES]) {
        let PdpLayer { atom, horizontal, vertical, .. } = self.layer;
        let rows = self.rows();
        let missing_columns =
            average.missing_float(horizontal.kernel as usize - horizontal.window(self.x).len());
        let missing_rows = average
            .missing_float(vertical.kernel as usize - rows.len())
            .map(|padding| padding * whole(horizontal.kernel));
        let [over_width, over_height] =
            [average.reciprocal_width, average.reciprocal_height].map(Fp17::from_bits);
        let mut sums = [Fp17::ZERO; MAX_LANES];
        for (y, row) in rows.enumerate() {
            let mut row_sums = [Fp17::ZERO; MAX_LANES];
            for (x, pixel) in row.chunks_exact(*atom).enumerate() {
                for (sum, element) in row_sums.iter_mut().zip(self.elements(pixel)) {
                    *sum = if x == 0 { element.widened() } else { *sum + element.widened() };
                }
            }
            for (sum, row_sum) in sums.iter_mut().zip(row_sums) {
                let row_sum = missing_columns.map_or(row_sum, |padding| row_sum + padding);
                *sum = if y == 0 { row_sum } else { row_sum + *sum };
            }
        }
        for (result, sum) in results.iter_mut().zip(sums) {
            let sum = missing_rows.map_or(sum, |padding| sum + padding);
            *result = (sum * over_width * over_height).to_fp16();
        }
    }
}

impl Average {
    /// Returns the sum that `count` missing pixels add, if there are any: the register holds a code of 17 bits.
    fn missing_float(&self, count: usize) -> Option<Fp17> {
        let register = self.padding.get(count.checked_sub(1)?)?;
        Some(Fp17::from_bits(register.cast_unsigned()))
    }
}

/// A small whole number.
fn whole(number: u32) -> Fp17 {
    Fp16::from_integer(number as i32).widened()
}
