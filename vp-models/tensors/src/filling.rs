//! Operators that fill or repeat: `Pad`, `Expand`, `Tile`, `ConstantOfShape` and `Range`.

use crate::arguments::{Tensors, Types, axis, wrong_attribute, wrong_shape};
use crate::strides::{broadcast, broadcast_strides, gather, same_elements, signed, strides};
use crate::{ElementType, Elements, OperatorError, PadMode, Tensor, ValueType};

/// Returns the room before and behind each axis.
fn room(types: Types<'_>) -> Result<Vec<(i64, i64)>, OperatorError> {
    let input = types.required(0)?;
    let pads = types.integers(1, "pads")?.ok_or(OperatorError::Missing { input: 1 })?;
    let axes = types.integers(3, "axes")?.unwrap_or_else(|| (0..input.rank() as i64).collect());
    if pads.len() != 2 * axes.len() {
        return Err(wrong_shape(1, &[pads.len()], format!("{} elements, two for each axis", 2 * axes.len())));
    }
    if pads.iter().any(|pad| !(-(1 << 31)..1 << 31).contains(pad)) {
        return Err(OperatorError::Value {
            input: 1,
            found: format!("{pads:?}"),
            expected: "less than 2^31".into(),
        });
    }
    let mut room = vec![(0, 0); input.rank()];
    for (place, &at) in axes.iter().enumerate() {
        room[axis(at, input.rank())?] = (pads[place], pads[place + axes.len()]);
    }
    Ok(room)
}

/// Infers `Pad`.
pub(crate) fn infer_pad(mode: PadMode, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(4)?;
    let input = types.required(0)?;
    types.same(2, input.element_type)?;
    crate::zero_point::check_scalar(types, 2)?;
    let mut shape = Vec::new();
    for (&size, &(before, after)) in input.shape.iter().zip(&room(types)?) {
        let wrong = |expected: &str| OperatorError::Value {
            input: 1,
            found: format!("{before} and {after}"),
            expected: expected.into(),
        };
        let padded =
            usize::try_from(size as i64 + before + after).map_err(|_| wrong("less than the axis has"))?;
        if mode != PadMode::Constant && size == 0 && padded > 0 {
            return Err(wrong("none on an empty axis"));
        }
        shape.push(padded);
    }
    let made = ValueType::new(input.element_type, shape);
    made.check_tables()?;
    Ok(made)
}

/// Runs `Pad`.
pub(crate) fn run_pad(
    mode: PadMode,
    types: Types<'_>,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    // The input's place of each place on an axis, none where the value is.
    let axis = |((&size, &(before, _)), &made): ((&usize, &(i64, i64)), &usize)| -> Vec<Option<usize>> {
        (0..made as i64)
            .map(|place| {
                let (place, size) = (place - before, size as i64);
                let place = match mode {
                    PadMode::Constant => place,
                    PadMode::Edge => place.clamp(0, size - 1),
                    PadMode::Wrap => place.rem_euclid(size),
                    PadMode::Reflect => {
                        let period = (2 * (size - 1)).max(1);
                        let place = place.rem_euclid(period);
                        if place < size { place } else { period - place }
                    }
                };
                (0..size).contains(&place).then_some(place as usize)
            })
            .collect()
    };
    let places: Vec<_> = input.shape.iter().zip(&room(types)?).zip(&made.shape).map(axis).collect();
    let value = tensors.optional(2);
    macro_rules! pad {
        ($elements:expr, $variant:ident, $zero:expr) => {{
            let value = match value.map(|value| &value.elements) {
                Some(Elements::$variant(value)) => value.first().copied().unwrap_or($zero),
                _ => $zero,
            };
            Elements::$variant(picked($elements, &input.shape, &places, value))
        }};
    }
    Ok(match &input.elements {
        Elements::Float(elements) => pad!(elements, Float, 0.0),
        Elements::Int64(elements) => pad!(elements, Int64, 0),
        Elements::Int32(elements) => pad!(elements, Int32, 0),
        Elements::Int8(elements) => pad!(elements, Int8, 0),
        Elements::Uint8(elements) => pad!(elements, Uint8, 0),
        Elements::Bool(elements) => pad!(elements, Bool, false),
    })
}

