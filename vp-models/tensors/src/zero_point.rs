//! Quantised elements with their scales and zero points: one for all, or one a place on an axis.

use crate::arguments::{Tensors, Types, wrong_shape};
use crate::{ElementType, Elements, OperatorError};

/// The types of quantised elements, in words.
pub(crate) const BYTE: &str = "int8 or uint8";

/// Returns true for the types of quantised elements.
pub(crate) fn is_byte(element_type: ElementType) -> bool {
    matches!(element_type, ElementType::Int8 | ElementType::Uint8)
}

/// Checks that an input has one element, if it is there.
pub(crate) fn check_scalar(types: Types<'_>, input: usize) -> Result<(), OperatorError> {
    check_scales(types, input, 1)
}

/// Checks that an input has one element, or one axis of so many, if it is there.
pub(crate) fn check_scales(types: Types<'_>, input: usize, count: usize) -> Result<(), OperatorError> {
    match types.optional(input).map(|value| value.shape.as_slice()) {
        None | Some([] | [1]) => Ok(()),
        Some(&[size]) if size == count => Ok(()),
        Some(shape) if count == 1 => Err(wrong_shape(input, shape, "one element".into())),
        Some(shape) => Err(wrong_shape(input, shape, format!("one element, or one axis of {count}"))),
    }
}

/// Returns a tensor's integers less the zero point, which is one number or one a place on this axis; both are given by place.
pub(crate) fn centred(
    tensors: Tensors<'_>,
    (input, zero): (usize, usize),
    axis: usize,
) -> Result<Vec<i32>, OperatorError> {
    let tensor = tensors.required(input)?;
    let mut elements: Vec<i32> = match &tensor.elements {
        Elements::Int8(elements) => elements.iter().map(|&element| element.into()).collect(),
        Elements::Uint8(elements) => elements.iter().map(|&element| element.into()).collect(),
        Elements::Int32(elements) => elements.clone(),
        _ => return Err(OperatorError::Type { input, found: tensor.element_type(), expected: BYTE }),
    };
    let zeros = match tensors.optional(zero) {
        Some(_) => tensors.integers(zero)?,
        None => return Ok(elements),
    };
    each_of_axis(&mut elements, &tensor.shape, axis, &zeros, |element, &zero| {
        *element = element.wrapping_sub(zero as i32);
    });
    Ok(elements)
}

/// Changes each element by the entry of its place on an axis; one entry is for all.
pub(crate) fn each_of_axis<T, U>(
    elements: &mut [T],
    shape: &[usize],
    axis: usize,
    entries: &[U],
    change: impl Fn(&mut T, &U),
) {
    if let [entry] = entries {
        elements.iter_mut().for_each(|element| change(element, entry));
        return;
    }
    let inner: usize = shape[axis + 1..].iter().product();
    for (run, entry) in elements.chunks_mut(inner.max(1)).zip(entries.iter().cycle()) {
        run.iter_mut().for_each(|element| change(element, entry));
    }
}
