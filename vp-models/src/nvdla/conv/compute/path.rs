//! Instructions that compute the sums.

use std::ops::Range;

use super::Convolution;
#[cfg(target_arch = "x86_64")]
use super::float::x86::Vectors;
use super::plain::Plain;
use super::tile;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512Vnni, AvxVnni};

/// A way to compute that this CPU has. All give the same sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(PathKind);

/// Vector kinds carry the proof that the CPU has the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathKind {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(AvxVnni),
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni(Avx512Vnni),
}

impl Path {
    /// Plain Rust, on every CPU.
    pub const PLAIN: Path = Path(PathKind::Plain);

    /// All that this CPU has, the fastest first.
    pub fn all() -> Vec<Path> {
        #[cfg(target_arch = "x86_64")]
        let vector = [
            Avx512Vnni::detect().map(PathKind::Avx512Vnni),
            AvxVnni::detect().map(PathKind::AvxVnni),
            Avx2::detect().map(PathKind::Avx2),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let vector: [Option<PathKind>; 0] = [];
        vector.into_iter().flatten().chain([PathKind::Plain]).map(Path).collect()
    }

    /// The fastest that this CPU has.
    pub fn best() -> Path {
        Path::all().first().copied().unwrap_or(Path::PLAIN)
    }

    /// Returns the path's name, as people know the instructions.
    pub fn name(self) -> &'static str {
        match self.0 {
            PathKind::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            PathKind::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            PathKind::AvxVnni(_) => "AVX-VNNI",
            #[cfg(target_arch = "x86_64")]
            PathKind::Avx512Vnni(_) => "AVX-512 VNNI",
        }
    }

    /// Returns the vector instructions that compute fp16, if this path has them.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn float_vectors(self) -> Option<Vectors> {
        match self.0 {
            PathKind::Plain => None,
            PathKind::Avx2(avx2) => Some(Vectors::avx2(avx2)),
            PathKind::AvxVnni(vnni) => Some(Vectors::avx2(vnni.avx2())),
            PathKind::Avx512Vnni(vnni) => Some(Vectors::avx512(vnni)),
        }
    }

    /// Sums of int8 products, modulo 2³².
    pub(super) fn sums(
        self,
        convolution: &Convolution<'_, i8>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i32],
    ) {
        match self.0 {
            PathKind::Plain => tile::sweep(&Plain, convolution, positions, kernels, sums),
            #[cfg(target_arch = "x86_64")]
            PathKind::Avx2(avx2) => tile::sweep(&avx2, convolution, positions, kernels, sums),
            #[cfg(target_arch = "x86_64")]
            PathKind::AvxVnni(vnni) => tile::sweep(&vnni, convolution, positions, kernels, sums),
            #[cfg(target_arch = "x86_64")]
            PathKind::Avx512Vnni(vnni) => tile::sweep(&vnni, convolution, positions, kernels, sums),
        }
    }

    /// Sums of int16 products, fewer than 2¹⁷ of them. There is one vector version, with AVX2.
    pub(super) fn sums_of_int16(
        self,
        convolution: &Convolution<'_, i16>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i64],
    ) {
        match self.0 {
            PathKind::Plain => tile::sweep(&Plain, convolution, positions, kernels, sums),
            #[cfg(target_arch = "x86_64")]
            PathKind::Avx2(avx2) => tile::sweep(&avx2, convolution, positions, kernels, sums),
            #[cfg(target_arch = "x86_64")]
            PathKind::AvxVnni(vnni) => tile::sweep(&vnni.avx2(), convolution, positions, kernels, sums),
            #[cfg(target_arch = "x86_64")]
            PathKind::Avx512Vnni(vnni) => tile::sweep(&vnni.avx2(), convolution, positions, kernels, sums),
        }
    }
}
