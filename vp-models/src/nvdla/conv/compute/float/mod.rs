//! The sums of fp16: not the exact sums, but the hardware's, to the last bit.
//!
//! The array takes 64 products in a *step*: one place of the kernel and up to 64 channels. It aligns them to
//! the step's largest exponent and adds them up. The accumulator adds step after step and rounds each time. So
//! the order of steps matters, and so does which products share a step: [`Steps`] defines both.
//!
//! `plain` does one step as the hardware is described; `x86` does it for 16 kernels at a time. The result of
//! products with a NaN is known without adding up anything.
//!
//! By Winograd's method a step has 16 places of four channels each, summed up apart, and gives four sums.

mod accumulator;
mod plain;
mod product;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::element::LANES;
use super::error::Error;
use super::geometry::Geometry;
use super::threads;
use super::winograd::{OUTPUTS, PLACES, STEP_CHANNELS};
use super::{MacArray, Path};
use crate::nvdla::float::Fp16;

use accumulator::{Accumulator, StepSum};
use product::Factor;

/// The products of a kernel in the order in which hardware takes them, cut into steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// For each product the place of its activation, from the kernel's first on, and of its weight within the
    /// kernel.
    taps: Vec<(usize, usize)>,
    /// End of each step among the products.
    ends: Vec<usize>,
}

impl Steps {
    /// Adds a step of so many products.
    pub fn push(&mut self, taps: impl Iterator<Item = (usize, usize)>) {
        self.taps.extend(taps);
        self.ends.push(self.taps.len());
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }
}

/// Weights of 16 kernels for one product, as the vector path takes them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct WeightLine {
    /// Digits of the mantissas, three bits each, the lowest first (see [`product::recoded`]); in the upper eight bits the
    /// scale, signed, far below all others where the weight is zero.
    digits: [u32; LANES],
    /// Bits that complete the negation of digits, each at its place; in the upper half the same for negative
    /// activations.
    negations: [u32; LANES],
}

/// The scale of weights that are zero.
const NO_SCALE: i32 = -64;

/// Weights, packed once for any number of sums.
#[derive(Clone, Debug)]
pub struct FloatWeights {
    steps: Steps,
    kernels: usize,
    /// `[kernel][product]`, in the order of the steps.
    weights: Vec<Fp16>,
    /// `[block of 16 kernels][product]`.
    lines: Vec<WeightLine>,
    /// `[block of 16 kernels][step]`: which of the kernels have a weight that is not a number, a bit each.
    nan: Vec<u16>,
}

impl FloatWeights {
    /// Packs codes that lie `[kernel][weight]`, `taps` of them a kernel.
    pub fn pack(steps: Steps, kernels: usize, codes: &[u16]) -> Result<Self, Error> {
        let taps = steps.taps.len();
        let needed = kernels.checked_mul(taps).filter(|_| taps > 0).ok_or(Error::Empty)?;
        if codes.len() != needed || steps.taps.iter().any(|&(_, weight)| weight >= taps) {
            return Err(Error::Weights { needed, given: codes.len() });
        }
        let blocks = kernels.div_ceil(LANES);
        let mut lines = vec![WeightLine::default(); blocks * taps];
        for line in &mut lines {
            line.digits = [(NO_SCALE as u32) << 24; LANES];
        }
        let mut nan = vec![0; blocks * steps.ends.len()];
        let mut weights = Vec::with_capacity(needed);
        for (k, codes) in codes.chunks_exact(taps).enumerate() {
            let (block, lane) = (k / LANES, k % LANES);
            for (step, products) in steps.ranges().enumerate() {
                for product in products {
                    let weight = Fp16::from_bits(codes[steps.taps[product].1].into());
                    lines[block * taps + product].set(lane, weight);
                    nan[block * steps.ends.len() + step] |= u16::from(weight.is_nan()) << lane;
                    weights.push(weight);
                }
            }
        }
        Ok(FloatWeights { steps, kernels, weights, lines, nan })
    }

    /// Returns the number of kernels.
    pub fn kernels(&self) -> usize {
        self.kernels
    }

    fn taps(&self) -> usize {
        self.steps.taps.len()
    }
}

impl WeightLine {
    fn set(&mut self, lane: usize, weight: Fp16) {
        if weight.is_zero() {
            return;
        }
        let Factor { mantissa, scale, negative } = Factor::of(weight);
        let (digits, negations) = product::recoded(mantissa, negative);
        self.digits[lane] = digits | scale << 24;
        self.negations[lane] = negations;
    }
}

/// Activations, taken apart once.
#[derive(Clone, Debug)]
pub struct FloatWindow {
    numbers: Vec<Fp16>,
    /// See [`Activation`].
    activations: Vec<Activation>,
    pitch: usize,
}

