//! Steps with the vector instructions of x86: 16 kernels at a time, a lane of 32 bits each.
//!
//! Each activation becomes a table of its multiples by the five digits; the digits of the weights select from
//! it. What then happens to a lane is [`aligned`](super::product::aligned), operation for operation. As in the
//! paths for integers, a value of this type proves that the CPU has the instructions.
#![expect(
    unsafe_code,
    reason = "vector instructions: entered by detection, loaded from and stored to arrays"
)]

use std::arch::x86_64::*;

use super::product::sign_constant;
use super::{Activation, FloatStep, FloatSteps, LANES, OUTPUTS, PLACES, STEP_CHANNELS, StepSums, WeightLine};
use crate::nvdla::conv::compute::winograd::outputs;

/// A vector path.
pub(in crate::nvdla::conv::compute) enum Vectors {
    Avx2(Avx2),
    Avx512(Avx512),
}

/// AVX2: half of the kernels at a time.
#[derive(Clone, Copy)]
pub(in crate::nvdla::conv::compute) struct Avx2(());

/// AVX-512 F: all kernels at a time.
#[derive(Clone, Copy)]
pub(in crate::nvdla::conv::compute) struct Avx512(());

impl Vectors {
    /// Vectors of AVX2, which the path for integers has detected.
    pub(in crate::nvdla::conv::compute) fn avx2(_: crate::nvdla::conv::compute::x86::Avx2) -> Vectors {
        Vectors::Avx2(Avx2(()))
    }

    /// Vectors of AVX-512, which the path for integers has detected.
    pub(in crate::nvdla::conv::compute) fn avx512(
        _: crate::nvdla::conv::compute::x86::Avx512Vnni,
    ) -> Vectors {
        Vectors::Avx512(Avx512(()))
    }
}

impl FloatSteps for Avx2 {
    fn step(&self, step: &FloatStep<'_>) -> StepSums<1> {
        #[target_feature(enable = "avx2")]
        fn with_avx2(step: &FloatStep<'_>) -> StepSums<1> {
            // SAFETY: AVX2 is enabled here.
            unsafe { sums::<__m256i>(step) }
        }
        // SAFETY: `self` exists, so AVX2 was detected.
        unsafe { with_avx2(step) }
    }

    fn tile_step(&self, step: &FloatStep<'_>) -> StepSums<OUTPUTS> {
        #[target_feature(enable = "avx2")]
        fn with_avx2(step: &FloatStep<'_>) -> StepSums<OUTPUTS> {
            // SAFETY: AVX2 is enabled here.
            unsafe { tile_sums::<__m256i>(step) }
        }
        // SAFETY: `self` exists, so AVX2 was detected.
        unsafe { with_avx2(step) }
    }
}

impl FloatSteps for Avx512 {
    fn step(&self, step: &FloatStep<'_>) -> StepSums<1> {
        #[target_feature(enable = "avx512f")]
        fn with_avx512(step: &FloatStep<'_>) -> StepSums<1> {
            // SAFETY: AVX-512 F is enabled here.
            unsafe { sums::<__m512i>(step) }
        }
        // SAFETY: `self` exists, so AVX-512 F was detected.
        unsafe { with_avx512(step) }
    }

    fn tile_step(&self, step: &FloatStep<'_>) -> StepSums<OUTPUTS> {
        #[target_feature(enable = "avx512f")]
        fn with_avx512(step: &FloatStep<'_>) -> StepSums<OUTPUTS> {
            // SAFETY: AVX-512 F is enabled here.
            unsafe { tile_sums::<__m512i>(step) }
        }
        // SAFETY: `self` exists, so AVX-512 F was detected.
        unsafe { with_avx512(step) }
    }
}

/// Lanes of 32 bits. All functions need the instructions of the type.
trait Words: Copy {
    /// Lanes; a table has as many entries.
    const COUNT: usize;

    unsafe fn splat(word: u32) -> Self;
    /// From an array of at least that many words.
    unsafe fn load(words: &[u32]) -> Self;
    /// To an array of at least that many words.
    unsafe fn store(self, words: &mut [u32]);
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    /// The larger, signed.
    unsafe fn max(self, other: Self) -> Self;
    /// The smaller, unsigned.
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn left<const N: u32>(self) -> Self;
    unsafe fn right<const N: u32>(self) -> Self;
    /// With copies of the sign.
    unsafe fn right_signed<const N: u32>(self) -> Self;
    /// Each lane by its own count; 0 from 32 on.
    unsafe fn right_by(self, counts: Self) -> Self;
    /// The entries that the low bits of each lane name.
    unsafe fn look_up(table: Self, indices: Self) -> Self;
    /// Three words become two of the same sum.
    unsafe fn carry_save(a: Self, b: Self, c: Self) -> (Self, Self);
    /// `self`, and the bits of `other` under `mask`.
    unsafe fn with_bits(self, other: Self, mask: u32) -> Self;
}

