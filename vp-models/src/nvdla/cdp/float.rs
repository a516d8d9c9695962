//! CDP's arithmetic in fp16: squares and their sum in binary32, tables and product in 17 bits.
//!
//! Called by [`super::compute`]. Neither converter takes part: the numbers carry their own exponents.

use super::counters::Counters;
use super::layer::CdpLayer;
use super::lut::Lut;
use super::window::{Gathered, MAX_REACH};
use crate::nvdla::float::{Fp17, Fp32};

/// The output atom from its elements and their neighbours.
pub(super) fn atom(
    layer: &CdpLayer,
    lut: &Lut<'_>,
    elements: &Gathered<Fp17>,
    output: &mut [u8],
) -> Counters {
    let mut counters = Counters::default();
    for (lane, pair) in output.as_chunks_mut().0.iter_mut().enumerate() {
        let centre = elements[lane + MAX_REACH];
        let sum = match layer.square_sum {
            true => {
                square_sum(|distance| elements[(lane + MAX_REACH).wrapping_add_signed(distance)], layer.reach)
            }
            false => centre.widened(),
        };
        let factor = lut.lookup_float(sum, &mut counters.lut);
        let result = match layer.multiply {
            true => centre * factor,
            false if centre.is_nan() => centre,
            false => factor,
        };
        let result = result.to_fp16();
        counters.nan_output += u64::from(result.is_nan());
        *pair = result.to_bytes();
    }
    counters
}

/// Each pair of neighbours is added before it goes to the sum; the innermost before the centre.
fn square_sum(element: impl Fn(isize) -> Fp17, reach: u32) -> Fp32 {
    let square = |distance| {
        let value: Fp32 = element(distance).widened();
        value * value
    };
    let mut sum = square(-1) + square(1) + square(0);
    for distance in 2..=reach as isize {
        sum = sum + (square(-distance) + square(distance));
    }
    sum
}
