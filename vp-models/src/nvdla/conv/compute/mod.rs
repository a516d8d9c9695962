//! The arithmetic of the MAC array and its accumulator: sums of products, and fast. Those of integers are exact.
//!
//! The engine builds its input as a [`Window`] of rows, packs the weights of a kernel group once
//! ([`PackedWeights`]), combines both in a [`Convolution`] and asks a [`MacArray`] for the sums of a run of
//! positions and a range of kernels. This module has no time, registers or memory layouts.
//!
//! `reference` is the obvious version, and everything else must equal it. `plain` is the packed one in plain
//! Rust, `x86` has the ones with vector instructions, chosen by what the CPU supports ([`Path`]), and `threads`
//! divides the work. Sums are exact integers, so neither the path nor the number of threads changes a result.
//! fp16 has a datapath of its own, [`float`]: its sums are not exact, and each path gives the hardware's.
//!
//! [`winograd`] is another method for kernels of 3 x 3, on top of both.
//!
//! A sum of int8 products fits 32 bits up to 131 071 products ([`fits_i32`]); then use
//! [`MacArray::accumulate`]. Beyond that, and for int16, [`MacArray::accumulate_wide`] gives 64 bits.

mod element;
mod error;
pub mod float;
mod geometry;
mod path;
mod plain;
mod reference;
mod threads;
mod tile;
mod weights;
pub mod winograd;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::ops::Range;

pub use element::Element;
pub use error::Error;
pub use geometry::{Axes, Geometry, Kernel, Window};
pub use path::Path;
pub use weights::PackedWeights;

/// Returns true if 32 bits hold every sum of so many int8 products, the largest of which is (−128)².
pub const fn fits_i32(taps: usize) -> bool {
    (taps as u64) <= i32::MAX as u64 / <i8 as Element>::MAX_PRODUCT
}

/// Returns true if so many products can drive the 48-bit accumulator into saturation, so that their order matters.
///
/// int8 cannot within the convolution buffer; int16 can from 131 072 products on, all of the largest magnitude.
const fn saturates<T: Element>(taps: usize) -> bool {
    (taps as u64) > ((1 << (reference::ACCUMULATOR_BITS - 1)) - 1) / T::MAX_PRODUCT
}

/// Activations and weights that belong together, and how they meet.
#[derive(Clone, Copy, Debug)]
pub struct Convolution<'a, T: Element> {
    geometry: Geometry,
    window: Window<'a, T>,
    weights: &'a PackedWeights<T>,
}

impl<'a, T: Element> Convolution<'a, T> {
    /// Joins them. Refuses weights that were packed for another kernel, and an output without columns.
    pub fn new(
        geometry: Geometry,
        window: Window<'a, T>,
        weights: &'a PackedWeights<T>,
    ) -> Result<Self, Error> {
        if geometry.output_width == 0 {
            return Err(Error::Empty);
        }
        if *weights.kernel() != geometry.kernel {
            return Err(Error::Kernel);
        }
        Ok(Convolution { geometry, window, weights })
    }

    /// Products in a sum.
    fn taps(&self) -> usize {
        let Kernel { height, width, channels, .. } = self.geometry.kernel;
        height * width * channels
    }

    /// Checks that all that is asked for exists and has its place among `sums` sums.
    fn check(&self, positions: &Range<usize>, kernels: &Range<usize>, sums: usize) -> Result<(), Error> {
        let window = (self.window.pitch, self.window.elements.len());
        self.geometry.check((positions, kernels), sums, self.weights.kernels(), window)
    }
}

/// Array that computes sums: by one path, on a limited number of threads.
#[derive(Clone, Copy, Debug)]
pub struct MacArray {
    path: Path,
    threads: NonZeroUsize,
}

impl Default for MacArray {
    /// The best path of this CPU, on the calling thread alone.
    fn default() -> Self {
        MacArray { path: Path::best(), threads: NonZeroUsize::MIN }
    }
}

impl MacArray {
    /// By a path of one's choice, on the calling thread alone.
    pub fn by(path: Path) -> Self {
        MacArray { path, threads: NonZeroUsize::MIN }
    }

    /// Returns the array on up to `threads` threads, where the work is large enough to pay for them.
    #[must_use]
    pub fn on_up_to(self, threads: NonZeroUsize) -> Self {
        MacArray { threads, ..self }
    }

    /// The path taken.
    pub fn path(&self) -> Path {
        self.path
    }

    /// Writes the sums of a run of positions and a range of kernels, `[position][kernel]`.
    ///
    /// [`Error::Deep`] if 32 bits may not hold them.
    pub fn accumulate(
        &self,
        convolution: &Convolution<'_, i8>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i32],
    ) -> Result<(), Error> {
        convolution.check(&positions, &kernels, sums.len())?;
        if !fits_i32(convolution.taps()) {
            return Err(Error::Deep { taps: convolution.taps() });
        }
        if !sums.is_empty() {
            let compute = |positions, kernels, sums: &mut [i32]| {
                self.path.sums(convolution, positions, kernels, sums);
            };
            threads::divide(self.threads, convolution.taps(), positions, kernels, sums, &compute);
        }
        Ok(())
    }

    /// Writes the sums of a run of positions and a range of kernels, `[position][kernel]`, as the 48-bit accumulator
    /// holds them in the end.
    pub fn accumulate_wide<T: Wide>(
        &self,
        convolution: &Convolution<'_, T>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i64],
    ) -> Result<(), Error> {
        convolution.check(&positions, &kernels, sums.len())?;
        if !sums.is_empty() {
            let compute = |positions, kernels, sums: &mut [i64]| {
                if saturates::<T>(convolution.taps()) {
                    reference::sums(convolution, positions, kernels, sums);
                } else {
                    T::wide_sums(self.path, convolution, positions, kernels, sums);
                }
            };
            threads::divide(self.threads, convolution.taps(), positions, kernels, sums, &compute);
        }
        Ok(())
    }
}

/// Elements whose sums can be had in 64 bits: all.
pub trait Wide: Element {
    /// The exact sums, where the accumulator does not saturate.
    #[doc(hidden)]
    fn wide_sums(
        path: Path,
        convolution: &Convolution<'_, Self>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i64],
    );
}

impl Wide for i8 {
    fn wide_sums(
        path: Path,
        convolution: &Convolution<'_, i8>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i64],
    ) {
        // The few kernels deeper than 32 bits allow are single kernels that fill the whole buffer of nv_full.
        if !fits_i32(convolution.taps()) {
            return reference::sums(convolution, positions, kernels, sums);
        }
        let mut narrow = vec![0; sums.len()];
        path.sums(convolution, positions, kernels, &mut narrow);
        for (wide, narrow) in sums.iter_mut().zip(narrow) {
            *wide = narrow.into();
        }
    }
}

impl Wide for i16 {
    fn wide_sums(
        path: Path,
        convolution: &Convolution<'_, i16>,
        positions: Range<usize>,
        kernels: Range<usize>,
        sums: &mut [i64],
    ) {
        path.sums_of_int16(convolution, positions, kernels, sums);
    }
}
