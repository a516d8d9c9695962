//! Normalisations, `LRN` and softmax.

use crate::arguments::{Tensors, Types, axis, axis_or_end, wrong_attribute, wrong_shape};
use crate::strides::{broadcast, zip};
use crate::{ElementType, Elements, LocalResponse, OperatorError, Tensor, ValueType};

/// Returns the input's type, having checked that it has channels.
fn with_channels(types: Types<'_>) -> Result<&ValueType, OperatorError> {
    let input = types.floats(0)?;
    if input.rank() < 2 {
        return Err(wrong_shape(0, &input.shape, "at least two axes, the second of channels".into()));
    }
    Ok(input)
}

/// Infers `BatchNormalization` and `InstanceNormalization`, whose further inputs have an element a channel.
pub(crate) fn infer_channels(types: Types<'_>, inputs: usize) -> Result<ValueType, OperatorError> {
    types.at_most(inputs)?;
    let input = with_channels(types)?;
    for at in 1..inputs {
        types.floats(at)?;
        types.shaped(at, &input.shape[1..2])?;
    }
    Ok(input.clone())
}

/// Runs `BatchNormalization`.
pub(crate) fn run_batch(epsilon: f32, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let mut elements = tensors.floats(0)?.to_vec();
    let [scales, biases, means, variances] =
        [tensors.floats(1)?, tensors.floats(2)?, tensors.floats(3)?, tensors.floats(4)?];
    let plane: usize = input.shape[2..].iter().product();
    let channels = input.shape[1].max(1);
    for (at, plane) in elements.chunks_mut(plane.max(1)).enumerate() {
        let channel = at % channels;
        let factor = scales[channel] / (variances[channel] + epsilon).sqrt();
        for element in plane {
            *element = (*element - means[channel]) * factor + biases[channel];
        }
    }
    Ok(Elements::Float(elements))
}

/// Returns mean and inverse of the standard deviation.
fn moments(elements: &[f32], epsilon: f32) -> (f32, f32) {
    let count = elements.len() as f64;
    let mean = elements.iter().map(|&element| f64::from(element)).sum::<f64>() / count;
    let variance = elements.iter().map(|&element| (f64::from(element) - mean).powi(2)).sum::<f64>() / count;
    (mean as f32, (1.0 / (variance + f64::from(epsilon)).sqrt()) as f32)
}

/// Runs `InstanceNormalization`.
pub(crate) fn run_instance(epsilon: f32, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let mut elements = tensors.floats(0)?.to_vec();
    let (scales, biases) = (tensors.floats(1)?, tensors.floats(2)?);
    let plane: usize = input.shape[2..].iter().product();
    let channels = input.shape[1].max(1);
    for (at, plane) in elements.chunks_mut(plane.max(1)).enumerate() {
        let (mean, inverse) = moments(plane, epsilon);
        for element in plane {
            *element = (*element - mean) * inverse * scales[at % channels] + biases[at % channels];
        }
    }
    Ok(Elements::Float(elements))
}

/// Infers `LayerNormalization`: the result, and the mean and the inverse of the deviation.
pub(crate) fn infer_layer(at: i64, types: Types<'_>) -> Result<Vec<ValueType>, OperatorError> {
    types.at_most(3)?;
    let input = types.floats(0)?;
    let first = axis(at, input.rank())?;
    types.floats(1)?;
    types.same(2, ElementType::Float)?;
    for parameter in 1..3 {
        if let Some(value) = types.optional(parameter)
            && broadcast([(0, input.shape.as_slice()), (parameter, &value.shape)])? != input.shape
        {
            return Err(wrong_shape(parameter, &value.shape, "one that broadcasts to the input's".into()));
        }
    }
    let shape: Vec<usize> =
        input.shape.iter().enumerate().map(|(at, &size)| if at < first { size } else { 1 }).collect();
    let moment = ValueType::new(ElementType::Float, shape);
    Ok(vec![input.clone(), moment.clone(), moment])
}