/// An activation as the vector path takes it: the mantissa in the low 14 bits, the scale from bit 16 on, whether it is
/// no number in bit 30, the sign in bit 31. Zero is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activation(u32);

impl Activation {
    fn of(number: Fp16) -> Activation {
        if number.is_zero() {
            return Activation(0);
        }
        let Factor { mantissa, scale, negative } = Factor::of(number);
        Activation(mantissa | scale << 16 | u32::from(number.is_nan()) << 30 | u32::from(negative) << 31)
    }

    fn is_zero(self) -> bool {
        self.0 == 0
    }

    fn is_nan(self) -> bool {
        self.0 & 1 << 30 != 0
    }

    fn is_negative(self) -> bool {
        self.0 >> 31 != 0
    }

    fn mantissa(self) -> u32 {
        self.0 & 0x3fff
    }

    fn scale(self) -> u32 {
        self.0 >> 16 & 7
    }
}

impl FloatWindow {
    /// Of codes, with so many from a row to the next.
    pub fn new(codes: &[u16], pitch: usize) -> FloatWindow {
        let numbers: Vec<Fp16> = codes.iter().map(|&code| Fp16::from_bits(code.into())).collect();
        let activations = numbers.iter().map(|&number| Activation::of(number)).collect();
        FloatWindow { numbers, activations, pitch }
    }
}

/// Activations and weights that belong together.
#[derive(Clone, Copy, Debug)]
pub struct FloatConvolution<'a> {
    geometry: Geometry,
    window: &'a FloatWindow,
    weights: &'a FloatWeights,
}

impl<'a> FloatConvolution<'a> {
    /// Joins them. Refuses weights of another size than the kernel, and an output without columns.
    pub fn new(
        geometry: Geometry,
        window: &'a FloatWindow,
        weights: &'a FloatWeights,
    ) -> Result<Self, Error> {
        if geometry.output_width == 0 {
            return Err(Error::Empty);
        }
        if weights.taps() != geometry.kernel.taps()? {
            return Err(Error::Kernel);
        }
        Ok(FloatConvolution { geometry, window, weights })
    }

    fn check(&self, positions: &Range<usize>, kernels: &Range<usize>, sums: usize) -> Result<(), Error> {
        let window = (self.window.pitch, self.window.numbers.len());
        self.geometry.check((positions, kernels), sums, self.weights.kernels, window)
    }
}

impl MacArray {
    /// Writes the sums of fp16 products as SDP gets them, codes of binary32, `[position][kernel]`.
    pub fn accumulate_float(
        &self,
        convolution: &FloatConvolution<'_>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [u32],
    ) -> Result<(), Error> {
        convolution.check(&positions, &kernels, sums.len())?;
        if !sums.is_empty() {
            let compute = |positions, kernels, sums: &mut [u32]| {
                self.path.float_sums(convolution, positions, kernels, sums);
            };
            let work = convolution.weights.taps() * WORK_OF_A_PRODUCT;
            threads::divide(self.threads, work, positions, kernels, sums, &compute);
        }
        Ok(())
    }

    /// Writes the sums of tiles by Winograd's method in the same form, four of each `[tile][kernel]`. Positions
    /// are tiles; each step has all places of four channels, place after place.
    pub fn accumulate_float_tiles(
        &self,
        convolution: &FloatConvolution<'_>,
        tiles: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [[u32; OUTPUTS]],
    ) -> Result<(), Error> {
        convolution.check(&tiles, &kernels, sums.len())?;
        if convolution.weights.steps.ranges().any(|step| step.len() != PLACES * STEP_CHANNELS) {
            return Err(Error::Kernel);
        }
        if !sums.is_empty() {
            let compute = |tiles, kernels, sums: &mut [[u32; OUTPUTS]]| {
                self.path.float_tiles(convolution, tiles, kernels, sums);
            };
            let work = convolution.weights.taps() * WORK_OF_A_PRODUCT;
            threads::divide(self.threads, work, tiles, kernels, sums, &compute);
        }
        Ok(())
    }
}

/// Number of the products by which work is divided among threads that one fp16 product is worth.
const WORK_OF_A_PRODUCT: usize = 64;

/// One step at one position, for 16 kernels: none of the operands is NaN.
pub(super) struct FloatStep<'a> {
    /// From the kernel's first activation on.
    activations: &'a [Activation],
    /// Places of the step's activations, and of its weights.
    taps: &'a [(usize, usize)],
    /// One for each of them.
    lines: &'a [WeightLine],
}

