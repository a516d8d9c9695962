//! Errors of graphs.

use std::ops::Range;

use thiserror::Error;

use super::{Graph, Shape};

/// Error of a graph or a layer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    /// A size that no tensor has.
    #[error(
        "{shape} elements: sizes are 1 to {}, and all elements at most {}",
        Shape::MOST,
        Shape::MOST_ELEMENTS
    )]
    Shape {
        /// The size.
        shape: Shape,
    },
    /// A layer reads what does not come before it.
    #[error("it reads layer {layer}, which does not come before it")]
    Order {
        /// The layer that it reads.
        layer: usize,
    },
    /// A window that fits nowhere, or one that lies in padding as a whole.
    #[error("a window of {} rows and {} columns does not lie over {input} everywhere", size[0], size[1])]
    Window {
        /// The window.
        size: [u32; 2],
        /// Shape that it should lie over.
        input: Shape,
    },
    /// Two tensors of different shapes.
    #[error("{first} and {second} are not the same shape")]
    Pair {
        /// The first.
        first: Shape,
        /// The second.
        second: Shape,
    },
    /// A part of the filters that is not there.
    #[error("filters {} to {} of {filters} bytes", part.start, part.end)]
    Filters {
        /// The part.
        part: Range<u64>,
        /// Bytes of all filters.
        filters: u32,
    },
    /// A shift beyond the sums.
    #[error("a right shift of {shift}: at most 62")]
    Shift {
        /// The shift.
        shift: u32,
    },
    /// Bounds the wrong way round.
    #[error("nothing lies between {low} and {high}")]
    Bounds {
        /// The lower bound.
        low: i8,
        /// The upper bound.
        high: i8,
    },
    /// More to compute than any inference has.
    #[error("{products} products in all: at most {}", Graph::MOST_PRODUCTS)]
    Products {
        /// Number of products.
        products: u64,
    },
    /// More filters than any inference has.
    #[error("{bytes} bytes of filters: at most {}", Graph::MOST_FILTERS)]
    FilterBytes {
        /// Number of bytes.
        bytes: u32,
    },
    /// More features than any inference has.
    #[error("{features} elements of all layers: at most {}", Graph::MOST_FEATURES)]
    Features {
        /// Number of elements.
        features: u64,
    },
    /// No layer, or too many.
    #[error("{layers} layers: 1 to {}", Graph::MOST_LAYERS)]
    Layers {
        /// Number of layers.
        layers: usize,
    },
}