/// Returns the elements at all combinations of places on each axis, or a value where a place is none.
pub(crate) fn picked<T: Copy>(
    elements: &[T],
    shape: &[usize],
    places: &[Vec<Option<usize>>],
    value: T,
) -> Vec<T> {
    let count: usize = places.iter().map(Vec::len).product();
    let mut out = Vec::with_capacity(count);
    if count == 0 {
        return out;
    }
    let Some((row, outer)) = places.split_last() else { return elements.to_vec() };
    let own = strides(shape);
    let mut at = vec![0; outer.len()];
    loop {
        let start = at.iter().zip(outer).zip(&own).map(|((&at, places), stride)| Some(places[at]? * stride));
        match start.sum::<Option<usize>>() {
            Some(start) => {
                let element = |place: &Option<usize>| place.map_or(value, |place| elements[start + place]);
                out.extend(row.iter().map(element));
            }
            None => out.extend(std::iter::repeat_n(value, row.len())),
        }
        let Some(next) = (0..at.len()).rev().find(|&axis| at[axis] + 1 < outer[axis].len()) else {
            return out;
        };
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}

/// Returns sizes or counts that an input has.
fn sizes(input: usize, role: &'static str, types: Types<'_>) -> Result<Vec<usize>, OperatorError> {
    let wanted = types.integers(input, role)?.ok_or(OperatorError::Missing { input })?;
    let wrong =
        || OperatorError::Value { input, found: format!("{wanted:?}"), expected: "no negative one".into() };
    wanted.iter().map(|&size| usize::try_from(size).map_err(|_| wrong())).collect()
}

/// Infers `Expand`.
pub(crate) fn infer_expand(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let input = types.required(0)?;
    let shape = broadcast([(0, input.shape.as_slice()), (1, &sizes(1, "shape", types)?)])?;
    Ok(ValueType::new(input.element_type, shape))
}

/// Runs `Expand`.
pub(crate) fn run_expand(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let steps = signed(broadcast_strides(&input.shape, &made.shape));
    Ok(same_elements!(&input.elements, elements => gather(elements, &made.shape, steps, 0)))
}

/// Infers `Tile`.
pub(crate) fn infer_tile(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let input = types.required(0)?;
    let repeats = sizes(1, "repeats", types)?;
    if repeats.len() != input.rank() {
        return Err(wrong_shape(1, &[repeats.len()], format!("{} elements, one an axis", input.rank())));
    }
    let shape: Vec<usize> =
        input.shape.iter().zip(&repeats).map(|(&size, &count)| size.saturating_mul(count)).collect();
    let made = ValueType::new(input.element_type, shape);
    made.check_tables()?;
    Ok(made)
}

/// Runs `Tile`.
pub(crate) fn run_tile(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let sizes = input.shape.iter().zip(&made.shape);
    let places: Vec<Vec<_>> =
        sizes.map(|(&size, &made)| (0..made).map(|at| Some(at % size)).collect()).collect();
    Ok(match &input.elements {
        Elements::Float(elements) => Elements::Float(picked(elements, &input.shape, &places, 0.0)),
        Elements::Int64(elements) => Elements::Int64(picked(elements, &input.shape, &places, 0)),
        Elements::Int32(elements) => Elements::Int32(picked(elements, &input.shape, &places, 0)),
        Elements::Int8(elements) => Elements::Int8(picked(elements, &input.shape, &places, 0)),
        Elements::Uint8(elements) => Elements::Uint8(picked(elements, &input.shape, &places, 0)),
        Elements::Bool(elements) => Elements::Bool(picked(elements, &input.shape, &places, false)),
    })
}

/// Infers `ConstantOfShape`.
pub(crate) fn infer_filled(value: &Tensor, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    if value.elements.len() != 1 {
        return Err(wrong_attribute("value", &value.shape, "one element"));
    }
    Ok(ValueType::new(value.element_type(), sizes(0, "shape", types)?))
}

/// Runs `ConstantOfShape`.
pub(crate) fn run_filled(value: &Tensor, made: &ValueType) -> Result<Elements, OperatorError> {
    let count = made.elements()?;
    Ok(same_elements!(&value.elements, elements => vec![elements[0]; count]))
}

/// Returns the number of elements of a `Range`.
fn range(types: Types<'_>) -> Result<usize, OperatorError> {
    let first = types.of_type(0, "a number", |element_type| element_type != ElementType::Bool)?;
    let mut numbers = [0.0; 3];
    for (input, number) in numbers.iter_mut().enumerate() {
        types.same(input, first.element_type)?;
        types.required(input)?;
        crate::zero_point::check_scalar(types, input)?;
        let tensor = types.constant(input, ["start", "limit", "delta"][input])?;
        *number = match tensor.to_integers() {
            Some(integers) => integers.first().copied().unwrap_or(0) as f64,
            None => tensor.to_floats().first().copied().unwrap_or(0.0).into(),
        };
    }
    let [start, limit, delta] = numbers;
    if delta == 0.0 || numbers.iter().any(|number| !number.is_finite()) {
        return Err(OperatorError::Value {
            input: 2,
            found: delta.to_string(),
            expected: "a step other than 0".into(),
        });
    }
    // A number too large is refused by the size of the tensor.
    Ok(((limit - start) / delta).ceil().max(0.0) as usize)
}

/// Infers `Range`.
pub(crate) fn infer_range(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    Ok(ValueType::new(types.required(0)?.element_type, [range(types)?]))
}

/// Runs `Range`.
pub(crate) fn run_range(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let count = made.elements()?;
    if made.element_type == ElementType::Float {
        let (start, delta) = (tensors.floats(0)?[0], tensors.floats(2)?[0]);
        return Ok(Elements::Float((0..count).map(|at| start + at as f32 * delta).collect()));
    }
    let (start, delta) = (tensors.integers(0)?[0], tensors.integers(2)?[0]);
    let elements = (0..count as i64).map(|at| start.wrapping_add(at.wrapping_mul(delta))).collect();
    Ok(crate::unary::cast(made.element_type, &Elements::Int64(elements)))
}
