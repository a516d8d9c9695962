//! Errors in requests to the MAC array.

use thiserror::Error;

/// Reason for which sums cannot be computed: lengths that do not belong together.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// A kernel without taps, or an output without columns; also one with more taps than can be counted.
    #[error("a kernel's extent or the output width is zero, or beyond counting")]
    Empty,
    /// Not kernels × taps weights.
    #[error("{given} weights, where {needed} belong")]
    Weights {
        /// Number of weights that the kernels need.
        needed: usize,
        /// Number of weights that were passed.
        given: usize,
    },
    /// The weights were packed for a kernel of another extent or dilation.
    #[error("the weights were packed for another kernel")]
    Kernel,
    /// A kernel beyond the packed ones, or a range that ends before it starts.
    #[error("kernels {start}..{end} of {packed}")]
    Kernels {
        /// First kernel asked for.
        start: usize,
        /// One past the last.
        end: usize,
        /// Number of kernels that are packed.
        packed: usize,
    },
    /// A position reads beyond the window.
    #[error("the positions read {needed} elements of a window of {held}")]
    Window {
        /// Number of elements that the positions reach.
        needed: usize,
        /// Number of elements that the window holds.
        held: usize,
    },
    /// Not one sum per position and kernel.
    #[error("room for {given} sums, where {needed} belong")]
    Sums {
        /// Positions times kernels.
        needed: usize,
        /// Length of the slice passed.
        given: usize,
    },
    /// Sums of this many products need more than 32 bits.
    #[error("sums of {taps} int8 products can exceed 32 bits")]
    Deep {
        /// Products in a sum.
        taps: usize,
    },
}
