//! Operators that put tensors together, or take parts of them.

use crate::arguments::{Tensors, Types, axis, wrong_attribute, wrong_shape};
use crate::strides::{gather, same_elements, signed, strides};
use crate::{ElementType, Elements, OperatorError, Tensor, ValueType};

/// Infers `Concat`.
pub(crate) fn infer_concat(at: i64, types: Types<'_>) -> Result<ValueType, OperatorError> {
    let first = types.required(0)?;
    let at = axis(at, first.rank())?;
    let mut shape = first.shape.clone();
    for input in 1..types.types.len() {
        let next = types.required(input)?;
        types.same(input, first.element_type)?;
        let fits = next.rank() == first.rank()
            && next.shape.iter().zip(&first.shape).enumerate().all(|(axis, (a, b))| axis == at || a == b);
        if !fits {
            let expected = format!(
                "that of the first but for axis {at}: {}",
                crate::value_type::shape_text(&first.shape)
            );
            return Err(wrong_shape(input, &next.shape, expected));
        }
        shape[at] = shape[at].saturating_add(next.shape[at]);
    }
    Ok(ValueType::new(first.element_type, shape))
}

/// Runs `Concat`.
pub(crate) fn run_concat(at: i64, tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let at = axis(at, made.rank())?;
    let (outer, inner) =
        (made.shape[..at].iter().product::<usize>(), made.shape[at + 1..].iter().product::<usize>());
    macro_rules! concat {
        ($variant:ident) => {{
            let mut parts = Vec::new();
            for input in 0..tensors.0.len() {
                let tensor = tensors.required(input)?;
                if let Elements::$variant(elements) = &tensor.elements {
                    parts.push((elements, tensor.shape[at] * inner));
                }
            }
            let mut out = Vec::with_capacity(made.elements()?);
            for block in 0..outer {
                for (elements, size) in &parts {
                    out.extend_from_slice(&elements[block * size..(block + 1) * size]);
                }
            }
            Elements::$variant(out)
        }};
    }
    Ok(match made.element_type {
        ElementType::Float => concat!(Float),
        ElementType::Int64 => concat!(Int64),
        ElementType::Int32 => concat!(Int32),
        ElementType::Int8 => concat!(Int8),
        ElementType::Uint8 => concat!(Uint8),
        ElementType::Bool => concat!(Bool),
    })
}

/// Infers `Split`.
pub(crate) fn infer_split(
    at: i64,
    sizes: Option<&[usize]>,
    outputs: usize,
    types: Types<'_>,
) -> Result<Vec<ValueType>, OperatorError> {
    types.at_most(1)?;
    let input = types.required(0)?;
    let at = axis(at, input.rank())?;
    let whole = input.shape[at];
    let equal: Vec<usize>;
    let sizes = match sizes {
        Some(sizes) => sizes,
        None => {
            // Equal parts, the last one smaller where they do not divide.
            let part = whole.div_ceil(outputs.max(1));
            equal = (0..outputs)
                .map(|output| part.min(whole.saturating_sub(output.saturating_mul(part))))
                .collect();
            &equal
        }
    };
    if sizes.len() != outputs
        || sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size)) != Some(whole)
    {
        return Err(wrong_attribute("split", sizes, format!("{outputs} sizes of sum {whole}")));
    }
    let part = |&size: &usize| {
        let mut shape = input.shape.clone();
        shape[at] = size;
        ValueType::new(input.element_type, shape)
    };
    Ok(sizes.iter().map(part).collect())
}

/// Runs `Split`.
pub(crate) fn run_split(
    at: i64,
    tensors: Tensors<'_>,
    made: &[ValueType],
) -> Result<Vec<Tensor>, OperatorError> {
    let input = tensors.required(0)?;
    let at = axis(at, input.shape.len())?;
    let own = strides(&input.shape);
    let mut start = 0;
    let mut parts = Vec::new();
    for made in made {
        let from = start * own[at];
        let elements = same_elements!(&input.elements, elements => gather(elements, &made.shape, signed(own.clone()), from));
        parts.push(Tensor::of(made.shape.clone(), elements));
        start += made.shape[at];
    }
    Ok(parts)
}

