//! Quantisation, and products of quantised tensors: exact sums, then one rounding, to even.

use crate::arguments::{Tensors, Types, axis};
use crate::convolution::{self, convolve_integers};
use crate::zero_point::{BYTE, centred, check_scalar, check_scales, each_of_axis, is_byte};
use crate::{ElementType, Elements, OperatorError, Spatial, Tensor, ValueType, matrix};

/// Returns the axis of scales, and its size; a scale for all needs none.
fn scale_axis(types: Types<'_>, at: i64) -> Result<usize, OperatorError> {
    let input = types.required(0)?;
    let scales = types.floats(1)?;
    if matches!(scales.shape.as_slice(), [] | [1]) {
        check_scalar(types, 2)?;
        return Ok(0);
    }
    let at = axis(at, input.rank())?;
    check_scales(types, 1, input.shape[at])?;
    types.shaped(2, &scales.shape)?;
    Ok(at)
}

/// Infers `QuantizeLinear`.
pub(crate) fn infer_quantize(at: i64, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let input = types.of_type(0, "float or int32", |element_type| {
        matches!(element_type, ElementType::Float | ElementType::Int32)
    })?;
    scale_axis(types, at)?;
    let element_type = match types.optional(2) {
        Some(_) => types.of_type(2, BYTE, is_byte)?.element_type,
        None => ElementType::Uint8,
    };
    Ok(ValueType::new(element_type, input.shape.clone()))
}

/// Runs `QuantizeLinear`.
pub(crate) fn run_quantize(
    at: i64,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let scales = tensors.floats(1)?;
    let at = if scales.len() == 1 { 0 } else { axis(at, made.rank())? };
    let mut elements = tensors.required(0)?.to_floats();
    each_of_axis(&mut elements, &made.shape, at, scales, |element, scale| {
        *element = (*element / scale).round_ties_even();
    });
    let zeros = zeros(tensors, 2)?;
    each_of_axis(&mut elements, &made.shape, at, &zeros, |element, zero| *element += zero);
    Ok(saturated(&elements, made.element_type))
}

/// Returns the zero points of an input as floats, or 0.
fn zeros(tensors: Tensors<'_>, input: usize) -> Result<Vec<f32>, OperatorError> {
    match tensors.optional(input) {
        Some(_) => Ok(tensors.integers(input)?.iter().map(|&zero| zero as f32).collect()),
        None => Ok(vec![0.0]),
    }
}

/// Returns whole numbers as bytes, saturated.
fn saturated(elements: &[f32], element_type: ElementType) -> Elements {
    match element_type {
        ElementType::Int8 => Elements::Int8(elements.iter().map(|&element| element as i8).collect()),
        _ => Elements::Uint8(elements.iter().map(|&element| element as u8).collect()),
    }
}

/// Infers `DequantizeLinear`.
pub(crate) fn infer_dequantize(at: i64, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let input = types.of_type(0, "int8, uint8 or int32", |element_type| {
        is_byte(element_type) || element_type == ElementType::Int32
    })?;
    scale_axis(types, at)?;
    types.same(2, input.element_type)?;
    Ok(ValueType::new(ElementType::Float, input.shape.clone()))
}

/// Runs `DequantizeLinear`.
pub(crate) fn run_dequantize(at: i64, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let (input, scales) = (tensors.required(0)?, tensors.floats(1)?);
    let at = if scales.len() == 1 { 0 } else { axis(at, input.shape.len())? };
    let elements = centred(tensors, (0, 2), at)?;
    let mut elements: Vec<f32> = elements.into_iter().map(|element| element as f32).collect();
    each_of_axis(&mut elements, &input.shape, at, scales, |element, scale| *element *= scale);
    Ok(Elements::Float(elements))
}

/// Infers `DynamicQuantizeLinear`.
pub(crate) fn infer_dynamic(types: Types<'_>) -> Result<Vec<ValueType>, OperatorError> {
    types.at_most(1)?;
    let input = types.floats(0)?;
    Ok(vec![
        ValueType::new(ElementType::Uint8, input.shape.clone()),
        ValueType::new(ElementType::Float, []),
        ValueType::new(ElementType::Uint8, []),
    ])
}

/// Runs `DynamicQuantizeLinear`.
pub(crate) fn run_dynamic(tensors: Tensors<'_>) -> Result<Vec<Tensor>, OperatorError> {
    let input = tensors.required(0)?;
    let elements = tensors.floats(0)?;
    let least = elements.iter().copied().fold(0.0, f32::min);
    let largest = elements.iter().copied().fold(0.0, f32::max);
    let scale = (largest - least) / 255.0;
    let (zero, inverse) = if scale == 0.0 { (0.0, 0.0) } else { (-least / scale, 1.0) };
    let zero = zero.round_ties_even().clamp(0.0, 255.0);
    let quantised = |&element: &f32| {
        let quotient = if inverse == 0.0 { 0.0 } else { element / scale };
        (quotient.round_ties_even() + zero) as u8
    };
    Ok(vec![
        Tensor::of(input.shape.clone(), Elements::Uint8(elements.iter().map(quantised).collect())),
        Tensor::floats([], vec![scale]),
        Tensor::of([], Elements::Uint8(vec![zero as u8])),
    ])
}

