//! Errors of an operator's inputs and attributes.

use crate::ElementType;
use thiserror::Error;

/// Reason why an operator cannot be inferred or run.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OperatorError {
    /// An input that the operator needs is left out.
    #[error("input {input} is left out; it is needed")]
    Missing {
        /// Place of the input.
        input: usize,
    },
    /// More inputs, or outputs, than the operator has.
    #[error("{found} {what} are more than the {most} there are")]
    TooMany {
        /// `inputs` or `outputs`.
        what: &'static str,
        /// Number of them.
        found: usize,
        /// Largest number that would be right.
        most: usize,
    },
    /// An input has elements of a type that the operator does not take.
    #[error("input {input} has elements of type {found}; {expected} would be right")]
    Type {
        /// Place of the input.
        input: usize,
        /// Type of its elements.
        found: ElementType,
        /// Description of what would be right.
        expected: &'static str,
    },
    /// An input has a shape that does not fit the others or the attributes.
    #[error("input {input} has shape {found}; {expected} would be right")]
    Shape {
        /// Place of the input.
        input: usize,
        /// Shape of the input.
        found: String,
        /// Description of what would be right.
        expected: String,
    },
    /// An attribute has a value that it may not have.
    #[error("{attribute} is {found}; {expected} would be right")]
    Attribute {
        /// Name of the attribute.
        attribute: &'static str,
        /// Value as text.
        found: String,
        /// Description of what would be right.
        expected: String,
    },
    /// An input that decides about shapes is not known before the graph runs.
    #[error("input {input} ({role}) is known only when the graph runs; a constant would be right")]
    NotConstant {
        /// Place of the input.
        input: usize,
        /// Name of the input.
        role: &'static str,
    },
    /// An input has a value that the operator cannot take.
    #[error("input {input} has the value {found}; {expected} would be right")]
    Value {
        /// Place of the input.
        input: usize,
        /// The value.
        found: String,
        /// Description of what would be right.
        expected: String,
    },
    /// A tensor, or what is needed to compute one, is larger than may be.
    #[error("a tensor of {what} is larger than what is computed, 2^29 elements in 2 GiB")]
    TooLarge {
        /// The tensor.
        what: String,
    },
    /// A tensor has more axes than may be.
    #[error("a tensor has {found} axes; at most {most} would be right")]
    TooManyAxes {
        /// Number of axes.
        found: usize,
        /// Largest number that would be right.
        most: usize,
    },
}