/// Implements what is one instruction.
macro_rules! instructions {
    ($lanes:literal, $and:ident, $or:ident, $xor:ident, $add:ident, $sub:ident, $max:ident, $min:ident,
     $splat:ident, $right_by:ident) => {
        const COUNT: usize = $lanes;

        #[inline(always)]
        unsafe fn splat(word: u32) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $splat(word.cast_signed()) }
        }
        #[inline(always)]
        unsafe fn and(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $and(self, other) }
        }
        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $or(self, other) }
        }
        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $xor(self, other) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $add(self, other) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $sub(self, other) }
        }
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $max(self, other) }
        }
        #[inline(always)]
        unsafe fn min(self, other: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $min(self, other) }
        }
        #[inline(always)]
        unsafe fn right_by(self, counts: Self) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { $right_by(self, counts) }
        }
    };
}

impl Words for __m256i {
    instructions!(
        8,
        _mm256_and_si256,
        _mm256_or_si256,
        _mm256_xor_si256,
        _mm256_add_epi32,
        _mm256_sub_epi32,
        _mm256_max_epi32,
        _mm256_min_epu32,
        _mm256_set1_epi32,
        _mm256_srlv_epi32
    );

    #[inline(always)]
    unsafe fn load(words: &[u32]) -> Self {
        let words: &[u32; 8] = words.first_chunk().expect("eight words");
        // SAFETY: reads the 32 bytes of the array; the caller has the instructions.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, words: &mut [u32]) {
        let words: &mut [u32; 8] = words.first_chunk_mut().expect("eight words");
        // SAFETY: writes the 32 bytes of the array; the caller has the instructions.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self) }
    }
    #[inline(always)]
    unsafe fn left<const N: u32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm256_sllv_epi32(self, Self::splat(N)) }
    }
    #[inline(always)]
    unsafe fn right<const N: u32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm256_srlv_epi32(self, Self::splat(N)) }
    }
    #[inline(always)]
    unsafe fn right_signed<const N: u32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm256_srav_epi32(self, Self::splat(N)) }
    }
    #[inline(always)]
    unsafe fn look_up(table: Self, indices: Self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm256_permutevar8x32_epi32(table, indices) }
    }
    #[inline(always)]
    unsafe fn carry_save(a: Self, b: Self, c: Self) -> (Self, Self) {
        // SAFETY: the caller has the instructions.
        unsafe {
            let differ = a.xor(b);
            let carry = a.and(b).or(differ.and(c));
            (differ.xor(c), carry.add(carry))
        }
    }
    #[inline(always)]
    unsafe fn with_bits(self, other: Self, mask: u32) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { self.or(other.and(Self::splat(mask))) }
    }
}

impl Words for __m512i {
    instructions!(
        16,
        _mm512_and_si512,
        _mm512_or_si512,
        _mm512_xor_si512,
        _mm512_add_epi32,
        _mm512_sub_epi32,
        _mm512_max_epi32,
        _mm512_min_epu32,
        _mm512_set1_epi32,
        _mm512_srlv_epi32
    );

    #[inline(always)]
    unsafe fn load(words: &[u32]) -> Self {
        let words: &[u32; 16] = words.first_chunk().expect("sixteen words");
        // SAFETY: reads the 64 bytes of the array; the caller has the instructions.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, words: &mut [u32]) {
        let words: &mut [u32; 16] = words.first_chunk_mut().expect("sixteen words");
        // SAFETY: writes the 64 bytes of the array; the caller has the instructions.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self) }
    }
    #[inline(always)]
    unsafe fn left<const N: u32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm512_slli_epi32::<N>(self) }
    }
    #[inline(always)]
    unsafe fn right<const N: u32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm512_srli_epi32::<N>(self) }
    }
    #[inline(always)]
    unsafe fn right_signed<const N: u32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm512_srai_epi32::<N>(self) }
    }
    #[inline(always)]
    unsafe fn look_up(table: Self, indices: Self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm512_permutexvar_epi32(indices, table) }
    }
    #[inline(always)]
    unsafe fn carry_save(a: Self, b: Self, c: Self) -> (Self, Self) {
        // SAFETY: the caller has the instructions.
        unsafe {
            let sum = _mm512_ternarylogic_epi32::<0b1001_0110>(a, b, c);
            let carry = _mm512_ternarylogic_epi32::<0b1110_1000>(a, b, c);
            (sum, carry.add(carry))
        }
    }
    #[inline(always)]
    unsafe fn with_bits(self, other: Self, mask: u32) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm512_ternarylogic_epi32::<0b1111_1000>(self, other, Self::splat(mask)) }
    }
}

