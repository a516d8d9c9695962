//! The obvious version: product by product, step by step, as the hardware's parts are described.

use std::ops::Range;

use super::FloatConvolution;
use super::accumulator::{Accumulator, StepSum};
use super::product::{Factor, aligned};
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

/// One step of one kernel.
pub(super) fn step(
    convolution: &FloatConvolution<'_>,
    position: usize,
    k: usize,
    products: Range<usize>,
) -> StepSum {
    let FloatConvolution { geometry, window, weights } = convolution;
    let start = geometry.start(position, window.pitch);
    let data = weights.steps.taps[products.clone()].iter().map(|&(at, _)| window.numbers[start + at]);
    let weights = &weights.weights[k * weights.taps()..][products];
    sum(weights, &data.collect::<Vec<_>>())
}

/// The sum of the products of weights and activations. A NaN among the weights, then among the activations, is the
/// result.
fn sum(weights: &[Fp16], data: &[Fp16]) -> StepSum {
    if let Some(nan) = weights.iter().chain(data).find(|number| number.is_nan()) {
        return StepSum::Nan { negative: nan.is_negative(), payload: nan.mantissa() };
    }
    let pairs = || {
        let active = weights.iter().zip(data).filter(|(weight, data)| !weight.is_zero() && !data.is_zero());
        active.map(|(&weight, &data)| (Factor::of(weight), Factor::of(data)))
    };
    let scale = pairs().map(|(weight, data)| weight.scale + data.scale).max().unwrap_or(0);
    let product = |(weight, data): (Factor, Factor)| {
        let shift = 4 * (scale - weight.scale - data.scale);
        i64::from(aligned(weight.mantissa, data.mantissa, weight.negative != data.negative, shift))
    };
    StepSum::Number { exponent: 4 * scale as i32, mantissa: pairs().map(product).sum() }
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
