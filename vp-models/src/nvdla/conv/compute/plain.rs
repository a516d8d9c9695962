//! Tiles in plain Rust: for every CPU, and what the vector versions must equal.

use super::element::{Element, LANES};
use super::tile::{Sums, Sweep, Tile, Tiles};

/// The path without any special instruction.
pub(super) struct Plain;

/// Positions of a tile.
const POSITIONS: usize = 4;

impl Tiles<i8> for Plain {
    type Sum = i32;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i8, P, B>) -> Sums<i32, P, B> {
        products(tile, |activation, weight| i32::from(activation) * i32::from(weight))
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i8, i32>, block: usize, _blocks: usize) -> usize {
        sweep.column::<Self, POSITIONS, 1>(self, block);
        1
    }
}

impl Tiles<i16> for Plain {
    type Sum = i64;

    fn tile<const P: usize, const B: usize>(&self, tile: &Tile<'_, i16, P, B>) -> Sums<i64, P, B> {
        products(tile, |activation, weight| i64::from(i32::from(activation) * i32::from(weight)))
    }

    fn columns(&self, sweep: &mut Sweep<'_, '_, i16, i64>, block: usize, _blocks: usize) -> usize {
        sweep.column::<Self, POSITIONS, 1>(self, block);
        1
    }
}

/// Adds up the products of every activation with the weights of all kernels for its tap.
fn products<T: Element, S: Copy + Default + std::ops::AddAssign, const P: usize, const B: usize>(
    tile: &Tile<'_, T, P, B>,
    product: impl Fn(T, T) -> S,
) -> Sums<S, P, B> {
    let mut sums = [[[S::default(); LANES]; B]; P];
    for run in tile.runs() {
        for (sums, activations) in sums.iter_mut().zip(run.activations) {
            for (sums, lines) in sums.iter_mut().zip(run.lines) {
                for (activations, line) in activations.chunks(T::GROUP).zip(lines) {
                    for (sum, weights) in sums.iter_mut().zip(line.as_ref().chunks_exact(T::GROUP)) {
                        for (&activation, &weight) in activations.iter().zip(weights) {
                            *sum += product(activation, weight);
                        }
                    }
                }
            }
        }
    }
    sums
}