/// A table of 16 entries, of which eight are the first half again: three bits choose, whatever the fourth is.
const fn twice(eight: [u32; 8]) -> [u32; LANES] {
    let mut table = [0; LANES];
    let mut index = 0;
    while index < LANES {
        table[index] = eight[index % 8];
        index += 1;
    }
    table
}

/// Masks of the entries that are the mantissa, and of those that are twice that: those of the digits 1 and -1, and of 2 and -2.
const ONCE: [u32; LANES] = twice([0, !0, 0, 0, 0, !0, 0, 0]);
const DOUBLED: [u32; LANES] = twice([0, 0, !0, 0, 0, 0, !0, 0]);
/// Words that turn the entries into partial products, for positive and for negative activations.
const POSITIVE: u32 = 0x10000;
const NEGATIVE: u32 = 0xffff;
const SIGNS: [[u32; LANES]; 2] = [
    twice([POSITIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE, NEGATIVE, NEGATIVE, POSITIVE]),
    twice([POSITIVE, NEGATIVE, NEGATIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE]),
];

/// The constants for shifts by 0, 4, …, 28; [`Words::look_up`] gives them for the shift by 32 as well, where the words
/// are 0, and it must be masked.
const CONSTANTS: [u32; LANES] = twice([
    sign_constant(0),
    sign_constant(4),
    sign_constant(8),
    sign_constant(12),
    sign_constant(16),
    sign_constant(20),
    sign_constant(24),
    sign_constant(28),
]);

/// Products that 31 bits hold the sum of: each has at most 28.
const TOGETHER: usize = 4;

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn sums<V: Words>(step: &FloatStep<'_>) -> StepSums<1> {
    let (mut exponents, mut mantissas) = ([0; LANES], [0; LANES]);
    for first in (0..LANES).step_by(V::COUNT) {
        // SAFETY: as the caller's.
        let [scales, highs, lows] = unsafe { part::<V>(step, first) };
        for lane in 0..V::COUNT {
            exponents[first + lane] = 4 * scales[lane].cast_signed();
            let high = i64::from(highs[lane].cast_signed());
            mantissas[first + lane] = (high << 16) + i64::from(lows[lane]);
        }
    }
    (exponents, [mantissas])
}

/// Returns the four sums of a tile, as [`sums`] returns one.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn tile_sums<V: Words>(step: &FloatStep<'_>) -> StepSums<OUTPUTS> {
    let (mut exponents, mut mantissas) = ([0; LANES], [[0; LANES]; OUTPUTS]);
    for first in (0..LANES).step_by(V::COUNT) {
        let mut scales = [0; LANES];
        // SAFETY: as the caller's.
        let outputs = unsafe {
            let scale = largest_scale::<V>(step, first);
            scale.store(&mut scales);
            tile_part::<V>(step, first, scale)
        };
        for lane in 0..V::COUNT {
            exponents[first + lane] = 4 * scales[lane].cast_signed();
        }
        for (mantissas, [highs, lows]) in mantissas.iter_mut().zip(outputs) {
            for lane in 0..V::COUNT {
                let [high, low] = [highs, lows].map(|half| i64::from(half[lane].cast_signed()));
                mantissas[first + lane] = (high << 16) + low;
            }
        }
    }
    (exponents, mantissas)
}

/// Returns the operands that meet in a step, but for activations that are zero.
#[inline(always)]
fn operands<'a>(step: &'a FloatStep<'_>) -> impl Iterator<Item = (Activation, &'a WeightLine)> {
    let activations = step.taps.iter().map(|&(at, _)| step.activations[at]);
    activations.zip(step.lines).filter(|(activation, _)| !activation.is_zero())
}

/// The largest scale of a product in each lane.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn largest_scale<V: Words>(step: &FloatStep<'_>, first: usize) -> V {
    // SAFETY: as the caller's.
    unsafe {
        let mut scale = V::splat(0);
        for (activation, line) in operands(step) {
            let of_weights = V::load(&line.digits[first..]).right_signed::<24>();
            scale = scale.max(of_weights.add(V::splat(activation.scale())));
        }
        scale
    }
}

