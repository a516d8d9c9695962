//! Cuts large work into pieces, one a thread.

use std::num::NonZeroUsize;
use std::ops::Range;

/// Products that a thread must have to do before waking it pays: some 30 µs of the fastest path, where waking
/// costs up to 15.
const PRODUCTS_A_THREAD: usize = 8 << 20;

/// With fewer positions in a piece, weights are loaded for too little use.
const POSITIONS_A_PIECE: usize = 24;

/// Kernels are divided between blocks of this many, so that no block is computed twice.
const KERNELS_TOGETHER: usize = 64;

/// Calls `compute(positions, kernels, sums)` for pieces that together are all positions × kernels, on at most
/// `limit` threads, the calling one among them. The sums of a piece are `[position][kernel]`, like those of the whole.
///
/// Positions are divided where there are enough; else kernels, whose sums must then be gathered.
pub(super) fn divide<S: Copy + Default + Send>(
    limit: NonZeroUsize,
    taps: usize,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [S],
    compute: &(impl Fn(Range<usize>, Range<usize>, &mut [S]) + Sync),
) {
    let products = sums.len().saturating_mul(taps);
    let pieces = limit.get().min(products / PRODUCTS_A_THREAD);
    if pieces <= 1 {
        compute(positions, kernels, sums);
    } else if positions.len() >= pieces * POSITIONS_A_PIECE {
        by_positions(pieces, positions, kernels, sums, compute);
    } else {
        by_kernels(pieces, positions, kernels, sums, compute);
    }
}

fn by_positions<S: Send>(
    pieces: usize,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [S],
    compute: &(impl Fn(Range<usize>, Range<usize>, &mut [S]) + Sync),
) {
    let piece = positions.len().div_ceil(pieces);
    rayon::in_place_scope(|scope| {
        let mut chunks = sums.chunks_mut(piece * kernels.len()).enumerate().map(|(index, sums)| {
            let start = positions.start + index * piece;
            (start..positions.end.min(start + piece), sums)
        });
        let own = chunks.next();
        for (positions, sums) in chunks {
            let kernels = kernels.clone();
            scope.spawn(move |_| compute(positions, kernels, sums));
        }
        if let Some((positions, sums)) = own {
            compute(positions, kernels.clone(), sums);
        }
    });
}

fn by_kernels<S: Copy + Default + Send>(
    pieces: usize,
    positions: Range<usize>,
    kernels: Range<usize>,
    sums: &mut [S],
    compute: &(impl Fn(Range<usize>, Range<usize>, &mut [S]) + Sync),
) {
    let groups = kernels.start / KERNELS_TOGETHER..kernels.end.div_ceil(KERNELS_TOGETHER);
    let piece = groups.len().div_ceil(pieces);
    let mut parts: Vec<(Range<usize>, Vec<S>)> = Vec::with_capacity(pieces);
    for first in groups.clone().step_by(piece) {
        let start = kernels.start.max(first * KERNELS_TOGETHER);
        let end = kernels.end.min((first + piece) * KERNELS_TOGETHER);
        parts.push((start..end, vec![S::default(); positions.len() * (end - start)]));
    }
    rayon::in_place_scope(|scope| {
        let Some((own, others)) = parts.split_first_mut() else { return };
        for (kernels, sums) in others {
            let positions = positions.clone();
            scope.spawn(move |_| compute(positions, kernels.clone(), sums));
        }
        compute(positions.clone(), own.0.clone(), &mut own.1);
    });
    for (index, row) in sums.chunks_exact_mut(kernels.len()).enumerate() {
        for (part, computed) in &parts {
            let computed = &computed[index * part.len()..][..part.len()];
            row[part.start - kernels.start..part.end - kernels.start].copy_from_slice(computed);
        }
    }
}
