//! `Conv`, `ConvInteger`: windows as columns of a matrix, or one after the other where a group has few kernels.

use crate::arguments::{Tensors, Types, wrong_attribute, wrong_shape};
use crate::multiply::{Columns, Matrix, Number, multiply};
use crate::windows::{Windows, check_rank};
use crate::zero_point::{BYTE, centred, check_scalar, check_scales, is_byte};
use crate::{ElementType, Elements, OperatorError, Spatial, ValueType};
use rayon::prelude::*;
use std::ops::Range;

/// Kernels of a group from which on a matrix product is worth its columns.
const FEW_KERNELS: usize = 4;

/// Returns the output's shape.
pub(crate) fn shape(
    spatial: &Spatial,
    input: &ValueType,
    (at, weights): (usize, &ValueType),
) -> Result<Vec<usize>, OperatorError> {
    let windows = windows(spatial, &input.shape, (at, &weights.shape))?;
    let mut shape = vec![input.shape[0], weights.shape[0]];
    shape.extend(windows.output(input.rank() - 2));
    Ok(shape)
}

/// Returns the windows, having checked that shapes and attributes fit.
fn windows(
    spatial: &Spatial,
    input: &[usize],
    (at, weights): (usize, &[usize]),
) -> Result<Windows, OperatorError> {
    check_rank(input)?;
    if weights.len() != input.len() {
        return Err(wrong_shape(at, weights, format!("as many axes as the input has, {}", input.len())));
    }
    let groups = spatial.groups;
    if groups == 0 || !input[1].is_multiple_of(groups) || !weights[0].is_multiple_of(groups) {
        let expected = format!("a divisor of the {} channels and the {} kernels", input[1], weights[0]);
        return Err(wrong_attribute("group", groups, expected));
    }
    if weights[1] != input[1] / groups {
        let expected = format!("{} channels in each kernel", input[1] / groups);
        return Err(wrong_shape(at, weights, expected));
    }
    if spatial.kernel != weights[2..] {
        let expected = format!("{:?}, as the weights have", &weights[2..]);
        return Err(wrong_attribute("kernel_shape", &spatial.kernel, expected));
    }
    Windows::new(spatial, &input[2..], false)
}

/// Infers `Conv`.
pub(crate) fn infer(spatial: &Spatial, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let (input, weights) = (types.floats(0)?, types.floats(1)?);
    types.same(2, ElementType::Float)?;
    let shape = shape(spatial, input, (1, weights))?;
    types.shaped(2, &shape[1..2])?;
    Ok(ValueType::new(ElementType::Float, shape))
}

/// Runs `Conv`.
pub(crate) fn run(
    spatial: &Spatial,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let (input, weights) = (tensors.required(0)?, tensors.required(1)?);
    let images = (tensors.floats(0)?, input.shape.as_slice());
    let mut output = convolve(spatial, images, (tensors.floats(1)?, &weights.shape))?;
    if let Some(bias) = tensors.optional_floats(2)? {
        let plane: usize = made.shape[2..].iter().product();
        for (plane, bias) in output.chunks_exact_mut(plane.max(1)).zip(bias.iter().cycle()) {
            plane.iter_mut().for_each(|element| *element += bias);
        }
    }
    Ok(Elements::Float(output))
}

/// Returns the convolution of images with kernels, without a bias. Padding is zero.
pub(crate) fn convolve<T: Number>(
    spatial: &Spatial,
    (input, input_shape): (&[T], &[usize]),
    (weights, weights_shape): (&[T], &[usize]),
) -> Result<Vec<T>, OperatorError> {
    let windows = windows(spatial, input_shape, (1, weights_shape))?;
    let [images, channels, kernels] = [input_shape[0], input_shape[1], weights_shape[0]];
    let (plane, group) = (windows.output_plane(), kernels / spatial.groups);
    let (image, terms) =
        (channels / spatial.groups * windows.input_plane(), weights_shape[1] * windows.kernel());
    let mut output = vec![T::ZERO; images * kernels * plane];
    if output.is_empty() || terms == 0 || image == 0 {
        return Ok(output);
    }
    if group < FEW_KERNELS {
        output.par_chunks_mut(plane).enumerate().for_each(|(at, output)| {
            let (number, kernel) = (at / kernels, at % kernels);
            let image = &input[(number * spatial.groups + kernel / group) * image..][..image];
            convolve_plane(&windows, image, &weights[kernel * terms..][..terms], output);
        });
        return Ok(output);
    }
    let outputs = output.chunks_exact_mut(group * plane);
    for ((at, output), image) in outputs.enumerate().zip(input.chunks_exact(image)) {
        let weights = &weights[at % spatial.groups * group * terms..][..group * terms];
        let left = Matrix { elements: weights, row: terms, column: 1 };
        output.copy_from_slice(&multiply(left, &Patches { image, windows }, (group, terms, plane)));
    }
    Ok(output)
}

