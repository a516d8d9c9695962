//! Types of values: elements and shape, and how much memory a tensor of these takes.

use crate::{ElementType, OperatorError, Tensor};
use std::fmt;

/// Most bytes of a tensor.
pub const LARGEST_TENSOR: usize = 1 << 31;
/// Most elements of a tensor, of whatever type: operators may take eight bytes for each while they compute.
const MOST_ELEMENTS: usize = 1 << 29;
/// Most axes of a tensor.
const MOST_AXES: usize = 64;
/// Longest axis of those operators that have a table of its places.
const LONGEST_AXIS: usize = 1 << 24;

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
    /// When a tensor of this type would be larger than [`LARGEST_TENSOR`], or has more than 64 axes.
    pub fn elements(&self) -> Result<usize, OperatorError> {
        if self.rank() > MOST_AXES {
            return Err(OperatorError::TooManyAxes { found: self.rank(), most: MOST_AXES });
        }
        // An axis of size 0 hides how large the others are, whose products are needed nevertheless.
        let bound = product(self.shape.iter().map(|&size| size.max(1)));
        let most = MOST_ELEMENTS.min(LARGEST_TENSOR / self.element_type.bytes());
        if bound.is_none_or(|count| count > most) {
            return Err(OperatorError::TooLarge { what: self.to_string() });
        }
        Ok(self.shape.iter().product())
    }

    /// Checks that all axes may have a table of their places.
    pub(crate) fn check_tables(&self) -> Result<(), OperatorError> {
        match self.shape.iter().any(|&size| size > LONGEST_AXIS) {
            true => Err(OperatorError::TooLarge { what: self.to_string() }),
            false => Ok(()),
        }
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
