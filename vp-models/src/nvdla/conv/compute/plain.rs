//! Tiles in plain Rust: for every CPU, and what the vector versions must equal.

use std::ops::AddAssign;

use super::element::{Element, LANES};
use super::tile::{Sums, Sweep, Tile, Tiles, group};

/// The path without any special instruction.
pub(super) struct Plain;

/// Positions of a tile.
const POSITIONS: usize = 4;

impl Tiles<i8> for Plain {
    type Sum = i32;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
        products(tile, |activations: [i8; 4], weights: [i8; 4]| {
            activations.into_iter().zip(weights).map(|(a, w)| i32::from(a) * i32::from(w)).sum()
        })
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i8, i32>, block: usize, _blocks: usize) -> usize {
        sweep.column::<Self, POSITIONS, 1>(self, block);
        1
    }
}

impl Tiles<i16> for Plain {
    type Sum = i64;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i16, P, B>) -> Sums<i64, P, B> {
        products(tile, |activations: [i16; 2], weights: [i16; 2]| {
            activations.into_iter().zip(weights).map(|(a, w)| i64::from(i32::from(a) * i32::from(w))).sum()
        })
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i16, i64>, block: usize, _blocks: usize) -> usize {
        sweep.column::<Self, POSITIONS, 1>(self, block);
        1
    }
}

/// Adds up the products of every activation with the weights of all kernels for its tap.
fn products<T: Element, S: Copy + Default + AddAssign, const G: usize, const P: usize, const B: usize>(
    tile: &Tile<'_, T, P, B>,
    product: impl Fn([T; G], [T; G]) -> S,
) -> Sums<S, P, B> {
    let mut sums = [[[S::default(); LANES]; B]; P];
    let (activations, blocks) = tile.operands();
    for (index, &at) in tile.groups.iter().enumerate() {
        for (sums, taps) in sums.iter_mut().zip(activations) {
            let taps = group(taps, at);
            for (sums, lines) in sums.iter_mut().zip(blocks) {
                for (sum, &weights) in sums.iter_mut().zip(lines[index].as_ref().as_chunks::<G>().0) {
                    *sum += product(taps, weights);
                }
            }
        }
    }
    sums
}
