//! How the fast paths cut positions × kernels: into tiles whose sums stay in registers.
//!
//! A tile is P positions × B blocks of 16 kernels. Each weight loaded serves P positions, each activation 16·B
//! kernels. What the paths have of their own is the tile's inside ([`Tiles::tile`]) and its best size.

use std::array;
use std::ops::Range;

use super::Convolution;
use super::element::{Element, LANES};

/// Sums of a tile: `[position][block][kernel]`.
pub(super) type Sums<S, const P: usize, const B: usize> = [[[S; LANES]; B]; P];

/// What a tile reads.
pub(super) struct Tile<'a, T: Element, const P: usize, const B: usize> {
    /// The window.
    pub(super) elements: &'a [T],
    /// Where each position's first tap lies in it.
    pub(super) starts: [usize; P],
    /// Where each run lies from there.
    pub(super) runs: &'a [usize],
    /// Elements of a run.
    pub(super) run: usize,
    /// The weights of each block.
    pub(super) blocks: [&'a [T::Line]; B],
    /// The sums of the kernels' weights, modulo 2³².
    pub(super) totals: [&'a [i32; LANES]; B],
}

/// One run of a tile, with its weights. The slices of all positions and blocks have the same length each.
pub(super) struct Run<'a, T: Element, const P: usize, const B: usize> {
    /// Each position's activations.
    pub(super) activations: [&'a [T]; P],
    /// Each block's lines of weights, a group of taps each.
    pub(super) lines: [&'a [T::Line]; B],
}

impl<'a, T: Element, const P: usize, const B: usize> Tile<'a, T, P, B> {
    /// The tile's runs, one after the other.
    #[inline(always)]
    pub(super) fn runs(&self) -> impl Iterator<Item = Run<'a, T, P, B>> {
        let groups = self.run.div_ceil(T::GROUP);
        self.runs.iter().enumerate().map(move |(index, offset)| Run {
            activations: array::from_fn(|p| &self.elements[self.starts[p] + offset..][..self.run]),
            lines: array::from_fn(|b| &self.blocks[b][index * groups..][..groups]),
        })
    }
}

/// A path: something that can compute tiles.
pub(super) trait Tiles<T: Element>: Sized {
    /// What holds a sum.
    type Sum: Copy;

    /// The sums of one tile.
    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, T, P, B>) -> Sums<Self::Sum, P, B>;

    /// Computes as many blocks from `block` on as suit this path, at most `blocks`, by [`Sweep::column`]; gives
    /// how many.
    fn columns(&self, sweep: &mut Sweep<'_, '_, T, Self::Sum>, block: usize, blocks: usize) -> usize;
}

/// Sums on their way into the caller's slice.
pub(super) struct Sweep<'a, 'w, T: Element, S> {
    convolution: &'a Convolution<'w, T>,
    runs: Vec<usize>,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &'a mut [S],
}

/// Computes all sums, `[position][kernel]`. Panics if they reach beyond the window, the weights or the slice.
pub(super) fn sweep<T: Element, X: Tiles<T>>(
    path: &X,
    convolution: &Convolution<'_, T>,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [X::Sum],
) {
    let runs = convolution.geometry.kernel.run_offsets(convolution.window.pitch);
    let blocks = kernels.start / LANES..kernels.end.div_ceil(LANES);
    let mut sweep = Sweep { convolution, runs, positions, kernels, sums };
    let mut block = blocks.start;
    while block < blocks.end {
        block += path.columns(&mut sweep, block, blocks.end - block);
    }
}

impl<T: Element, S: Copy> Sweep<'_, '_, T, S> {
    /// All positions against B blocks of kernels, in tiles of P positions while they last.
    pub(super) fn column<X: Tiles<T, Sum = S>, const P: usize, const B: usize>(
        &mut self,
        path: &X,
        block: usize,
    ) {
        let mut positions = self.positions.clone();
        while positions.len() >= P {
            self.tile::<X, P, B>(path, positions.start, block);
            positions.start += P;
        }
        while P > 4 && positions.len() >= 4 {
            self.tile::<X, 4, B>(path, positions.start, block);
            positions.start += 4;
        }
        while P > 2 && positions.len() >= 2 {
            self.tile::<X, 2, B>(path, positions.start, block);
            positions.start += 2;
        }
        for position in positions {
            self.tile::<X, 1, B>(path, position, block);
        }
    }

    fn tile<X: Tiles<T, Sum = S>, const P: usize, const B: usize>(
        &mut self,
        path: &X,
        first: usize,
        block: usize,
    ) {
        let Convolution { geometry, window, weights } = self.convolution;
        let tile = Tile {
            elements: window.elements,
            starts: array::from_fn(|p| geometry.start(first + p, window.pitch)),
            runs: &self.runs,
            run: geometry.kernel.run(),
            blocks: array::from_fn(|b| weights.block(block + b)),
            totals: array::from_fn(|b| weights.totals(block + b)),
        };
        let sums = path.tile::<P, B>(&tile);

        // Of the first and the last block only the kernels that are asked for.
        let tile_kernels = block * LANES..(block + B) * LANES;
        let kernels = tile_kernels.start.max(self.kernels.start)..tile_kernels.end.min(self.kernels.end);
        let wanted = kernels.start - tile_kernels.start..kernels.end - tile_kernels.start;
        for (p, sums) in sums.iter().enumerate() {
            let row = (first + p - self.positions.start) * self.kernels.len();
            let place = row + kernels.start - self.kernels.start;
            self.sums[place..][..kernels.len()].copy_from_slice(&sums.as_flattened()[wanted.clone()]);
        }
    }
}
