//! Inputs of an operator: those that are there, of the types that it takes.

use crate::value_type::shape_text;
use crate::{ElementType, OperatorError, Tensor, ValueType};

/// Types of inputs, and those of their values that are known.
#[derive(Clone, Copy)]
pub(crate) struct Types<'a> {
    pub(crate) types: &'a [Option<ValueType>],
    pub(crate) known: &'a [Option<&'a Tensor>],
}

impl<'a> Types<'a> {
    /// Returns an input's type, if there is one.
    pub(crate) fn optional(&self, input: usize) -> Option<&'a ValueType> {
        self.types.get(input).and_then(Option::as_ref)
    }

    /// Returns an input's type.
    pub(crate) fn required(&self, input: usize) -> Result<&'a ValueType, OperatorError> {
        self.optional(input).ok_or(OperatorError::Missing { input })
    }

    /// Returns the type of an input of floats.
    pub(crate) fn floats(&self, input: usize) -> Result<&'a ValueType, OperatorError> {
        self.of_type(input, "float", |element_type| element_type == ElementType::Float)
    }

    /// Returns the type of an input whose elements are right.
    pub(crate) fn of_type(
        &self,
        input: usize,
        expected: &'static str,
        is_right: impl Fn(ElementType) -> bool,
    ) -> Result<&'a ValueType, OperatorError> {
        let value = self.required(input)?;
        if is_right(value.element_type) {
            return Ok(value);
        }
        Err(OperatorError::Type { input, found: value.element_type, expected })
    }

    /// Checks that an input has elements of this type, if it is there.
    pub(crate) fn same(&self, input: usize, expected: ElementType) -> Result<(), OperatorError> {
        match self.optional(input) {
            Some(value) if value.element_type != expected => {
                Err(OperatorError::Type { input, found: value.element_type, expected: expected.name() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that an input has this shape, if it is there.
    pub(crate) fn shaped(&self, input: usize, expected: &[usize]) -> Result<(), OperatorError> {
        match self.optional(input) {
            Some(value) if value.shape != expected => {
                Err(wrong_shape(input, &value.shape, shape_text(expected)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the integers of an input that decides about shapes, if it is there.
    pub(crate) fn integers(
        &self,
        input: usize,
        role: &'static str,
    ) -> Result<Option<Vec<i64>>, OperatorError> {
        let Some(value) = self.optional(input) else { return Ok(None) };
        self.of_type(input, "int64", |element_type| {
            matches!(element_type, ElementType::Int64 | ElementType::Int32)
        })?;
        if value.rank() > 1 {
            return Err(wrong_shape(input, &value.shape, "one axis".into()));
        }
        let tensor = self.constant(input, role)?;
        Ok(Some(tensor.to_integers().unwrap_or_default()))
    }

    /// Returns an input's value, which must be known.
    pub(crate) fn constant(&self, input: usize, role: &'static str) -> Result<&'a Tensor, OperatorError> {
        let known = self.known.get(input).copied().flatten();
        known.ok_or(OperatorError::NotConstant { input, role })
    }

    /// Checks that there are no more inputs than these.
    pub(crate) fn at_most(&self, most: usize) -> Result<(), OperatorError> {
        let found = self.types.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        if found > most {
            return Err(OperatorError::TooMany { what: "inputs", found, most });
        }
        Ok(())
    }
}

/// Returns the error that an input has a wrong shape.
pub(crate) fn wrong_shape(input: usize, found: &[usize], expected: String) -> OperatorError {
    OperatorError::Shape { input, found: shape_text(found), expected }
}

/// Returns the error that an attribute has a wrong value.
pub(crate) fn wrong_attribute(
    attribute: &'static str,
    found: impl std::fmt::Debug,
    expected: impl Into<String>,
) -> OperatorError {
    OperatorError::Attribute { attribute, found: format!("{found:?}"), expected: expected.into() }
}

/// Returns an axis counted from the first; negative ones count from the end.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize, OperatorError> {
    let wanted = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&wanted) {
        return Ok(wanted as usize);
    }
    Err(wrong_attribute("axis", axis, format!("one of the {rank} axes")))
}

/// Returns a place between axes counted from the first, which may be behind the last.
pub(crate) fn axis_or_end(place: i64, rank: usize) -> Result<usize, OperatorError> {
    if place == rank as i64 { Ok(rank) } else { axis(place, rank) }
}

/// Inputs that are there, when types are checked.
#[derive(Clone, Copy)]
pub(crate) struct Tensors<'a>(pub(crate) &'a [Option<&'a Tensor>]);

impl<'a> Tensors<'a> {
    /// Returns an input, if there is one.
    pub(crate) fn optional(&self, input: usize) -> Option<&'a Tensor> {
        self.0.get(input).copied().flatten()
    }

    /// Returns an input.
    pub(crate) fn required(&self, input: usize) -> Result<&'a Tensor, OperatorError> {
        self.optional(input).ok_or(OperatorError::Missing { input })
    }

    /// Returns an input's floats.
    pub(crate) fn floats(&self, input: usize) -> Result<&'a [f32], OperatorError> {
        let tensor = self.required(input)?;
        let found = tensor.element_type();
        tensor.as_floats().ok_or(OperatorError::Type { input, found, expected: "float" })
    }

    /// Returns an input's floats, if it is there.
    pub(crate) fn optional_floats(&self, input: usize) -> Result<Option<&'a [f32]>, OperatorError> {
        if self.optional(input).is_none() { Ok(None) } else { self.floats(input).map(Some) }
    }

    /// Returns an input's integers.
    pub(crate) fn integers(&self, input: usize) -> Result<Vec<i64>, OperatorError> {
        let tensor = self.required(input)?;
        let found = tensor.element_type();
        tensor.to_integers().ok_or(OperatorError::Type { input, found, expected: "an integer" })
    }
}
