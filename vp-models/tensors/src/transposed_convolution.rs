//! `ConvTranspose`: each element of the input adds a kernel to the output.

use crate::arguments::{Tensors, Types, wrong_attribute, wrong_shape};
use crate::multiply::{Matrix, Whole, multiply};
use crate::value_type::product;
use crate::windows::{self, check_rank};
use crate::{AutoPad, ElementType, Elements, OperatorError, Spatial, ValueType};

/// Attributes of a `ConvTranspose`.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) spatial: &'a Spatial,
    pub(crate) output_padding: &'a [usize],
    pub(crate) output_shape: Option<&'a [usize]>,
}

/// Size of an axis' output, and the padding before it.
type Extent = (usize, usize);

/// Returns the extent of each spatial axis.
fn extents(attributes: Attributes<'_>, input: &[usize]) -> Result<Vec<Extent>, OperatorError> {
    let spatial = attributes.spatial;
    windows::check(spatial, input.len())?;
    if attributes.output_padding.len() != input.len()
        || attributes.output_padding.iter().any(|&padding| padding > 1 << 31)
    {
        let expected = format!("an entry for each of the {} axes", input.len());
        return Err(wrong_attribute("output_padding", attributes.output_padding, expected));
    }
    if let Some(shape) = attributes.output_shape
        && (shape.len() != input.len() || shape.iter().any(|&size| size > 1 << 31))
    {
        let expected = format!("a size for each of the {} axes", input.len());
        return Err(wrong_attribute("output_shape", shape, expected));
    }
    let extent = |at: usize, input: usize| {
        let (stride, span) = (spatial.strides[at], (spatial.kernel[at] - 1) * spatial.dilations[at] + 1);
        // A size has room: those of axes are less than 2^31, as are steps.
        let whole = input
            .saturating_sub(1)
            .saturating_mul(stride)
            .saturating_add(span + attributes.output_padding[at]);
        let wanted = match (attributes.output_shape, spatial.auto_pad) {
            (Some(shape), _) => Some(shape[at]),
            (None, AutoPad::SameUpper | AutoPad::SameLower) => Some(input.saturating_mul(stride)),
            (None, AutoPad::NotSet | AutoPad::Valid) => None,
        };
        match (wanted, spatial.auto_pad) {
            (Some(output), rule) => {
                // ONNX gives the odd element to the end for `SAME_UPPER` only.
                let rule = if rule == AutoPad::SameUpper { rule } else { AutoPad::SameLower };
                Ok((output, windows::same(rule, whole.saturating_sub(output)).0))
            }
            (None, AutoPad::NotSet) => {
                let (before, after) = (spatial.before[at], spatial.after[at]);
                let expected = format!("less than the output without padding, {whole}");
                let output = whole.checked_sub(before + after);
                output
                    .map(|output| (output, before))
                    .ok_or_else(|| wrong_attribute("pads", [before, after], expected))
            }
            (None, _) => Ok((whole, 0)),
        }
    };
    input.iter().enumerate().map(|(at, &size)| extent(at, size)).collect()
}

/// Infers `ConvTranspose`.
pub(crate) fn infer(attributes: Attributes<'_>, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let (input, weights) = (types.floats(0)?, types.floats(1)?);
    types.same(2, ElementType::Float)?;
    check_rank(&input.shape)?;
    let groups = attributes.spatial.groups;
    if groups == 0 || !input.shape[1].is_multiple_of(groups) {
        let expected = format!("a divisor of the {} channels", input.shape[1]);
        return Err(wrong_attribute("group", groups, expected));
    }
    if weights.rank() != input.rank() || weights.shape[0] != input.shape[1] {
        let expected = format!("{} axes, the first of the input's {} channels", input.rank(), input.shape[1]);
        return Err(wrong_shape(1, &weights.shape, expected));
    }
    if attributes.spatial.kernel != weights.shape[2..] {
        let expected = format!("{:?}, as the weights have", &weights.shape[2..]);
        return Err(wrong_attribute("kernel_shape", &attributes.spatial.kernel, expected));
    }
    let kernels = weights.shape[1].checked_mul(groups);
    let kernels = kernels.ok_or_else(|| wrong_attribute("group", groups, "a smaller one"))?;
    types.shaped(2, &[kernels])?;
    let mut shape = vec![input.shape[0], kernels];
    shape.extend(extents(attributes, &input.shape[2..])?.iter().map(|extent| extent.0));
    // The products before they are added.
    let columns = product(weights.shape[1..].iter().chain(&input.shape[2..]).copied());
    ValueType::new(ElementType::Float, [columns.unwrap_or(usize::MAX)]).elements()?;
    Ok(ValueType::new(ElementType::Float, shape))
}

