//! Matrix products, in blocks that stay in a cache. Each element is a sum in an order that depends on the matrices' sizes only,
//! so the result is the same on any number of cores.

use rayon::prelude::*;
use std::ops::Range;

/// Rows of the left matrix that are multiplied at once.
const ROWS: usize = 4;
/// Columns of the right matrix that are multiplied at once.
const COLUMNS: usize = 8;
/// Terms of a sum whose factors are in a cache together.
const TERMS: usize = 256;
/// Rows and columns of a task.
const TASK: (usize, usize) = (256, 64);

/// A number that can be multiplied and summed.
pub(crate) trait Number: Copy + Send + Sync {
    /// Nought.
    const ZERO: Self;
    /// Returns this number and a product.
    fn plus_product(self, left: Self, right: Self) -> Self;
}

impl Number for f32 {
    const ZERO: f32 = 0.0;
    #[inline]
    fn plus_product(self, left: f32, right: f32) -> f32 {
        self + left * right
    }
}

/// Sums wrap, as ONNX has them in 32 bits.
impl Number for i32 {
    const ZERO: i32 = 0;
    #[inline]
    fn plus_product(self, left: i32, right: i32) -> i32 {
        self.wrapping_add(left.wrapping_mul(right))
    }
}

/// A matrix by its steps from row to row and from column to column.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) elements: &'a [T],
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// A right matrix, which may be made as it is read.
pub(crate) trait Columns<T>: Sync {
    /// Puts the elements of some rows and of `panel.len() / rows.len()` columns at `first` into `panel`, row by row; columns behind the last are zero.
    fn fill(&self, rows: Range<usize>, first: usize, panel: &mut [T]);
}

/// A right matrix that is there, with its number of columns.
pub(crate) struct Whole<'a, T>(pub(crate) Matrix<'a, T>, pub(crate) usize);

impl<T: Number> Columns<T> for Whole<'_, T> {
    fn fill(&self, rows: Range<usize>, first: usize, panel: &mut [T]) {
        let width = panel.len() / rows.len();
        let there = width.min(self.1 - first);
        for (row, to) in rows.zip(panel.chunks_exact_mut(width)) {
            let start = row * self.0.row;
            for (column, to) in to[..there].iter_mut().enumerate() {
                *to = self.0.elements[start + (first + column) * self.0.column];
            }
            to[there..].fill(T::ZERO);
        }
    }
}

/// Returns the product, row by row, of a left matrix of `rows` and a right one of `columns`, of `terms` between them.
pub(crate) fn multiply<T: Number>(
    left: Matrix<'_, T>,
    right: &impl Columns<T>,
    (rows, terms, columns): (usize, usize, usize),
) -> Vec<T> {
    let mut product = vec![T::ZERO; rows * columns];
    if rows == 0 || columns == 0 || terms == 0 {
        return product;
    }
    let tasks: Vec<(usize, usize)> = (0..columns)
        .step_by(TASK.1)
        .flat_map(|column| (0..rows).step_by(TASK.0).map(move |row| (row, column)))
        .collect();
    // So many tasks at once that their results do not take as much memory as the product once more.
    for tasks in tasks.chunks(64) {
        let blocks: Vec<Vec<T>> = tasks
            .par_iter()
            .map(|&(row, column)| {
                let size = (TASK.0.min(rows - row), TASK.1.min(columns - column));
                block(left, right, terms, (row, column), size)
            })
            .collect();
        for (&(row, column), block) in tasks.iter().zip(&blocks) {
            let width = TASK.1.min(columns - column);
            for (line, from) in block.chunks_exact(width.next_multiple_of(COLUMNS)).enumerate() {
                if row + line < rows {
                    let start = (row + line) * columns + column;
                    product[start..start + width].copy_from_slice(&from[..width]);
                }
            }
        }
    }
    product
}

/// Returns a block of the product, with rows and columns rounded up to whole panels.
fn block<T: Number>(
    left: Matrix<'_, T>,
    right: &impl Columns<T>,
    terms: usize,
    (row, column): (usize, usize),
    (rows, columns): (usize, usize),
) -> Vec<T> {
    let width = columns.next_multiple_of(COLUMNS);
    let mut sums = vec![T::ZERO; rows.next_multiple_of(ROWS) * width];
    let mut rights = vec![T::ZERO; TERMS.min(terms) * width];
    let mut lefts = vec![T::ZERO; TERMS.min(terms) * ROWS];
    for first in (0..terms).step_by(TERMS) {
        let range = first..terms.min(first + TERMS);
        let depth = range.len();
        for (panel, to) in rights[..depth * width].chunks_exact_mut(depth * COLUMNS).enumerate() {
            right.fill(range.clone(), column + panel * COLUMNS, to);
        }
        for (panel, sums) in sums.chunks_exact_mut(ROWS * width).enumerate() {
            for (term, to) in range.clone().zip(lefts.chunks_exact_mut(ROWS)) {
                for (line, to) in to.iter_mut().enumerate() {
                    let line = panel * ROWS + line;
                    *to = match line < rows {
                        true => left.elements[(row + line) * left.row + term * left.column],
                        false => T::ZERO,
                    };
                }
            }
            for (at, rights) in rights[..depth * width].chunks_exact(depth * COLUMNS).enumerate() {
                add_panel(&lefts[..depth * ROWS], rights, &mut sums[at * COLUMNS..], width);
            }
        }
    }
    sums
}

/// Adds the product of a panel of rows and a panel of columns.
fn add_panel<T: Number>(lefts: &[T], rights: &[T], sums: &mut [T], width: usize) {
    let mut sum = [[T::ZERO; COLUMNS]; ROWS];
    for (line, sum) in sum.iter_mut().enumerate() {
        sum.copy_from_slice(&sums[line * width..line * width + COLUMNS]);
    }
    for (left, right) in lefts.as_chunks::<ROWS>().0.iter().zip(rights.as_chunks::<COLUMNS>().0) {
        for (sum, &left) in sum.iter_mut().zip(left) {
            for (sum, &right) in sum.iter_mut().zip(right) {
                *sum = sum.plus_product(left, right);
            }
        }
    }
    for (line, sum) in sum.iter().enumerate() {
        sums[line * width..line * width + COLUMNS].copy_from_slice(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_product_in_blocks_is_the_product(rows in 1_usize..300, terms in 1_usize..300, columns in 1_usize..80, seed: u32) {
            let number = |place: usize| (place as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) as i32 >> 16;
            let left: Vec<i32> = (0..rows * terms).map(number).collect();
            // The right matrix is given by columns.
            let right: Vec<i32> = (0..terms * columns).map(|place| number(place + 7)).collect();
            let product = multiply(
                Matrix { elements: &left, row: terms, column: 1 },
                &Whole(Matrix { elements: &right, row: 1, column: terms }, columns),
                (rows, terms, columns),
            );
            for place in [0, rows * columns / 2, rows * columns - 1] {
                let (row, column) = (place / columns, place % columns);
                let sum = (0..terms).fold(0, |sum: i32, term| {
                    sum.plus_product(left[row * terms + term], right[column * terms + term])
                });
                prop_assert_eq!(product[place], sum);
            }
        }
    }
}
