//! The obvious version: product by product, step by step, as the hardware's parts are described.

use std::ops::Range;

use super::FloatConvolution;
use super::accumulator::{Accumulator, StepSum};
use super::product::{Factor, aligned};
use crate::nvdla::conv::compute::winograd::{OUTPUTS, PLACES, STEP_CHANNELS, outputs};
use crate::nvdla::float::Fp16;

/// Sums `[position][kernel]`, as codes of binary32.
pub(super) fn sums(
    convolution: &FloatConvolution<'_>,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [u32],
) {
    for (position, row) in positions.zip(sums.chunks_exact_mut(kernels.len())) {
        for (k, sum) in kernels.clone().zip(row) {
            let mut accumulator = Accumulator::default();
            for products in convolution.weights.steps.ranges() {
                accumulator.add(step(convolution, position, k, products));
            }
            *sum = accumulator.deliver().bits();
        }
    }
}

/// Sums of tiles `[tile][kernel]`, likewise.
pub(super) fn tiles(
    convolution: &FloatConvolution<'_>,
    tiles: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [[u32; OUTPUTS]],
) {
    for (tile, row) in tiles.zip(sums.chunks_exact_mut(kernels.len())) {
        for (k, sums) in kernels.clone().zip(row) {
            let mut accumulators = [Accumulator::default(); OUTPUTS];
            for products in convolution.weights.steps.ranges() {
                let steps = tile_step(convolution, tile, k, products);
                accumulators.iter_mut().zip(steps).for_each(|(accumulator, step)| accumulator.add(step));
            }
            *sums = accumulators.map(|accumulator| accumulator.deliver().bits());
        }
    }
}

/// The weights and activations that meet in a step.
fn operands<'a>(
    convolution: &FloatConvolution<'a>,
    position: usize,
    k: usize,
    products: Range<usize>,
) -> (&'a [Fp16], Vec<Fp16>) {
    let FloatConvolution { geometry, window, weights } = convolution;
    let start = geometry.start(position, window.pitch);
    let data = weights.steps.taps[products.clone()].iter().map(|&(at, _)| window.numbers[start + at]);
    (&weights.weights[k * weights.taps()..][products], data.collect())
}

/// One step of one kernel.
fn step(convolution: &FloatConvolution<'_>, position: usize, k: usize, products: Range<usize>) -> StepSum {
    let (weights, data) = operands(convolution, position, k, products);
    sum(weights, &data)
}

/// One step of one kernel over a tile: the places' sums have one exponent, so that they are added as integers. A NaN
/// among its operands is all four.
fn tile_step(
    convolution: &FloatConvolution<'_>,
    tile: usize,
    k: usize,
    products: Range<usize>,
) -> [StepSum; OUTPUTS] {
    let (weights, data) = operands(convolution, tile, k, products);
    if let Some(nan) = nan(weights, &data) {
        return [StepSum::nan(nan); OUTPUTS];
    }
    let scale = scale(weights, &data);
    let mut places = [0; PLACES];
    let of_place = weights.chunks_exact(STEP_CHANNELS).zip(data.chunks_exact(STEP_CHANNELS));
    for (sum, (weights, data)) in places.iter_mut().zip(of_place) {
        *sum = mantissa(weights, data, scale);
    }
    outputs(places, |a, b| a + b, |a, b| a - b)
        .map(|mantissa| StepSum::Number { exponent: 4 * scale as i32, mantissa })
}

/// The sum of the products of weights and activations. A NaN among the weights, then among the activations, is the
/// result.
fn sum(weights: &[Fp16], data: &[Fp16]) -> StepSum {
    if let Some(nan) = nan(weights, data) {
        return StepSum::nan(nan);
    }
    let scale = scale(weights, data);
    StepSum::Number { exponent: 4 * scale as i32, mantissa: mantissa(weights, data, scale) }
}

fn nan(weights: &[Fp16], data: &[Fp16]) -> Option<Fp16> {
    weights.iter().chain(data).copied().find(|number| number.is_nan())
}

/// The pairs neither of which is zero.
fn active(weights: &[Fp16], data: &[Fp16]) -> impl Iterator<Item = (Factor, Factor)> {
    let pairs = weights.iter().zip(data).filter(|(weight, data)| !weight.is_zero() && !data.is_zero());
    pairs.map(|(&weight, &data)| (Factor::of(weight), Factor::of(data)))
}

/// The largest exponent of a product.
fn scale(weights: &[Fp16], data: &[Fp16]) -> u32 {
    active(weights, data).map(|(weight, data)| weight.scale + data.scale).max().unwrap_or(0)
}

/// The products, aligned to an exponent and added up.
fn mantissa(weights: &[Fp16], data: &[Fp16], scale: u32) -> i64 {
    let product = |(weight, data): (Factor, Factor)| {
        let shift = 4 * (scale - weight.scale - data.scale);
        i64::from(aligned(weight.mantissa, data.mantissa, weight.negative != data.negative, shift))
    };
    active(weights, data).map(product).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_aligned_as_the_multiplier_does_it() {
        assert_eq!(aligned(0x57c, 0x4c0, false, 8), 6668);
        assert_eq!(aligned(0x54b, 0x4d7, true, 8), -6559);
        for (weight, data, negative) in [(0x3ff8, 0x3ff8, false), (1, 1, true), (0x2aaa, 0x1555, true)] {
            let exact = (weight * data) as i32 * if negative { -1 } else { 1 };
            assert_eq!(aligned(weight, data, negative, 0), exact);
            for shift in (4..32).step_by(4) {
                let off = aligned(weight, data, negative, shift) - (exact >> shift);
                assert!((-1..=1).contains(&off), "{weight:#x} {data:#x} {shift}: off by {off}");
            }
            assert_eq!(aligned(weight, data, negative, 32), 0);
        }
    }

    #[test]
    fn a_step_has_the_exponent_of_its_largest_product() {
        let number = |code| Fp16::from_bits(code);
        let one = sum(&[number(0x3e00)], &[number(0x3d00)]);
        assert_eq!(one, StepSum::Number { exponent: 24, mantissa: 0x3000 * 0x2800 });
        let with_nan = sum(&[number(0x3e00), number(0xfe01)], &[number(0x7c01), number(0)]);
        assert_eq!(with_nan, StepSum::Nan { negative: true, payload: 0x201 });
        assert_eq!(sum(&[number(0x8000)], &[number(0x7c00)]), StepSum::Number { exponent: 0, mantissa: 0 });
    }
}
