//! Reductions over axes, and `ArgMax`.

use crate::arguments::{Tensors, Types, axis};
use crate::strides::{signed, strides, walk};
use crate::{ElementType, Elements, OperatorError, Reduction, ValueType};

/// Returns for each axis true if it is reduced.
fn reduced(axes: &[i64], rank: usize) -> Result<Vec<bool>, OperatorError> {
    let mut reduced = vec![axes.is_empty(); rank];
    for &at in axes {
        reduced[axis(at, rank)?] = true;
    }
    Ok(reduced)
}

/// Returns the shape without reduced axes, or with these of size 1.
fn remaining(shape: &[usize], reduced: &[bool], keeps: bool) -> Vec<usize> {
    let axes = shape.iter().zip(reduced).filter(|(_, reduced)| keeps || !**reduced);
    axes.map(|(&size, &reduced)| if reduced { 1 } else { size }).collect()
}

/// Infers a reduction.
pub(crate) fn infer(
    reduction: Reduction,
    axes: &[i64],
    keeps: bool,
    types: Types<'_>,
) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let is_extreme = matches!(reduction, Reduction::Max | Reduction::Min);
    let input =
        types.of_type(0, "a number", |element_type| is_extreme || element_type != ElementType::Bool)?;
    let shape = remaining(&input.shape, &reduced(axes, input.rank())?, keeps);
    Ok(ValueType::new(input.element_type, shape))
}

/// Runs a reduction.
pub(crate) fn run(
    reduction: Reduction,
    axes: &[i64],
    tensors: Tensors<'_>,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let reduced = reduced(axes, input.shape.len())?;
    let shape = remaining(&input.shape, &reduced, true);
    let count: usize = shape.iter().product();
    // Steps through the output stand still on reduced axes.
    let to = strides(&shape).into_iter().zip(&reduced).map(|(step, &reduced)| if reduced { 0 } else { step });
    let steps = [signed(strides(&input.shape)), signed(to.collect())];
    let terms: usize =
        input.shape.iter().zip(&reduced).filter(|(_, reduced)| **reduced).map(|(size, _)| size).product();
    if let Some(elements) = input.as_floats() {
        let first = match reduction {
            Reduction::Max => f64::NEG_INFINITY,
            Reduction::Min => f64::INFINITY,
            Reduction::Product => 1.0,
            _ => 0.0,
        };
        let mut results = vec![first; count];
        walk(&input.shape, &steps, [0, 0], |[from, to], run, [step, to_step]| {
            for at in 0..run {
                let element = f64::from(elements[from + at * step as usize]);
                let result = &mut results[to + at * to_step as usize];
                *result = match reduction {
                    Reduction::Max if element > *result || element.is_nan() => element,
                    Reduction::Min if element < *result || element.is_nan() => element,
                    Reduction::Max | Reduction::Min => *result,
                    Reduction::Sum | Reduction::Mean => *result + element,
                    Reduction::Product => *result * element,
                    Reduction::L2 | Reduction::SumOfSquares => *result + element * element,
                };
            }
        });
        let finished = |result: f64| match reduction {
            Reduction::Mean => result / terms as f64,
            Reduction::L2 => result.sqrt(),
            _ => result,
        };
        return Ok(Elements::Float(results.into_iter().map(|result| finished(result) as f32).collect()));
    }
    let elements = tensors.integers(0)?;
    let (least, largest) = range(input.element_type());
    let first = match reduction {
        Reduction::Max => least,
        Reduction::Min => largest,
        Reduction::Product => 1,
        _ => 0,
    };
    let mut results = vec![first; count];
    walk(&input.shape, &steps, [0, 0], |[from, to], run, [step, to_step]| {
        for at in 0..run {
            let element = elements[from + at * step as usize];
            let result = &mut results[to + at * to_step as usize];
            *result = match reduction {
                Reduction::Max => element.max(*result),
                Reduction::Min => element.min(*result),
                Reduction::Sum | Reduction::Mean => result.wrapping_add(element),
                Reduction::Product => result.wrapping_mul(element),
                Reduction::L2 | Reduction::SumOfSquares => result.wrapping_add(element.wrapping_mul(element)),
            };
        }
    });
    for result in &mut results {
        *result = match reduction {
            Reduction::Mean => *result / (terms as i64).max(1),
            Reduction::L2 => (*result as f64).sqrt() as i64,
            _ => *result,
        };
    }
    Ok(crate::unary::cast(input.element_type(), &Elements::Int64(results)))
}

/// Returns the smallest and the largest number of a type.
fn range(element_type: ElementType) -> (i64, i64) {
    match element_type {
        ElementType::Int64 | ElementType::Float => (i64::MIN, i64::MAX),
        ElementType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        ElementType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        ElementType::Uint8 => (0, 255),
        ElementType::Bool => (0, 1),
    }
}

/// Infers `ArgMax`.
pub(crate) fn infer_place(at: i64, keeps: bool, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.of_type(0, "a number", |element_type| element_type != ElementType::Bool)?;
    let at = axis(at, input.rank())?;
    if input.shape[at] == 0 {
        return Err(crate::arguments::wrong_shape(0, &input.shape, "an axis that is not empty".into()));
    }
    let mut shape = input.shape.clone();
    if keeps {
        shape[at] = 1;
    } else {
        shape.remove(at);
    }
    Ok(ValueType::new(ElementType::Int64, shape))
}

/// Runs `ArgMax`.
pub(crate) fn run_place(at: i64, last: bool, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let at = axis(at, input.shape.len())?;
    let (size, inner) = (input.shape[at], input.shape[at + 1..].iter().product::<usize>());
    let places = match &input.elements {
        Elements::Float(elements) => places(elements, size, inner, last),
        _ => places(&tensors.integers(0)?, size, inner, last),
    };
    Ok(Elements::Int64(places))
}

fn places<T: Copy + PartialOrd>(elements: &[T], size: usize, inner: usize, last: bool) -> Vec<i64> {
    let mut places = Vec::new();
    for block in elements.chunks((size * inner).max(1)) {
        for column in 0..inner {
            let mut best = 0;
            for at in 1..size {
                let (element, so_far) = (block[at * inner + column], block[best * inner + column]);
                if element > so_far || (last && element == so_far) {
                    best = at;
                }
            }
            places.push(best as i64);
        }
    }
    places
}
