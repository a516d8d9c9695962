//! Weights in the order the MAC array's fast paths read them.

use super::element::sealed::Zero;
use super::element::{Element, LANES};
use super::error::Error;
use super::geometry::Kernel;

/// Kernels, packed once for any number of sums.
///
/// Blocks of 16 kernels; in a block the groups of taps (run by run, see [`Kernel`]), in a group the 16 kernels, in
/// a kernel the taps of the group. Taps that fill up a run's last group and kernels that fill up a block have weight
/// zero: whatever activation meets them adds nothing.
#[derive(Clone, Debug)]
pub struct PackedWeights<T: Element> {
    kernel: Kernel,
    kernels: usize,
    lines: Vec<T::Line>,
    /// Sum of each kernel's weights, modulo 2³²: used to remove an offset of the activations from a sum.
    totals: Vec<[i32; LANES]>,
}

impl<T: Element> PackedWeights<T> {
    /// Packs weights that lie `[kernel][row][column][channel]`.
    pub fn pack(kernel: Kernel, kernels: usize, weights: &[T]) -> Result<Self, Error> {
        let taps = kernel.taps()?;
        let needed = kernels.checked_mul(taps).ok_or(Error::Empty)?;
        if weights.len() != needed {
            return Err(Error::Weights { needed, given: weights.len() });
        }
        let run = kernel.run();
        let (groups, blocks) = (run.div_ceil(T::GROUP), kernels.div_ceil(LANES));
        let per_block = kernel.runs() * groups;
        let mut lines = vec![T::Line::ZERO; blocks * per_block];
        let mut totals = vec![[0i32; LANES]; blocks];
        for (k, weights) in weights.chunks_exact(taps).enumerate() {
            let (block, lane) = (k / LANES, k % LANES);
            let lines = &mut lines[block * per_block..][..per_block];
            for (run, lines) in weights.chunks_exact(run).zip(lines.chunks_exact_mut(groups)) {
                let (whole, rest) = run.split_at(run.len() / T::GROUP * T::GROUP);
                // Of a length that the compiler knows.
                for (group, line) in whole.chunks_exact(T::GROUP).zip(&mut *lines) {
                    line.as_mut()[lane * T::GROUP..][..T::GROUP].copy_from_slice(group);
                }
                if let Some(last) = lines.last_mut()
                    && !rest.is_empty()
                {
                    last.as_mut()[lane * T::GROUP..][..rest.len()].copy_from_slice(rest);
                }
            }
            let total: i64 = weights.iter().map(|&weight| weight.into()).sum();
            totals[block][lane] = total as i32;
        }
        Ok(PackedWeights { kernel, kernels, lines, totals })
    }

    /// Returns the kernel that the weights were packed for.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Returns the number of kernels.
    pub fn kernels(&self) -> usize {
        self.kernels
    }

    /// The weight of kernel `k` at row `r`, column `s`, channel `c`. Panics beyond the kernels' extent.
    pub fn at(&self, k: usize, r: usize, s: usize, c: usize) -> T {
        let Kernel { height, width, channels, .. } = self.kernel;
        assert!(k < self.kernels && r < height && s < width && c < channels, "weight ({k}, {r}, {s}, {c})");
        let tap = (r * width + s) * channels + c;
        let (run, element) = (tap / self.kernel.run(), tap % self.kernel.run());
        let groups = self.kernel.run().div_ceil(T::GROUP);
        let line = run * groups + element / T::GROUP;
        self.block(k / LANES)[line].as_ref()[k % LANES * T::GROUP + element % T::GROUP]
    }

    /// The lines of a block of kernels.
    pub(super) fn block(&self, block: usize) -> &[T::Line] {
        let per_block = self.lines.len() / self.totals.len();
        &self.lines[block * per_block..][..per_block]
    }

    /// The sums of its kernels' weights, modulo 2³².
    pub(super) fn totals(&self, block: usize) -> &[i32; LANES] {
        &self.totals[block]
    }
}
