//! Tiles with the vector instructions of x86. The one file here with unsafe code.
//!
//! Each path is a value that can be made only by detecting its instructions, so having one proves that the CPU
//! supports them. All indexing is checked. Unsafe are only the calls of code compiled for those instructions,
//! and loads and stores between whole arrays and vector registers.
//!
//! Weights of one line are `[16 kernels][group of taps]`. So one group of activations, repeated, is multiplied
//! with all kernels, and each 32-bit lane sums one kernel: nothing is added across lanes until a tile is done.
#![expect(
    unsafe_code,
    reason = "vector instructions: entered by detection, loaded from and stored to arrays"
)]

use std::arch::x86_64::*;

use super::element::{LANES, Line};
use super::tile::{Sums, Sweep, Tile, Tiles, group};

/// AVX2: sign-extended to 16 bits, multiplied and added in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx2(());

/// AVX-VNNI: four unsigned × signed products at once, 256 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AvxVnni(());

/// AVX-512 VNNI: the same, 512 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512Vnni(());

impl Avx2 {
    /// The path, if this CPU has it.
    pub(super) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

impl AvxVnni {
    /// The path, if this CPU has it.
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni")).then_some(AvxVnni(()))
    }

    /// Returns the path that this one implies.
    pub(super) fn avx2(self) -> Avx2 {
        Avx2(())
    }
}

impl Avx512Vnni {
    /// The path, if this CPU has it.
    pub(super) fn detect() -> Option<Self> {
        let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni");
        (is_x86_feature_detected!("avx2") && avx512).then_some(Avx512Vnni(()))
    }

    /// Returns the path that this one implies.
    pub(super) fn avx2(self) -> Avx2 {
        Avx2(())
    }
}

impl Tiles<i8> for Avx2 {
    type Sum = i32;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
        // SAFETY: `self` exists, so AVX2 was detected.
        unsafe { avx2(tile) }
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i8, i32>, block: usize, _blocks: usize) -> usize {
        // 12 of 16 registers hold sums.
        sweep.column::<Self, 3, 1>(self, block);
        1
    }
}

impl Tiles<i8> for AvxVnni {
    type Sum = i32;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
        // SAFETY: `self` exists, so AVX2 and AVX-VNNI were detected.
        unsafe { avx_vnni(tile) }
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i8, i32>, block: usize, _blocks: usize) -> usize {
        // 12 of 16 registers hold sums.
        sweep.column::<Self, 6, 1>(self, block);
        1
    }
}

impl Tiles<i8> for Avx512Vnni {
    type Sum = i32;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
        // SAFETY: `self` exists, so AVX-512 F and VNNI were detected.
        unsafe { avx512_vnni(tile) }
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i8, i32>, block: usize, blocks: usize) -> usize {
        // Of 32 registers 24 hold sums in the largest tile.
        match blocks {
            4.. => {
                sweep.column::<Self, 6, 4>(self, block);
                4
            }
            2 | 3 => {
                sweep.column::<Self, 8, 2>(self, block);
                2
            }
            _ => {
                sweep.column::<Self, 8, 1>(self, block);
                1
            }
        }
    }
}

impl Tiles<i16> for Avx2 {
    type Sum = i64;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i16, P, B>) -> Sums<i64, P, B> {
        // SAFETY: `self` exists, so AVX2 was detected.
        unsafe { avx2_int16(tile) }
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i16, i64>, block: usize, _blocks: usize) -> usize {
        // 8 of 16 registers hold sums, in two halves.
        sweep.column::<Self, 2, 1>(self, block);
        1
    }
}

/// Four activations as one word, the first lowest: the order of a group's weights in a line.
#[inline(always)]
fn word(group: [i8; 4]) -> i32 {
    i32::from_le_bytes(group.map(i8::cast_unsigned))
}

