//! `MatMul` and `Gemm`.

use crate::arguments::{Tensors, Types, wrong_shape};
use crate::multiply::{Matrix, Number, Whole, multiply};
use crate::strides::{broadcast, broadcast_strides, signed, walk, zip};
use crate::value_type::shape_text;
use crate::{ElementType, Elements, Gemm, OperatorError, ValueType};

/// Returns the shape with a vector as a matrix: a row on the left, a column on the right.
fn as_matrix(shape: &[usize], is_left: bool) -> Vec<usize> {
    match *shape {
        [size] if is_left => vec![1, size],
        [size] => vec![size, 1],
        _ => shape.to_vec(),
    }
}

/// Returns the shape of a `MatMul`'s product; factors are given with the place of the input.
pub(crate) fn shape(
    (left_input, left): (usize, &[usize]),
    (right_input, right): (usize, &[usize]),
) -> Result<Vec<usize>, OperatorError> {
    for (input, shape) in [(left_input, left), (right_input, right)] {
        if shape.is_empty() {
            return Err(wrong_shape(input, shape, "at least one axis".into()));
        }
    }
    let (a, b) = (as_matrix(left, true), as_matrix(right, false));
    let (terms, rows) = (a[a.len() - 1], a[a.len() - 2]);
    if b[b.len() - 2] != terms {
        return Err(wrong_shape(
            right_input,
            right,
            format!("{terms} rows, as many as {} has columns", shape_text(left)),
        ));
    }
    let mut shape = broadcast([(left_input, &a[..a.len() - 2]), (right_input, &b[..b.len() - 2])])?;
    if left.len() > 1 {
        shape.push(rows);
    }
    if right.len() > 1 {
        shape.push(b[b.len() - 1]);
    }
    Ok(shape)
}

/// Infers `MatMul`.
pub(crate) fn infer(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let (left, right) = (types.floats(0)?, types.floats(1)?);
    Ok(ValueType::new(ElementType::Float, shape((0, &left.shape), (1, &right.shape))?))
}

/// Runs `MatMul`.
pub(crate) fn run(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let (left, right) = (tensors.required(0)?, tensors.required(1)?);
    let (lefts, rights) = (tensors.floats(0)?, tensors.floats(1)?);
    Ok(Elements::Float(products((lefts, &left.shape), (rights, &right.shape), &made.shape)))
}

/// Returns the products of two stacks of matrices, which fit; `made` is the product's shape.
pub(crate) fn products<T: Number>(
    (lefts, left): (&[T], &[usize]),
    (rights, right): (&[T], &[usize]),
    made: &[usize],
) -> Vec<T> {
    let (a, b) = (as_matrix(left, true), as_matrix(right, false));
    let [rows, terms] = [a[a.len() - 2], a[a.len() - 1]];
    let columns = b[b.len() - 1];
    let axes = a.len().max(b.len()) - 2;
    let stack = &made[..axes];
    let steps = |shape: &[usize]| {
        let size = shape[shape.len() - 2] * shape[shape.len() - 1];
        let steps = broadcast_strides(&shape[..shape.len() - 2], stack);
        signed(steps.into_iter().map(|step| step * size).collect())
    };
    if b.len() == 2 && axes > 0 {
        // One right matrix for all: the left ones are one matrix of more rows.
        let rows = rows * stack.iter().product::<usize>();
        let left = Matrix { elements: lefts, row: terms, column: 1 };
        let right = Whole(Matrix { elements: rights, row: columns, column: 1 }, columns);
        return multiply(left, &right, (rows, terms, columns));
    }
    let mut out = Vec::with_capacity(made.iter().product());
    walk(stack, &[steps(&a), steps(&b)], [0, 0], |[left, right], count, [step, other]| {
        for at in 0..count as isize {
            let left = &lefts[left.wrapping_add_signed(at * step)..];
            let right = &rights[right.wrapping_add_signed(at * other)..];
            let left = Matrix { elements: left, row: terms, column: 1 };
            let right = Whole(Matrix { elements: right, row: columns, column: 1 }, columns);
            out.extend(multiply(left, &right, (rows, terms, columns)));
        }
    });
    out
}

/// Infers `Gemm`.
pub(crate) fn infer_gemm(gemm: &Gemm, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let (a, b) = (types.floats(0)?, types.floats(1)?);
    types.same(2, ElementType::Float)?;
    let sizes = |input: usize, value: &ValueType, is_transposed: bool| match value.shape[..] {
        [rows, columns] if is_transposed => Ok([columns, rows]),
        [rows, columns] => Ok([rows, columns]),
        _ => Err(wrong_shape(input, &value.shape, "two axes".into())),
    };
    let [rows, terms] = sizes(0, a, gemm.transposes_a)?;
    let [right_rows, columns] = sizes(1, b, gemm.transposes_b)?;
    if right_rows != terms {
        return Err(wrong_shape(1, &b.shape, format!("{terms} terms, as many as A has")));
    }
    if let Some(c) = types.optional(2)
        && broadcast([(0, [rows, columns].as_slice()), (2, &c.shape)])? != [rows, columns]
    {
        return Err(wrong_shape(2, &c.shape, format!("one that broadcasts to {rows}x{columns}")));
    }
    Ok(ValueType::new(ElementType::Float, [rows, columns]))
}

/// Runs `Gemm`.
pub(crate) fn run_gemm(
    gemm: &Gemm,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let matrix = |input: usize, is_transposed: bool| {
        let columns = tensors.required(input)?.shape[1];
        let (row, column) = if is_transposed { (1, columns) } else { (columns, 1) };
        Ok::<_, OperatorError>(Matrix { elements: tensors.floats(input)?, row, column })
    };
    let terms = tensors.required(0)?.shape[usize::from(!gemm.transposes_a)];
    let (rows, columns) = (made.shape[0], made.shape[1]);
    let right = Whole(matrix(1, gemm.transposes_b)?, columns);
    let mut product = multiply(matrix(0, gemm.transposes_a)?, &right, (rows, terms, columns));
    if gemm.alpha != 1.0 {
        product.iter_mut().for_each(|element| *element *= gemm.alpha);
    }
    if let Some(c) = tensors.optional_floats(2)? {
        let shape = &tensors.required(2)?.shape;
        let pair = ((product.as_slice(), made.shape.as_slice()), (c, shape.as_slice()));
        product = zip(&made.shape, pair.0, pair.1, |product, c| product + gemm.beta * c);
    }
    Ok(Elements::Float(product))
}
