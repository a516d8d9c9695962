//! `Resize` and `Upsample`.

use super::call::Call;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{
    CoordinateTransformation, Elements, Interpolation, NearestMode, Operator, Resize, Tensor, ValueId,
};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "Upsample" => upsample(call, attributes),
        "Resize" if call.version < 11 => upsample(call, attributes),
        "Resize" => resize(call, attributes),
        _ => Ok(false),
    }
}

/// `Upsample`, and the first `Resize`: coordinates by the scale, rounded down.
fn upsample(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    let interpolation = match attributes.text("mode")?.as_deref() {
        None | Some("nearest") => Interpolation::Nearest,
        Some("linear" | "bilinear") => Interpolation::Linear,
        Some(other) => {
            return Err(Fault::new(format!("mode is `{other}`; nearest or linear would be right")));
        }
    };
    let input = call.required(0)?;
    let scales = match attributes.floats("scales")? {
        Some(scales) => call.add_constant("scales", Tensor::floats([scales.len()], scales)),
        None => call.required(1)?,
    };
    let resize = Resize {
        interpolation,
        coordinates: CoordinateTransformation::Asymmetric,
        nearest: NearestMode::Floor,
    };
    call.finish_with(Operator::Resize(resize), vec![Some(input), None, Some(scales)])
}

fn resize(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    let coefficient = attributes.float("cubic_coeff_a", -0.75)?;
    let interpolation = match attributes.text("mode")?.as_deref() {
        None | Some("nearest") => Interpolation::Nearest,
        Some("linear") => Interpolation::Linear,
        Some("cubic") => Interpolation::Cubic { coefficient },
        Some(other) => {
            return Err(Fault::new(format!("mode is `{other}`; nearest, linear or cubic would be right")));
        }
    };
    let coordinates = match attributes.text("coordinate_transformation_mode")?.as_deref() {
        None | Some("half_pixel") => CoordinateTransformation::HalfPixel,
        Some("half_pixel_symmetric") => CoordinateTransformation::HalfPixelSymmetric,
        Some("pytorch_half_pixel") => CoordinateTransformation::PytorchHalfPixel,
        Some("align_corners") => CoordinateTransformation::AlignCorners,
        Some("asymmetric") => CoordinateTransformation::Asymmetric,
        Some(other) => {
            return Err(Fault::with(
                format!("coordinate_transformation_mode `{other}` is not computed"),
                "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners and asymmetric are",
            ));
        }
    };
    let nearest = match attributes.text("nearest_mode")?.as_deref() {
        None | Some("round_prefer_floor") => NearestMode::RoundPreferFloor,
        Some("round_prefer_ceil") => NearestMode::RoundPreferCeil,
        Some("floor") => NearestMode::Floor,
        Some("ceil") => NearestMode::Ceil,
        Some(other) => return Err(Fault::new(format!("nearest_mode is `{other}`, which there is not"))),
    };
    attributes.ignore(&["extrapolation_value"]);
    attributes.only("antialias", 0)?;
    // Weights of elements beyond the edge matter for cubic interpolation only.
    if matches!(interpolation, Interpolation::Cubic { .. }) {
        attributes.only("exclude_outside", 0)?;
    }
    attributes.ignore(&["exclude_outside"]);
    match attributes.text("keep_aspect_ratio_policy")?.as_deref() {
        None | Some("stretch") => (),
        Some(other) => {
            return Err(Fault::with(
                format!("keep_aspect_ratio_policy `{other}` is not computed"),
                "`stretch` is",
            ));
        }
    }
    let axes = attributes.integers("axes")?;
    let (scales, sizes) = (of_axes(call, 2, axes.as_deref())?, of_axes(call, 3, axes.as_deref())?);
    let input = call.required(0)?;
    let operator = Operator::Resize(Resize { interpolation, coordinates, nearest });
    match (scales, sizes) {
        (_, Some(sizes)) => call.finish_with(operator, vec![Some(input), None, None, Some(sizes)]),
        (scales, None) => call.finish_with(operator, vec![Some(input), None, scales]),
    }
}

/// Returns scales or sizes of all axes, where the input has them and they are of some axes only.
fn of_axes(call: &mut Call<'_, '_>, input: usize, axes: Option<&[i64]>) -> Result<Option<ValueId>, Fault> {
    let Some(id) = call.optional(input) else { return Ok(None) };
    let shape = call.value_type(0)?.shape;
    let role = if input == 2 { "scales" } else { "sizes" };
    let Some(given) = call.constant(input, role)? else { return Ok(None) };
    if given.elements.is_empty() {
        return Ok(None);
    }
    let Some(axes) = axes else { return Ok(Some(id)) };
    let (mut scales, mut sizes): (Vec<f32>, Vec<i64>) =
        (vec![1.0; shape.len()], shape.iter().map(|&size| size as i64).collect());
    let rank = shape.len() as i64;
    for (at, &axis) in axes.iter().enumerate() {
        let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
        let wrong = || {
            Fault::new(format!(
                "axes are {axes:?}; some of the {rank} axes, one for each of {role}, would be right"
            ))
        };
        let place = usize::try_from(axis).ok().filter(|&axis| axis < shape.len()).ok_or_else(wrong)?;
        match &given.elements {
            Elements::Float(given) => scales[place] = *given.get(at).ok_or_else(wrong)?,
            Elements::Int64(given) => sizes[place] = *given.get(at).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
    }
    let all = match role {
        "scales" => Tensor::floats([scales.len()], scales),
        _ => Tensor::of([sizes.len()], Elements::Int64(sizes)),
    };
    Ok(Some(call.add_constant(role, all)))
}