/// `vpdpbusd` multiplies unsigned by signed: activations go in with 128 added (their top bit flipped), and 128 times
/// the sum of the weights is taken out. It adds modulo 2³², so the sums are exact where 32 bits hold the result.
#[target_feature(enable = "avx512f,avx512vnni")]
fn avx512_vnni<const P: usize, const B: usize>(tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
    let flip = _mm512_set1_epi8(i8::MIN);
    let mut sums = [[_mm512_setzero_si512(); B]; P];
    for sums in &mut sums {
        for (sum, totals) in sums.iter_mut().zip(tile.totals) {
            // SAFETY: reads the 64 bytes of the array.
            let totals = unsafe { _mm512_loadu_si512(totals.as_ptr().cast()) };
            *sum = _mm512_sub_epi32(*sum, _mm512_slli_epi32::<7>(totals));
        }
    }
    let (activations, blocks) = tile.operands();
    for (index, &at) in tile.groups.iter().enumerate() {
        let mut weights = [flip; B];
        for (weights, lines) in weights.iter_mut().zip(blocks) {
            let Line(line) = &lines[index];
            // SAFETY: reads the 64 bytes of the line, which is aligned to 64.
            *weights = unsafe { _mm512_load_si512(line.as_ptr().cast()) };
        }
        for (sums, taps) in sums.iter_mut().zip(activations) {
            let activations = _mm512_xor_si512(_mm512_set1_epi32(word(group(taps, at))), flip);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = _mm512_dpbusd_epi32(*sum, activations, weights);
            }
        }
    }
    let mut stored = [[[0; LANES]; B]; P];
    for (stored, sums) in stored.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        // SAFETY: writes the 64 bytes of the array.
        unsafe { _mm512_storeu_si512(stored.as_mut_ptr().cast(), *sums) };
    }
    stored
}

/// Computes as [`avx512_vnni`] does, with half the width: a line is two registers of 8 kernels.
#[target_feature(enable = "avx2,avxvnni")]
fn avx_vnni<const P: usize, const B: usize>(tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
    let flip = _mm256_set1_epi8(i8::MIN);
    let mut sums = [[[_mm256_setzero_si256(); 2]; B]; P];
    for sums in &mut sums {
        for (sums, totals) in sums.iter_mut().zip(tile.totals) {
            for (sum, totals) in sums.iter_mut().zip(totals.as_chunks::<8>().0) {
                // SAFETY: reads the 32 bytes of the array.
                let totals = unsafe { _mm256_loadu_si256(totals.as_ptr().cast()) };
                *sum = _mm256_sub_epi32(*sum, _mm256_slli_epi32::<7>(totals));
            }
        }
    }
    let (activations, blocks) = tile.operands();
    for (index, &at) in tile.groups.iter().enumerate() {
        let mut weights = [[flip; 2]; B];
        for (weights, lines) in weights.iter_mut().zip(blocks) {
            let Line(line) = &lines[index];
            for (weights, half) in weights.iter_mut().zip(line.as_chunks::<32>().0) {
                // SAFETY: reads the 32 bytes of half a line, which is aligned to 64.
                *weights = unsafe { _mm256_load_si256(half.as_ptr().cast()) };
            }
        }
        for (sums, taps) in sums.iter_mut().zip(activations) {
            let activations = _mm256_xor_si256(_mm256_set1_epi32(word(group(taps, at))), flip);
            for (sum, weights) in sums.as_flattened_mut().iter_mut().zip(weights.as_flattened()) {
                *sum = _mm256_dpbusd_avx_epi32(*sum, activations, *weights);
            }
        }
    }
    let mut stored = [[[0; LANES]; B]; P];
    for (stored, sums) in stored.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        for (stored, sums) in stored.as_chunks_mut::<8>().0.iter_mut().zip(sums) {
            // SAFETY: writes the 32 bytes of the array.
            unsafe { _mm256_storeu_si256(stored.as_mut_ptr().cast(), *sums) };
        }
    }
    stored
}

/// Sign-extended to 16 bits, a line is four registers of 4 kernels, two 32-bit sums each.
#[target_feature(enable = "avx2")]
fn avx2<const P: usize, const B: usize>(tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
    let mut sums = [[[_mm256_setzero_si256(); 4]; B]; P];
    let (activations, blocks) = tile.operands();
    for (index, &at) in tile.groups.iter().enumerate() {
        let mut taps = [_mm256_setzero_si256(); P];
        for (taps, activations) in taps.iter_mut().zip(activations) {
            *taps = _mm256_cvtepi8_epi16(_mm_set1_epi32(word(group(activations, at))));
        }
        for (block, lines) in blocks.iter().enumerate() {
            let Line(line) = &lines[index];
            for (quarter, weights) in line.as_chunks::<16>().0.iter().enumerate() {
                // SAFETY: reads the 16 bytes of a quarter of a line, which is aligned to 64.
                let weights = _mm256_cvtepi8_epi16(unsafe { _mm_load_si128(weights.as_ptr().cast()) });
                for (sums, taps) in sums.iter_mut().zip(taps) {
                    let sum = &mut sums[block][quarter];
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(taps, weights));
                }
            }
        }
    }
    let mut stored = [[[0; LANES]; B]; P];
    for (stored, sums) in stored.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        for (stored, pair) in stored.as_chunks_mut::<8>().0.iter_mut().zip(sums.as_chunks::<2>().0) {
            // Kernels 0 1 4 5 2 3 6 7 after the pairwise sum: the middle two pairs change places.
            let sums = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(pair[0], pair[1]));
            // SAFETY: writes the 32 bytes of the array.
            unsafe { _mm256_storeu_si256(stored.as_mut_ptr().cast(), sums) };
        }
    }
    stored
}