/// Part of an axis: where it starts, the step, and how many elements it has.
type Part = (usize, isize, usize);

/// Returns the part of each axis that a `Slice` takes.
fn parts(types: Types<'_>) -> Result<Vec<Part>, OperatorError> {
    let input = types.required(0)?;
    let starts = types.integers(1, "starts")?.ok_or(OperatorError::Missing { input: 1 })?;
    let ends = types.integers(2, "ends")?.ok_or(OperatorError::Missing { input: 2 })?;
    let axes = types.integers(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = types.integers(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    for (input, list) in [(2, &ends), (3, &axes), (4, &steps)] {
        if list.len() != starts.len() {
            let expected = format!("{} elements, as many as starts has", starts.len());
            return Err(wrong_shape(input, &[list.len()], expected));
        }
    }
    let mut parts: Vec<Part> = input.shape.iter().map(|&size| (0, 1, size)).collect();
    for ((&start, &end), (&at, &step)) in starts.iter().zip(&ends).zip(axes.iter().zip(&steps)) {
        let at = axis(at, input.rank())?;
        if step == 0 {
            return Err(OperatorError::Value {
                input: 4,
                found: "0".into(),
                expected: "a step other than 0".into(),
            });
        }
        let size = input.shape[at] as i64;
        let from_end = |place: i64| if place < 0 { place.saturating_add(size) } else { place };
        let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
        let (start, end) =
            (from_end(start).clamp(least.max(0), most.max(0)), from_end(end).clamp(least, most));
        let room = if step > 0 { end - start } else { start - end };
        let count = if room > 0 && size > 0 { (room as u64).div_ceil(step.unsigned_abs()) } else { 0 };
        parts[at] = (if count == 0 { 0 } else { start as usize }, step as isize, count as usize);
    }
    Ok(parts)
}

/// Infers `Slice`.
pub(crate) fn infer_slice(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(5)?;
    let sizes: Vec<usize> = parts(types)?.iter().map(|part| part.2).collect();
    Ok(ValueType::new(types.required(0)?.element_type, sizes))
}

/// Runs `Slice`.
pub(crate) fn run_slice(
    types: Types<'_>,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let own = strides(&input.shape);
    let parts = parts(types)?;
    let start = parts.iter().zip(&own).map(|(part, stride)| part.0 * stride).sum();
    // Steps along axes of one element may be larger than the tensor: none is taken.
    let step = |(part, &stride): (&Part, &usize)| if part.2 > 1 { part.1 * stride as isize } else { 0 };
    let steps = parts.iter().zip(&own).map(step).collect();
    Ok(same_elements!(&input.elements, elements => gather(elements, &made.shape, steps, start)))
}

/// Infers `Gather`.
pub(crate) fn infer_gather(at: i64, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let input = types.required(0)?;
    let indices = types.of_type(1, "int64 or int32", |element_type| {
        matches!(element_type, ElementType::Int64 | ElementType::Int32)
    })?;
    let at = axis(at, input.rank())?;
    let shape = [&input.shape[..at], &indices.shape, &input.shape[at + 1..]].concat();
    Ok(ValueType::new(input.element_type, shape))
}

/// Runs `Gather`.
pub(crate) fn run_gather(at: i64, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let at = axis(at, input.shape.len())?;
    let size = input.shape[at];
    let place = |&index: &i64| {
        let place = if index < 0 { index.saturating_add(size as i64) } else { index };
        usize::try_from(place).ok().filter(|&place| place < size).ok_or_else(|| OperatorError::Value {
            input: 1,
            found: index.to_string(),
            expected: format!("a place on an axis of {size}"),
        })
    };
    let places = tensors.integers(1)?.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let inner: usize = input.shape[at + 1..].iter().product();
    let outer: usize = input.shape[..at].iter().product();
    Ok(same_elements!(&input.elements, elements => {
        let mut out = Vec::with_capacity(outer * places.len() * inner);
        for block in 0..outer {
            for place in &places {
                out.extend_from_slice(&elements[(block * size + place) * inner..][..inner]);
            }
        }
        out
    }))
}