/// A step's sums: exponents, and mantissas; of a tile four.
type StepSums<const N: usize> = ([i32; LANES], [[i64; LANES]; N]);

/// A path that computes steps for 16 kernels at a time.
pub(super) trait FloatSteps {
    fn step(&self, step: &FloatStep<'_>) -> StepSums<1>;
    fn tile_step(&self, step: &FloatStep<'_>) -> StepSums<OUTPUTS>;
}

/// The sums, block by block of kernels; `step` computes one step of a block.
fn sweep<const N: usize>(
    step: impl Fn(&FloatStep<'_>) -> StepSums<N>,
    convolution: &FloatConvolution<'_>,
    positions: Range<usize>,
    kernels: Range<usize>,
    mut put: impl FnMut(usize, usize, [u32; N]),
) {
    let FloatConvolution { geometry, window, weights } = convolution;
    let (taps, steps) = (weights.taps(), weights.steps.ends.len());
    for block in kernels.start / LANES..kernels.end.div_ceil(LANES) {
        let first = block * LANES;
        let wanted = kernels.start.max(first)..kernels.end.min(first + LANES);
        let lines = &weights.lines[block * taps..][..taps];
        let nan = &weights.nan[block * steps..][..steps];
        for position in positions.clone() {
            let start = geometry.start(position, window.pitch);
            let activations = &window.activations[start..];
            let mut accumulators = [[Accumulator::default(); N]; LANES];
            for (range, &nan) in weights.steps.ranges().zip(nan) {
                let taps = &weights.steps.taps[range.clone()];
                let of_data = taps.iter().find(|&&(at, _)| activations[at].is_nan());
                let of_data = of_data.map(|&(at, _)| window.numbers[start + at]);
                let mut nans = [None; LANES];
                if nan != 0 || of_data.is_some() {
                    // What a kernel's own weights hold comes first.
                    for k in wanted.clone() {
                        let has_own = nan >> (k - first) & 1 != 0;
                        let own = if has_own { weights.first_nan(k, range.clone()) } else { None };
                        nans[k - first] = own.or(of_data);
                    }
                }
                let (exponents, mantissas) = match of_data {
                    Some(_) => ([0; LANES], [[0; LANES]; N]),
                    None => step(&FloatStep { activations, taps, lines: &lines[range] }),
                };
                for (lane, accumulators) in accumulators.iter_mut().enumerate() {
                    for (accumulator, mantissas) in accumulators.iter_mut().zip(mantissas) {
                        accumulator.add(match nans[lane] {
                            Some(nan) => StepSum::nan(nan),
                            None => StepSum::Number { exponent: exponents[lane], mantissa: mantissas[lane] },
                        });
                    }
                }
            }
            for k in wanted.clone() {
                put(position, k, accumulators[k - first].map(|accumulator| accumulator.deliver().bits()));
            }
        }
    }
}

impl FloatWeights {
    /// The first weight of a kernel in a step that is not a number.
    fn first_nan(&self, kernel: usize, step: Range<usize>) -> Option<Fp16> {
        self.weights[kernel * self.taps()..][step].iter().copied().find(|weight| weight.is_nan())
    }
}

impl Path {
    /// Sums of fp16 products.
    fn float_sums(
        self,
        convolution: &FloatConvolution<'_>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [u32],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(path) = self.float_vectors() {
            let (first, columns) = (positions.start, kernels.clone());
            let put = |position: usize, k: usize, [sum]: [u32; 1]| {
                sums[(position - first) * columns.len() + k - columns.start] = sum;
            };
            return match path {
                x86::Vectors::Avx2(avx2) => {
                    sweep(|step| avx2.step(step), convolution, positions, kernels, put);
                }
                x86::Vectors::Avx512(avx512) => {
                    sweep(|step| avx512.step(step), convolution, positions, kernels, put);
                }
            };
        }
        plain::sums(convolution, positions, kernels, sums);
    }

    /// Sums of tiles.
    fn float_tiles(
        self,
        convolution: &FloatConvolution<'_>,
        tiles: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [[u32; OUTPUTS]],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(path) = self.float_vectors() {
            let (first, columns) = (tiles.start, kernels.clone());
            let put = |tile: usize, k: usize, outputs: [u32; OUTPUTS]| {
                sums[(tile - first) * columns.len() + k - columns.start] = outputs;
            };
            return match path {
                x86::Vectors::Avx2(avx2) => {
                    sweep(|step| avx2.tile_step(step), convolution, tiles, kernels, put);
                }
                x86::Vectors::Avx512(avx512) => {
                    sweep(|step| avx512.tile_step(step), convolution, tiles, kernels, put);
                }
            };
        }
        plain::tiles(convolution, tiles, kernels, sums);
    }
}
