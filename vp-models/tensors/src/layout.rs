//! Operators that only change the shape, or the order of elements.

use crate::arguments::{Tensors, Types, axis, axis_or_end, wrong_attribute, wrong_shape};
use crate::strides::{gather, same_elements, signed, strides};
use crate::value_type::product;
use crate::{Elements, OperatorError, ValueType};

/// Infers `Flatten`.
pub(crate) fn infer_flatten(at: i64, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.required(0)?;
    input.elements()?;
    let at = axis_or_end(at, input.rank())?;
    let sizes = [input.shape[..at].iter().product::<usize>(), input.shape[at..].iter().product()];
    Ok(ValueType::new(input.element_type, sizes))
}

/// Infers `Reshape`.
pub(crate) fn infer_reshape(allows_zero: bool, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let input = types.required(0)?;
    let count = input.elements()?;
    let wanted = types.integers(1, "shape")?.ok_or(OperatorError::Missing { input: 1 })?;
    let wrong = |expected: String| OperatorError::Value { input: 1, found: format!("{wanted:?}"), expected };
    let mut shape = Vec::with_capacity(wanted.len());
    let mut free = None;
    for (at, &size) in wanted.iter().enumerate() {
        shape.push(match size {
            -1 if free.is_none() => {
                free = Some(at);
                1
            }
            0 if !allows_zero => match input.shape.get(at) {
                Some(&size) => size,
                None => return Err(wrong(format!("0 only for the input's {} axes", input.rank()))),
            },
            size => usize::try_from(size).map_err(|_| wrong("sizes, and at most one -1".into()))?,
        });
    }
    let others = product(shape.iter().copied()).unwrap_or(usize::MAX);
    if let Some(free) = free
        && others != 0
    {
        shape[free] = count / others;
    }
    if product(shape.iter().copied()) != Some(count) {
        return Err(wrong(format!("a shape of {count} elements, as the input has")));
    }
    Ok(ValueType::new(input.element_type, shape))
}

/// Infers `Squeeze`.
pub(crate) fn infer_squeeze(axes: &[i64], types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.required(0)?;
    let mut goes: Vec<bool> = input.shape.iter().map(|&size| size == 1 && axes.is_empty()).collect();
    for &at in axes {
        let at = axis(at, input.rank())?;
        if input.shape[at] != 1 {
            return Err(wrong_shape(0, &input.shape, format!("size 1 of axis {at}")));
        }
        goes[at] = true;
    }
    let left = input.shape.iter().zip(goes).filter(|(_, goes)| !goes).map(|(&size, _)| size);
    Ok(ValueType::new(input.element_type, left.collect::<Vec<_>>()))
}

/// Infers `Unsqueeze`.
pub(crate) fn infer_unsqueeze(axes: &[i64], types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.required(0)?;
    let rank = input.rank() + axes.len();
    let mut is_new = vec![false; rank];
    for &at in axes {
        if std::mem::replace(&mut is_new[axis(at, rank)?], true) {
            return Err(wrong_attribute("axes", axes, "each axis once"));
        }
    }
    let mut sizes = input.shape.iter();
    let shape = is_new.iter().map(|&is_new| if is_new { Some(1) } else { sizes.next().copied() });
    Ok(ValueType::new(input.element_type, shape.flatten().collect::<Vec<_>>()))
}

/// Returns the input's axis of each axis of the output.
fn permutation(permutation: &[usize], rank: usize) -> Result<Vec<usize>, OperatorError> {
    if permutation.is_empty() {
        return Ok((0..rank).rev().collect());
    }
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    if sorted.iter().copied().ne(0..rank) {
        return Err(wrong_attribute("perm", permutation, format!("each of the {rank} axes once")));
    }
    Ok(permutation.to_vec())
}

/// Infers `Transpose`.
pub(crate) fn infer_transpose(order: &[usize], types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.required(0)?;
    let order = permutation(order, input.rank())?;
    let shape: Vec<usize> = order.iter().map(|&at| input.shape[at]).collect();
    Ok(ValueType::new(input.element_type, shape))
}

/// Runs `Transpose`.
pub(crate) fn run_transpose(
    order: &[usize],
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let own = strides(&input.shape);
    let steps: Vec<usize> = permutation(order, input.shape.len())?.iter().map(|&at| own[at]).collect();
    Ok(same_elements!(&input.elements, elements => gather(elements, &made.shape, signed(steps), 0)))
}

/// Returns batch, channels, height and width, having checked the size of blocks.
fn image(types: Types<'_>, block: usize) -> Result<[usize; 4], OperatorError> {
    types.at_most(1)?;
    let input = types.required(0)?;
    if block == 0 || block > 1 << 15 {
        return Err(wrong_attribute("blocksize", block, "from 1 to 32768"));
    }
    input.shape[..].try_into().map_err(|_| wrong_shape(0, &input.shape, "four axes".into()))
}

/// Infers `DepthToSpace`.
pub(crate) fn infer_depth_to_space(block: usize, types: Types<'_>) -> Result<ValueType, OperatorError> {
    let [batch, channels, height, width] = image(types, block)?;
    let input = types.required(0)?;
    input.elements()?;
    if !channels.is_multiple_of(block * block) {
        return Err(wrong_shape(0, &input.shape, format!("a multiple of {} channels", block * block)));
    }
    let shape = [batch, channels / (block * block), height * block, width * block];
    Ok(ValueType::new(input.element_type, shape))
}

/// Runs `DepthToSpace`.
pub(crate) fn run_depth_to_space(
    block: usize,
    is_column_first: bool,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let (batch, channels) = (made.shape[0], made.shape[1]);
    let (height, width) = (input.shape[2], input.shape[3]);
    // The input as batch, block, block and channels, or batch, channels, block and block; then height and width.
    let (split, order) = if is_column_first {
        ([batch, channels, block, block, height, width], [0, 1, 4, 2, 5, 3])
    } else {
        ([batch, block, block, channels, height, width], [0, 3, 4, 1, 5, 2])
    };
    Ok(permuted(&input.elements, &split, &order))
}

/// Infers `SpaceToDepth`.
pub(crate) fn infer_space_to_depth(block: usize, types: Types<'_>) -> Result<ValueType, OperatorError> {
    let [batch, channels, height, width] = image(types, block)?;
    let input = types.required(0)?;
    input.elements()?;
    if !height.is_multiple_of(block) || !width.is_multiple_of(block) {
        return Err(wrong_shape(0, &input.shape, format!("height and width in multiples of {block}")));
    }
    let shape = [batch, channels * block * block, height / block, width / block];
    Ok(ValueType::new(input.element_type, shape))
}

/// Runs `SpaceToDepth`.
pub(crate) fn run_space_to_depth(block: usize, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let shape = &input.shape;
    let split = [shape[0], shape[1], shape[2] / block, block, shape[3] / block, block];
    Ok(permuted(&input.elements, &split, &[0, 3, 5, 1, 2, 4]))
}

fn permuted(elements: &Elements, shape: &[usize], order: &[usize]) -> Elements {
    let own = strides(shape);
    let steps: Vec<usize> = order.iter().map(|&at| own[at]).collect();
    let shape: Vec<usize> = order.iter().map(|&at| shape[at]).collect();
    same_elements!(elements, elements => gather(elements, &shape, signed(steps), 0))
}