/// Groups of two taps that can be added before a 32-bit half of an int16 sum must be emptied.
const HALVES_HOLD: usize = 1 << 15;

/// The sum of two int16 products fits 32 bits but for one value, 2·(−32768)², which wraps to −2³¹; the lowest true
/// value is above that. So one less than the wrapped sum is one less than the true one, and fits always. It is summed
/// as high half (signed) and low half (unsigned), each in 32 bits, and what was taken off is counted.
#[target_feature(enable = "avx2")]
fn avx2_int16<const P: usize, const B: usize>(tile: &Tile<'_, i16, P, B>) -> Sums<i64, P, B> {
    let (one, low) = (_mm256_set1_epi32(1), _mm256_set1_epi32(0xffff));
    let mut sums = [[[0i64; LANES]; B]; P];
    let mut highs = [[[_mm256_setzero_si256(); 2]; B]; P];
    let mut lows = highs;
    let mut pending = 0;
    let mut empty = |highs: &mut [[[__m256i; 2]; B]; P],
                     lows: &mut [[[__m256i; 2]; B]; P],
                     pending: &mut usize| {
        for p in 0..P {
            for b in 0..B {
                for half in 0..2 {
                    let (mut high, mut low) = ([0i32; 8], [0i32; 8]);
                    // SAFETY: each writes the 32 bytes of its array.
                    unsafe {
                        _mm256_storeu_si256(high.as_mut_ptr().cast(), highs[p][b][half]);
                        _mm256_storeu_si256(low.as_mut_ptr().cast(), lows[p][b][half]);
                    }
                    for (sum, (high, low)) in sums[p][b][half * 8..].iter_mut().zip(high.into_iter().zip(low))
                    {
                        *sum += (i64::from(high) << 16) + i64::from(low) + *pending as i64;
                    }
                }
            }
        }
        (*highs, *lows) = ([[[_mm256_setzero_si256(); 2]; B]; P], [[[_mm256_setzero_si256(); 2]; B]; P]);
        *pending = 0;
    };
    let (activations, blocks) = tile.operands();
    for (index, &at) in tile.groups.iter().enumerate() {
        if pending == HALVES_HOLD {
            empty(&mut highs, &mut lows, &mut pending);
        }
        pending += 1;
        let mut taps = [one; P];
        for (taps, activations) in taps.iter_mut().zip(activations) {
            let [a, b] = group(activations, at);
            *taps = _mm256_set1_epi32(i32::from(b) << 16 | i32::from(a.cast_unsigned()));
        }
        for (block, lines) in blocks.iter().enumerate() {
            let Line(line) = &lines[index];
            for (half, weights) in line.as_chunks::<16>().0.iter().enumerate() {
                // SAFETY: reads the 32 bytes of half a line, which is aligned to 64.
                let weights = unsafe { _mm256_load_si256(weights.as_ptr().cast()) };
                for (p, taps) in taps.into_iter().enumerate() {
                    let less_one = _mm256_sub_epi32(_mm256_madd_epi16(taps, weights), one);
                    let (high_sum, low_sum) = (&mut highs[p][block][half], &mut lows[p][block][half]);
                    *high_sum = _mm256_add_epi32(*high_sum, _mm256_srai_epi32::<16>(less_one));
                    *low_sum = _mm256_add_epi32(*low_sum, _mm256_and_si256(less_one, low));
                }
            }
        }
    }
    empty(&mut highs, &mut lows, &mut pending);
    sums
}