/// Places of the inputs of `QLinearConv` and `QLinearMatMul`: tensor, scale and zero point of both factors and of the product.
const PRODUCT: [usize; 2] = [6, 7];

fn check_product(types: Types<'_>) -> Result<(&ValueType, &ValueType, ElementType), OperatorError> {
    let (left, right) = (types.of_type(0, BYTE, is_byte)?, types.of_type(3, BYTE, is_byte)?);
    for scale in [1, 4, PRODUCT[0]] {
        types.floats(scale)?;
    }
    for scalar in [1, 2, PRODUCT[0], PRODUCT[1]] {
        check_scalar(types, scalar)?;
    }
    types.required(2)?;
    types.required(5)?;
    types.same(2, left.element_type)?;
    types.same(5, right.element_type)?;
    Ok((left, right, types.of_type(PRODUCT[1], BYTE, is_byte)?.element_type))
}

/// Infers `QLinearConv`.
pub(crate) fn infer_convolution(spatial: &Spatial, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(9)?;
    let (input, weights, element_type) = check_product(types)?;
    let shape = convolution::shape(spatial, input, (3, weights))?;
    check_scales(types, 4, shape[1])?;
    check_scales(types, 5, shape[1])?;
    types.same(8, ElementType::Int32)?;
    types.shaped(8, &shape[1..2])?;
    Ok(ValueType::new(element_type, shape))
}

/// Runs `QLinearConv`.
pub(crate) fn run_convolution(
    spatial: &Spatial,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let mut sums = convolve_integers(spatial, tensors, (0, 2), (3, 5))?;
    if let Some(Tensor { elements: Elements::Int32(bias), .. }) = tensors.optional(8) {
        each_of_axis(&mut sums, &made.shape, 1, bias, |sum, bias| *sum = sum.wrapping_add(*bias));
    }
    requantised(&sums, 1, tensors, made)
}

/// Infers `QLinearMatMul`.
pub(crate) fn infer_product(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(8)?;
    let (left, right, element_type) = check_product(types)?;
    let shape = matrix::shape((0, &left.shape), (3, &right.shape))?;
    check_columns(types, right, &[4, 5])?;
    Ok(ValueType::new(element_type, shape))
}

/// Checks scales or zero points of a right factor: one for all, or one a column.
fn check_columns(types: Types<'_>, right: &ValueType, inputs: &[usize]) -> Result<(), OperatorError> {
    let columns = if right.rank() < 2 { 1 } else { right.shape[right.rank() - 1] };
    inputs.iter().try_for_each(|&input| check_scales(types, input, columns))
}

/// Runs `QLinearMatMul`.
pub(crate) fn run_product(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let sums = integer_product(tensors, (0, 2), (3, 5), made)?;
    requantised(&sums, made.rank().saturating_sub(1), tensors, made)
}

fn integer_product(
    tensors: Tensors<'_>,
    left: (usize, usize),
    right: (usize, usize),
    made: &ValueType,
) -> Result<Vec<i32>, OperatorError> {
    let (a, b) = (tensors.required(left.0)?, tensors.required(right.0)?);
    let lefts = centred(tensors, left, 0)?;
    let rights = centred(tensors, right, b.shape.len() - 1)?;
    Ok(matrix::products((&lefts, &a.shape), (&rights, &b.shape), &made.shape))
}

/// Returns sums times the scales of both factors by that of the product, rounded to even; scales of the right factor may lie along an axis.
fn requantised(
    sums: &[i32],
    axis: usize,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let one = |input: usize| tensors.floats(input).map(|scale| scale.first().copied().unwrap_or(1.0));
    let (left, product) = (one(1)?, one(PRODUCT[0])?);
    let factors: Vec<f32> = tensors.floats(4)?.iter().map(|right| left * right / product).collect();
    let zero = zeros(tensors, PRODUCT[1])?.first().copied().unwrap_or(0.0);
    let mut elements: Vec<f32> = sums.iter().map(|&sum| sum as f32).collect();
    each_of_axis(&mut elements, &made.shape, axis, &factors, |element, factor| {
        *element = (*element * factor).round_ties_even() + zero;
    });
    Ok(saturated(&elements, made.element_type))
}

/// Infers `MatMulInteger`: both factors and their zero points.
pub(crate) fn infer_integer_product(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(4)?;
    let (left, right) = (types.of_type(0, BYTE, is_byte)?, types.of_type(1, BYTE, is_byte)?);
    types.same(2, left.element_type)?;
    types.same(3, right.element_type)?;
    check_scalar(types, 2)?;
    check_columns(types, right, &[3])?;
    Ok(ValueType::new(ElementType::Int32, matrix::shape((0, &left.shape), (1, &right.shape))?))
}

/// Runs `MatMulInteger`.
pub(crate) fn run_integer_product(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    Ok(Elements::Int32(integer_product(tensors, (0, 2), (1, 3), made)?))
}