/// Runs `ConvTranspose`.
pub(crate) fn run(
    attributes: Attributes<'_>,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let (input, weights) = (tensors.required(0)?, tensors.required(1)?);
    let (elements, kernels, bias) = (tensors.floats(0)?, tensors.floats(1)?, tensors.optional_floats(2)?);
    let groups = attributes.spatial.groups;
    let (channels, group) = (input.shape[1] / groups, weights.shape[1]);
    let plane: usize = input.shape[2..].iter().product();
    let (taps, room): (usize, usize) =
        (weights.shape[2..].iter().product(), made.shape[2..].iter().product());
    let mut output = vec![0.0; made.elements()?];
    if output.is_empty() {
        return Ok(Elements::Float(output));
    }
    if let Some(bias) = bias {
        for (plane, &bias) in output.chunks_exact_mut(room).zip(bias.iter().cycle()) {
            plane.fill(bias);
        }
    }
    if channels * plane == 0 {
        return Ok(Elements::Float(output));
    }
    let places = places(attributes, &input.shape[2..])?;
    let outputs = output.chunks_exact_mut(group * room);
    for ((at, output), image) in outputs.enumerate().zip(elements.chunks_exact(channels * plane)) {
        let kernels = &kernels[at % groups * channels * group * taps..][..channels * group * taps];
        // Kernels' taps are rows, transposed.
        let left = Matrix { elements: kernels, row: 1, column: group * taps };
        let right = Whole(Matrix { elements: image, row: plane, column: 1 }, plane);
        let columns = multiply(left, &right, (group * taps, channels, plane));
        for (row, columns) in columns.chunks_exact(plane).enumerate() {
            let output = &mut output[row / taps * room..][..room];
            for (place, column) in columns.iter().enumerate() {
                if let Some(to) = places.place(place, row % taps) {
                    output[to] += column;
                }
            }
        }
    }
    Ok(Elements::Float(output))
}

/// Places in the output's plane at which the taps of an input's element are added.
struct Places {
    /// Input, kernel, stride, dilation, output and padding before it of each axis.
    axes: Vec<(usize, usize, usize, usize, usize, usize)>,
}

fn places(attributes: Attributes<'_>, input: &[usize]) -> Result<Places, OperatorError> {
    let spatial = attributes.spatial;
    let extents = extents(attributes, input)?;
    let axis = |at: usize| {
        let (output, before) = extents[at];
        (input[at], spatial.kernel[at], spatial.strides[at], spatial.dilations[at], output, before)
    };
    Ok(Places { axes: (0..input.len()).map(axis).collect() })
}

impl Places {
    fn place(&self, mut element: usize, mut tap: usize) -> Option<usize> {
        let (mut place, mut step) = (0, 1);
        for &(input, kernel, stride, dilation, output, before) in self.axes.iter().rev() {
            let at = (element % input * stride + tap % kernel * dilation).checked_sub(before)?;
            if at >= output {
                return None;
            }
            (element, tap) = (element / input, tap / kernel);
            place += at * step;
            step *= output;
        }
        Some(place)
    }
}