/// Convolves one kernel, a row of the output with a row of the input at a time.
fn convolve_plane<T: Number>(windows: &Windows, image: &[T], kernel: &[T], output: &mut [T]) {
    let Windows([depth, height, width]) = *windows;
    let planes = image.chunks_exact(windows.input_plane());
    for (plane, kernel) in planes.zip(kernel.chunks_exact(windows.kernel())) {
        for (row, output) in output.chunks_exact_mut(width.output).enumerate() {
            let (z, y) = (row / height.output, row % height.output);
            for i in depth.taps(z) {
                for j in height.taps(y) {
                    let line = depth.place(z, i) * height.input + height.place(y, j);
                    let line = &plane[line * width.input..][..width.input];
                    let kernel = &kernel[(i * height.kernel + j) * width.kernel..][..width.kernel];
                    for (k, &weight) in kernel.iter().enumerate() {
                        let outputs = width.outputs(k);
                        let Some(first) = outputs.clone().next() else { continue };
                        let line = &line[width.place(first, k)..];
                        let sums = &mut output[outputs];
                        if width.stride == 1 {
                            let pairs = sums.iter_mut().zip(line);
                            pairs.for_each(|(sum, &element)| *sum = sum.plus_product(element, weight));
                        } else {
                            let pairs = sums.iter_mut().zip(line.iter().step_by(width.stride));
                            pairs.for_each(|(sum, &element)| *sum = sum.plus_product(element, weight));
                        }
                    }
                }
            }
        }
    }
}

/// Windows of an image as columns of a matrix, made as they are read.
struct Patches<'a, T> {
    image: &'a [T],
    windows: Windows,
}

impl<T: Number> Columns<T> for Patches<'_, T> {
    fn fill(&self, rows: Range<usize>, first: usize, panel: &mut [T]) {
        let Windows([depth, height, width]) = self.windows;
        let count = panel.len() / rows.len();
        let there = count.min(self.windows.output_plane() - first);
        // The first tap of each column's window, which may be within the padding.
        let starts: Vec<[isize; 3]> = (first..first + there)
            .map(|place| {
                let [z, y, x] = self.windows.coordinates(place);
                [(z, depth), (y, height), (x, width)]
                    .map(|(place, axis)| (place * axis.stride) as isize - axis.before as isize)
            })
            .collect();
        let [_, start_y, start_x] = starts[0];
        let is_line = starts
            .iter()
            .zip(0..)
            .all(|(&[z, y, x], at)| z == starts[0][0] && y == start_y && x == start_x + at);
        for (row, to) in rows.zip(panel.chunks_exact_mut(count)) {
            let (rest, k) = (row / width.kernel, row % width.kernel);
            let (rest, j) = (rest / height.kernel, rest % height.kernel);
            let (channel, i) = (rest / depth.kernel, rest % depth.kernel);
            let offsets =
                [i * depth.dilation, j * height.dilation, k * width.dilation].map(|offset| offset as isize);
            let place = |start: [isize; 3]| {
                let at = |axis: usize, size: usize| {
                    usize::try_from(start[axis] + offsets[axis]).ok().filter(|&place| place < size)
                };
                let (z, y, x) = (at(0, depth.input)?, at(1, height.input)?, at(2, width.input)?);
                Some(((channel * depth.input + z) * height.input + y) * width.input + x)
            };
            to[there..].fill(T::ZERO);
            if is_line && let (Some(from), Some(_)) = (place(starts[0]), place(starts[there - 1])) {
                to[..there].copy_from_slice(&self.image[from..from + there]);
                continue;
            }
            for (to, &start) in to.iter_mut().zip(&starts) {
                *to = place(start).map_or(T::ZERO, |place| self.image[place]);
            }
        }
    }
}

/// Infers `ConvInteger`: input, weights, zero points.
pub(crate) fn infer_integer(spatial: &Spatial, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(4)?;
    let (input, weights) = (types.of_type(0, BYTE, is_byte)?, types.of_type(1, BYTE, is_byte)?);
    types.same(2, input.element_type)?;
    types.same(3, weights.element_type)?;
    let shape = shape(spatial, input, (1, weights))?;
    check_scalar(types, 2)?;
    check_scales(types, 3, shape[1])?;
    Ok(ValueType::new(ElementType::Int32, shape))
}

/// Runs `ConvInteger`.
pub(crate) fn run_integer(spatial: &Spatial, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    Ok(Elements::Int32(convolve_integers(spatial, tensors, (0, 2), (1, 3))?))
}

/// Returns the exact sums of a convolution of bytes; each pair is the places of a tensor and its zero point.
pub(crate) fn convolve_integers(
    spatial: &Spatial,
    tensors: Tensors<'_>,
    input: (usize, usize),
    weights: (usize, usize),
) -> Result<Vec<i32>, OperatorError> {
    let images = centred(tensors, input, 0)?;
    let kernels = centred(tensors, weights, 0)?;
    let (input, weights) = (tensors.required(input.0)?, tensors.required(weights.0)?);
    convolve(spatial, (&images, &input.shape), (&kernels, &weights.shape))
}
