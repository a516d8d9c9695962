//! `MaxPool`, `AveragePool` and their global kin.

use crate::arguments::{Tensors, Types, wrong_attribute};
use crate::windows::{Windows, check_rank};
use crate::{ElementType, Elements, OperatorError, Pooling, Tensor, ValueType};
use rayon::prelude::*;

/// Infers `MaxPool` and `AveragePool`.
pub(crate) fn infer(
    pooling: &Pooling,
    types: Types<'_>,
    takes_bytes: bool,
) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = if takes_bytes {
        types.of_type(0, "float, int8 or uint8", |element_type| {
            matches!(element_type, ElementType::Float | ElementType::Int8 | ElementType::Uint8)
        })?
    } else {
        types.floats(0)?
    };
    check_rank(&input.shape)?;
    if pooling.spatial.groups != 1 {
        return Err(wrong_attribute("group", pooling.spatial.groups, "1"));
    }
    let windows = Windows::new(&pooling.spatial, &input.shape[2..], pooling.rounds_up)?;
    let mut shape = input.shape[..2].to_vec();
    shape.extend(windows.output(input.rank() - 2));
    Ok(ValueType::new(input.element_type, shape))
}

/// Infers `GlobalAveragePool` and `GlobalMaxPool`.
pub(crate) fn infer_global(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.floats(0)?;
    if input.rank() < 2 {
        return Err(crate::arguments::wrong_shape(0, &input.shape, "at least two axes".into()));
    }
    let shape = input.shape.iter().enumerate().map(|(at, &size)| if at < 2 { size } else { 1 });
    Ok(ValueType::new(ElementType::Float, shape.collect::<Vec<_>>()))
}

/// Runs `MaxPool`.
pub(crate) fn run_max(
    pooling: &Pooling,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let windows = Windows::new(&pooling.spatial, &input.shape[2..], pooling.rounds_up)?;
    let count = made.elements()?;
    Ok(match &input.elements {
        Elements::Int8(elements) => Elements::Int8(largest(&windows, elements, count, i8::MIN)),
        Elements::Uint8(elements) => Elements::Uint8(largest(&windows, elements, count, u8::MIN)),
        _ => Elements::Float(largest(&windows, tensors.floats(0)?, count, f32::NEG_INFINITY)),
    })
}

fn largest<T: Copy + PartialOrd + Send + Sync>(
    windows: &Windows,
    input: &[T],
    count: usize,
    least: T,
) -> Vec<T> {
    let (plane, from) = (windows.output_plane(), windows.input_plane());
    let mut output = vec![least; count];
    if from == 0 {
        return output;
    }
    output.par_chunks_mut(plane.max(1)).zip(input.par_chunks(from)).for_each(|(output, input)| {
        for (place, output) in output.iter_mut().enumerate() {
            windows.each_tap(place, |_, at| {
                if input[at] > *output {
                    *output = input[at];
                }
            });
        }
    });
    output
}

/// Runs `AveragePool`.
pub(crate) fn run_average(
    pooling: &Pooling,
    counts_padding: bool,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let windows = Windows::new(&pooling.spatial, &input.shape[2..], pooling.rounds_up)?;
    let (plane, from) = (windows.output_plane(), windows.input_plane());
    let mut output = vec![0.0; made.elements()?];
    if from == 0 {
        return Ok(Elements::Float(output));
    }
    let images = tensors.floats(0)?.par_chunks(from);
    output.par_chunks_mut(plane.max(1)).zip(images).for_each(|(output, input)| {
        for (place, output) in output.iter_mut().enumerate() {
            let (mut sum, mut taps) = (0.0, 0.0);
            windows.each_tap(place, |_, at| {
                sum += input[at];
                taps += 1.0;
            });
            if counts_padding {
                let coordinates = windows.coordinates(place);
                let axes = windows.0.iter().zip(coordinates);
                taps = axes.map(|(axis, at)| axis.padded_taps(at) as f32).product();
            }
            *output = if taps == 0.0 { 0.0 } else { sum / taps };
        }
    });
    Ok(Elements::Float(output))
}

/// Runs `GlobalAveragePool` and `GlobalMaxPool`.
pub(crate) fn run_global(tensors: Tensors<'_>, is_average: bool) -> Result<Elements, OperatorError> {
    let input: &Tensor = tensors.required(0)?;
    let plane: usize = input.shape[2..].iter().product();
    let count: usize = input.shape[..2].iter().product();
    if plane == 0 {
        return Ok(Elements::Float(vec![if is_average { f32::NAN } else { f32::NEG_INFINITY }; count]));
    }
    let of_plane = |plane: &[f32]| {
        if is_average {
            (plane.iter().map(|&element| f64::from(element)).sum::<f64>() / plane.len() as f64) as f32
        } else {
            plane.iter().copied().fold(f32::NEG_INFINITY, f32::max)
        }
    };
    Ok(Elements::Float(tensors.floats(0)?.chunks_exact(plane).map(of_plane).collect()))
}
