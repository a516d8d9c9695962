//! Types of values: elements and shape, and how much memory a tensor of these takes.

use crate::{ElementType, OperatorError, Tensor};
use std::fmt;

/// Most bytes that an operator may give as one tensor, or have beside it while it computes.
pub const LARGEST_TENSOR: usize = 1 << 31;

/// Type and shape of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    /// Type of the elements.
    pub element_type: ElementType,
    /// Sizes of the axes, the slowest first.
    pub shape: Vec<usize>,
}

impl ValueType {
    /// A type of these.
    pub fn new(element_type: ElementType, shape: impl Into<Vec<usize>>) -> ValueType {
        ValueType { element_type, shape: shape.into() }
    }

    /// The type of a tensor.
    pub fn of(tensor: &Tensor) -> ValueType {
        ValueType::new(tensor.element_type(), tensor.shape.clone())
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    ///
    /// # Errors
    /// When a tensor of this type would be larger than [`LARGEST_TENSOR`].
    pub fn elements(&self) -> Result<usize, OperatorError> {
        let too_large = || OperatorError::TooLarge { what: self.to_string() };
        // An axis of size 0 hides how large the others are, whose products are needed nevertheless.
        let bound =
            product(self.shape.iter().map(|&size| size.max(1))).filter(|&count| count <= LARGEST_TENSOR);
        let bytes = bound.and_then(|count| count.checked_mul(self.element_type.bytes()));
        if bytes.is_none_or(|bytes| bytes > LARGEST_TENSOR) {
            return Err(too_large());
        }
        Ok(self.shape.iter().product())
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.element_type, shape_text(&self.shape))
    }
}

impl ElementType {
    /// Size of an element.
    pub fn bytes(self) -> usize {
        match self {
            ElementType::Int64 => 8,
            ElementType::Float | ElementType::Int32 => 4,
            ElementType::Int8 | ElementType::Uint8 | ElementType::Bool => 1,
        }
    }

    /// Returns true for integers, which truth values are not.
    pub fn is_integer(self) -> bool {
        !matches!(self, ElementType::Float | ElementType::Bool)
    }
}

/// A shape as people write it: `1x3x224x224`, or `scalar`.
pub fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// Returns the product, or none if it has no room.
pub(crate) fn product(sizes: impl IntoIterator<Item = usize>) -> Option<usize> {
    sizes.into_iter().try_fold(1_usize, usize::checked_mul)
}