/// Runs `LayerNormalization`.
pub(crate) fn run_layer(
    at: i64,
    epsilon: f32,
    tensors: Tensors<'_>,
    made: &[ValueType],
) -> Result<Vec<Tensor>, OperatorError> {
    let input = tensors.required(0)?;
    let inner: usize = input.shape[axis(at, input.shape.len())?..].iter().product();
    let mut elements = tensors.floats(0)?.to_vec();
    let (mut means, mut inverses) = (Vec::new(), Vec::new());
    for run in elements.chunks_mut(inner.max(1)) {
        let (mean, inverse) = moments(run, epsilon);
        run.iter_mut().for_each(|element| *element = (*element - mean) * inverse);
        means.push(mean);
        inverses.push(inverse);
    }
    let scale = (tensors.floats(1)?, tensors.required(1)?.shape.as_slice());
    elements = zip(&input.shape, (&elements, &input.shape), scale, |element, scale| element * scale);
    if let (Some(bias), Some(tensor)) = (tensors.optional_floats(2)?, tensors.optional(2)) {
        let bias = (bias, tensor.shape.as_slice());
        elements = zip(&input.shape, (&elements, &input.shape), bias, |element, bias| element + bias);
    }
    let all = [elements, means, inverses];
    Ok(made.iter().zip(all).map(|(made, elements)| Tensor::floats(made.shape.clone(), elements)).collect())
}

/// Infers `LRN`.
pub(crate) fn infer_response(response: &LocalResponse, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    if response.size == 0 {
        return Err(wrong_attribute("size", response.size, "at least 1"));
    }
    with_channels(types).cloned()
}

/// Runs `LRN`.
pub(crate) fn run_response(
    response: &LocalResponse,
    tensors: Tensors<'_>,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let elements = tensors.floats(0)?;
    let (channels, plane) = (input.shape[1], input.shape[2..].iter().product::<usize>());
    let (before, after) = ((response.size - 1) / 2, response.size / 2);
    let mut output = Vec::with_capacity(elements.len());
    for image in elements.chunks((channels * plane).max(1)) {
        for channel in 0..channels {
            let window =
                channel.saturating_sub(before)..channels.min(channel.saturating_add(after).saturating_add(1));
            for place in 0..plane {
                let squares: f32 = window.clone().map(|other| image[other * plane + place].powi(2)).sum();
                let base = response.bias + response.alpha / response.size as f32 * squares;
                output.push(image[channel * plane + place] / base.powf(response.beta));
            }
        }
    }
    Ok(Elements::Float(output))
}

/// Infers softmax over one axis, or over all from one on.
pub(crate) fn infer_softmax(at: i64, is_flat: bool, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let input = types.floats(0)?;
    if is_flat {
        axis_or_end(at, input.rank())?;
    } else {
        axis(at, input.rank())?;
    }
    Ok(input.clone())
}

/// Runs softmax over one axis, or over all from one on.
pub(crate) fn run_softmax(
    at: i64,
    is_flat: bool,
    is_logarithm: bool,
    tensors: Tensors<'_>,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let mut elements = tensors.floats(0)?.to_vec();
    let shape = &input.shape;
    let (size, inner) = if is_flat {
        (shape[axis_or_end(at, shape.len())?..].iter().product(), 1)
    } else {
        let at = axis(at, shape.len())?;
        (shape[at], shape[at + 1..].iter().product::<usize>())
    };
    for block in elements.chunks_mut((size * inner).max(1)) {
        for column in 0..inner {
            let places = || (0..size).map(|at| at * inner + column);
            let largest = places().map(|at| block[at]).fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = places().map(|at| f64::from((block[at] - largest).exp())).sum();
            for at in places() {
                let distance = block[at] - largest;
                block[at] = if is_logarithm {
                    distance - sum.ln() as f32
                } else {
                    (f64::from(distance.exp()) / sum) as f32
                };
            }
        }
    }
    Ok(Elements::Float(elements))
}