/// Scales and sums, in two halves, of some lanes.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn part<V: Words>(step: &FloatStep<'_>, first: usize) -> [[u32; LANES]; 3] {
    let mut stored = [[0; LANES]; 3];
    // SAFETY: as the caller's.
    unsafe {
        let scale = largest_scale::<V>(step, first);
        let (mut highs, mut lows, mut sum) = (V::splat(0), V::splat(0), V::splat(0));
        let mut count = 0;
        for (activation, line) in operands(step) {
            sum = sum.add(product(activation, line, first, scale));
            count += 1;
            if count % TOGETHER == 0 {
                highs = highs.add(sum.right_signed::<16>());
                lows = lows.add(sum.and(V::splat(0xffff)));
                sum = V::splat(0);
            }
        }
        highs = highs.add(sum.right_signed::<16>());
        lows = lows.add(sum.and(V::splat(0xffff)));
        scale.store(&mut stored[0]);
        highs.store(&mut stored[1]);
        lows.store(&mut stored[2]);
    }
    stored
}

/// The outputs of a tile, in two halves, both signed: 31 bits hold a place's sum, but not what nine of them add up to.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn tile_part<V: Words>(step: &FloatStep<'_>, first: usize, scale: V) -> [[[u32; LANES]; 2]; OUTPUTS] {
    const { assert!(STEP_CHANNELS <= TOGETHER) };
    let mut stored = [[[0; LANES]; 2]; OUTPUTS];
    // SAFETY: as the caller's.
    unsafe {
        let (mut highs, mut lows) = ([V::splat(0); PLACES], [V::splat(0); PLACES]);
        let taps = step.taps.chunks_exact(STEP_CHANNELS).zip(step.lines.chunks_exact(STEP_CHANNELS));
        for ((taps, lines), (high, low)) in taps.zip(highs.iter_mut().zip(&mut lows)) {
            let place = FloatStep { activations: step.activations, taps, lines };
            let mut sum = V::splat(0);
            for (activation, line) in operands(&place) {
                sum = sum.add(product(activation, line, first, scale));
            }
            *high = sum.right_signed::<16>();
            *low = sum.and(V::splat(0xffff));
        }
        for (half, places) in [highs, lows].into_iter().enumerate() {
            let outputs = outputs(places, |a, b| a.add(b), |a, b| a.sub(b));
            for (stored, output) in stored.iter_mut().zip(outputs) {
                output.store(&mut stored[half]);
            }
        }
    }
    stored
}

/// One product of each lane, aligned to the lane's scale.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn product<V: Words>(activation: Activation, line: &WeightLine, first: usize, scale: V) -> V {
    let negative = usize::from(activation.is_negative());
    // SAFETY: as the caller's.
    unsafe {
        let mantissa = V::splat(activation.mantissa());
        let once = mantissa.and(V::load(&ONCE));
        let doubled = mantissa.add(mantissa).and(V::load(&DOUBLED));
        let table = once.or(doubled).xor(V::load(&SIGNS[negative]));

        let digits = V::load(&line.digits[first..]);
        let negations = V::load(&line.negations[first..]).right_by(V::splat(16 * negative as u32));
        let p0 = V::look_up(table, digits);
        let p1 = V::look_up(table, digits.right::<3>());
        let p2 = V::look_up(table, digits.right::<6>());
        let p3 = V::look_up(table, digits.right::<9>());
        let p4 = V::look_up(table, digits.right::<12>());
        let p5 = V::look_up(table, digits.right::<15>());
        let p6 = V::look_up(table, digits.right::<18>());
        let p7 = V::look_up(table, digits.right::<21>());

        let w1 = p1.left::<2>().with_bits(negations, 1);
        let w2 = p2.left::<4>().with_bits(negations, 1 << 2);
        let w3 = p3.left::<6>().with_bits(negations, 1 << 4);
        let w4 = negations.and(V::splat(1 << 6));
        let w6 = p5.left::<10>().with_bits(negations, 1 << 8);
        let w7 = p6.left::<12>().with_bits(negations, 1 << 10);
        let w8 = p7.left::<14>().with_bits(negations, 1 << 12);
        let w9 = negations.and(V::splat(1 << 14));

        let (a, b) = V::carry_save(p0, w1, w2);
        let (a, b) = V::carry_save(a, b, w3);
        let (a, b) = V::carry_save(a, b, w4);
        let (c, d) = V::carry_save(p4.left::<8>(), w6, w7);
        let (c, d) = V::carry_save(c, d, w8);
        let (c, d) = V::carry_save(c, d, w9);
        let (a, b) = V::carry_save(a, b, c);
        let (sum, carry) = V::carry_save(a, b, d);

        let distance = scale.sub(digits.right_signed::<24>()).sub(V::splat(activation.scale()));
        // 8 and more leave nothing, nor the constant.
        let distance = distance.min(V::splat(8));
        let constant = V::look_up(V::load(&CONSTANTS), distance);
        let kept = V::splat(7).sub(distance).right_signed::<31>();
        let shift = distance.left::<2>();
        let shifted = sum.right_by(shift).add(carry.right_by(shift)).add(constant);
        shifted.sub(shifted.and(kept))
    }
}
