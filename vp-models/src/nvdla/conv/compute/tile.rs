//! Division of positions × kernels, by the fast paths, into tiles whose sums stay in registers.
//!
//! A tile is P positions × B blocks of 16 kernels. Each loaded weight serves P positions, each activation 16·B
//! kernels. The paths differ only in the inside of a tile ([`Tiles::tile`]) and in its best size.

use std::array;
use std::ops::Range;

use super::Convolution;
use super::element::{Element, LANES, MAX_GROUP};

/// Sums of a tile: `[position][block][kernel]`.
pub(super) type Sums<S, const P: usize, const B: usize> = [[[S; LANES]; B]; P];

/// Operands that a tile reads.
pub(super) struct Tile<'a, T: Element, const P: usize, const B: usize> {
    /// The window from each position's first tap on, as far as all can go: the slices are of one length.
    activations: [&'a [T]; P],
    /// Place of each group of taps in the activations. Where its weights are filled up with zeros, its activations are
    /// whatever follows.
    pub(super) groups: &'a [usize],
    /// A line of each block's weights for every group.
    blocks: [&'a [T::Line]; B],
    /// The sums of the kernels' weights, modulo 2³².
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for paths that make activations unsigned")
    )]
    pub(super) totals: [&'a [i32; LANES]; B],
}

impl<'a, T: Element, const P: usize, const B: usize> Tile<'a, T, P, B> {
    /// The activations of each position and the lines of each block, their lengths said where the compiler sees
    /// that they are one: in the loop over groups one check then does for all positions, and none for the blocks.
    #[inline(always)]
    pub(super) fn operands(&self) -> ([&'a [T]; P], [&'a [T::Line]; B]) {
        let (mut activations, mut blocks) = (self.activations, self.blocks);
        let length = activations.first().map_or(0, |taps| taps.len());
        activations.iter_mut().for_each(|taps| *taps = &taps[..length]);
        blocks.iter_mut().for_each(|lines| *lines = &lines[..self.groups.len()]);
        (activations, blocks)
    }
}

/// The group of activations that starts at `at`.
#[inline(always)]
pub(super) fn group<T: Element, const G: usize>(activations: &[T], at: usize) -> [T; G] {
    match activations.get(at..).and_then(|taps| taps.first_chunk()) {
        Some(group) => *group,
        None => beyond_the_window(),
    }
}

#[cold]
#[inline(never)]
fn beyond_the_window() -> ! {
    unreachable!("the window was checked, and at its end padded to whole groups");
}

/// A path: something that can compute tiles.
pub(super) trait Tiles<T: Element>: Sized {
    /// Type that holds a sum.
    type Sum: Copy;

    /// The sums of one tile.
    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, T, P, B>) -> Sums<Self::Sum, P, B>;

    /// Computes as many blocks from `block` on as suit this path, at most `blocks`, by [`Sweep::column`];
    /// returns how many.
    fn columns(&self, sweep: &mut Sweep<'_, '_, T, Self::Sum>, block: usize, blocks: usize) -> usize;
}

/// Sums on their way into the caller's slice.
pub(super) struct Sweep<'a, 'w, T: Element, S> {
    convolution: &'a Convolution<'w, T>,
    groups: Vec<usize>,
    /// End of the furthest group.
    reach: usize,
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
    let groups = convolution.geometry.kernel.groups::<T>(convolution.window.pitch);
    let reach = groups.iter().max().map_or(0, |last| last + T::GROUP);
    let blocks = kernels.start / LANES..kernels.end.div_ceil(LANES);
    let mut sweep = Sweep { convolution, groups, reach, positions, kernels, sums };
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
        let mut starts: [usize; P] = array::from_fn(|p| geometry.start(first + p, window.pitch));
        let furthest = starts.iter().max().map_or(0, |start| start + self.reach);
        let mut elements = window.elements;
        let padded;
        if furthest > elements.len() {
            // At the window's end a group that is filled up reaches beyond it: compute on a longer copy.
            let from = starts.iter().min().copied().unwrap_or(0);
            let missing = furthest - elements.len();
            padded = [&elements[from..], &[T::default(); MAX_GROUP][..missing]].concat();
            starts = starts.map(|start| start - from);
            elements = &padded;
        }
        let length = elements.len() - starts.iter().max().copied().unwrap_or(0);
        let tile = Tile {
            activations: starts.map(|start| &elements[start..][..length]),
            groups: &self.groups,
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
