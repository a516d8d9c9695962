//! Convolutions, poolings, matrix products and normalisations.

use super::call::Call;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{AutoPad, Gemm, LocalResponse, Operator, Pooling, Spatial};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "Conv" => {
            let spatial = convolution(call, attributes, 1)?;
            call.finish(Operator::Conv(spatial))
        }
        "ConvInteger" => {
            let spatial = convolution(call, attributes, 1)?;
            call.finish(Operator::ConvInteger(spatial))
        }
        "QLinearConv" => {
            let spatial = convolution(call, attributes, 3)?;
            call.finish(Operator::QLinearConv(spatial))
        }
        "ConvTranspose" => {
            let spatial = convolution(call, attributes, 1)?;
            let axes = spatial.kernel.len();
            let output_padding = attributes.sizes("output_padding")?.unwrap_or_else(|| vec![0; axes]);
            let output_shape = attributes.sizes("output_shape")?;
            call.finish(Operator::ConvTranspose { spatial, output_padding, output_shape })
        }
        "MaxPool" => {
            call.only_first_output()?;
            attributes.ignore(&["storage_order"]);
            let pooling = pooling(attributes)?;
            call.finish(Operator::MaxPool(pooling))
        }
        "AveragePool" => {
            let counts_padding = attributes.flag("count_include_pad")?;
            let pooling = pooling(attributes)?;
            call.finish(Operator::AveragePool { pooling, counts_padding })
        }
        "GlobalAveragePool" => call.finish(Operator::GlobalAveragePool),
        "GlobalMaxPool" => call.finish(Operator::GlobalMaxPool),
        "Gemm" => {
            let gemm = gemm(attributes)?;
            call.finish(Operator::Gemm(gemm))
        }
        "MatMul" => call.finish(Operator::MatMul),
        "MatMulInteger" => call.finish(Operator::MatMulInteger),
        "QLinearMatMul" => call.finish(Operator::QLinearMatMul),
        "BatchNormalization" => {
            call.only_first_output()?;
            attributes.ignore(&["momentum"]);
            attributes.only("spatial", 1)?;
            attributes.only("training_mode", 0)?;
            let epsilon = attributes.float("epsilon", 1e-5)?;
            call.finish(Operator::BatchNormalization { epsilon })
        }
        "LayerNormalization" => {
            attributes.ignore(&["stash_type"]);
            let axis = attributes.integer("axis")?.unwrap_or(-1);
            let epsilon = attributes.float("epsilon", 1e-5)?;
            call.finish(Operator::LayerNormalization { axis, epsilon })
        }
        "InstanceNormalization" => {
            let epsilon = attributes.float("epsilon", 1e-5)?;
            call.finish(Operator::InstanceNormalization { epsilon })
        }
        "LRN" => {
            let size = attributes.integer("size")?.and_then(|size| usize::try_from(size).ok());
            call.finish(Operator::LocalResponse(LocalResponse {
                size: size.ok_or_else(|| Fault::new("size is left out, or negative"))?,
                alpha: attributes.float("alpha", 1e-4)?,
                beta: attributes.float("beta", 0.75)?,
                bias: attributes.float("bias", 1.0)?,
            }))
        }
        _ => Ok(false),
    }
}

/// Returns the attributes of `Gemm`.
pub(crate) fn gemm(attributes: &Attributes<'_>) -> Result<Gemm, Fault> {
    Ok(Gemm {
        alpha: attributes.float("alpha", 1.0)?,
        beta: attributes.float("beta", 1.0)?,
        transposes_a: attributes.flag("transA")?,
        transposes_b: attributes.flag("transB")?,
    })
}

/// Returns the windows of a convolution, whose kernel is that of the weights where it is not given.
pub(crate) fn convolution(
    call: &Call<'_, '_>,
    attributes: &Attributes<'_>,
    weights: usize,
) -> Result<Spatial, Fault> {
    let weights = call.value_type(weights)?;
    let own = weights.shape.get(2..).unwrap_or_default().to_vec();
    let kernel = attributes.sizes("kernel_shape")?.unwrap_or(own);
    let groups = attributes.integer("group")?.unwrap_or(1);
    let groups = usize::try_from(groups)
        .map_err(|_| Fault::new(format!("group is {groups}; at least 1 would be right")))?;
    spatial(attributes, kernel, groups)
}

/// Returns the windows of a pooling.
pub(crate) fn pooling(attributes: &Attributes<'_>) -> Result<Pooling, Fault> {
    let kernel = attributes.sizes("kernel_shape")?;
    let kernel = kernel.ok_or_else(|| Fault::new("attribute `kernel_shape` is left out"))?;
    Ok(Pooling { spatial: spatial(attributes, kernel, 1)?, rounds_up: attributes.flag("ceil_mode")? })
}

fn spatial(attributes: &Attributes<'_>, kernel: Vec<usize>, groups: usize) -> Result<Spatial, Fault> {
    let axes = kernel.len();
    let auto_pad = match attributes.text("auto_pad")?.as_deref() {
        None | Some("NOTSET" | "") => AutoPad::NotSet,
        Some("SAME_UPPER") => AutoPad::SameUpper,
        Some("SAME_LOWER") => AutoPad::SameLower,
        Some("VALID") => AutoPad::Valid,
        Some(other) => {
            let expected = "NOTSET, SAME_UPPER, SAME_LOWER or VALID would be right";
            return Err(Fault::new(format!("auto_pad is `{other}`; {expected}")));
        }
    };
    let pads = attributes.sizes("pads")?.unwrap_or_else(|| vec![0; 2 * axes]);
    if pads.len() != 2 * axes {
        return Err(Fault::new(format!("pads are {pads:?}; two for each of the {axes} axes would be right")));
    }
    // `pads` beside a rule are none.
    let pads = if auto_pad == AutoPad::NotSet { pads } else { vec![0; 2 * axes] };
    Ok(Spatial {
        strides: attributes.sizes("strides")?.unwrap_or_else(|| vec![1; axes]),
        dilations: attributes.sizes("dilations")?.unwrap_or_else(|| vec![1; axes]),
        before: pads[..axes].to_vec(),
        after: pads[axes..].to_vec(),
        kernel,
        auto_pad,
        groups,
    })
}
