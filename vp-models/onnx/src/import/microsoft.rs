//! Operators of `com.microsoft` that optimised and quantised models have, as those of ONNX that they are made of.

use super::call::Call;
use super::windows;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{Binary, Operator, Tensor, Unary, ValueId};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "Gelu" => call.finish(Operator::Unary(Unary::Gelu { is_approximate: false })),
        "FusedConv" => {
            if call.optional(3).is_some() {
                return Err(Fault::new("it adds a fourth input, which is not read"));
            }
            let spatial = windows::convolution(call, attributes, 1)?;
            activated(call, attributes, Operator::Conv(spatial))
        }
        "FusedGemm" => {
            let gemm = windows::gemm(attributes)?;
            activated(call, attributes, Operator::Gemm(gemm))
        }
        "QLinearAdd" => {
            let (a, b) = (dequantised(call, 0)?, dequantised(call, 3)?);
            let sum = call.step("sum", Operator::Binary(Binary::Add), vec![Some(a), Some(b)])?;
            quantised(call, sum, 6)
        }
        "QLinearMul" => {
            let (a, b) = (dequantised(call, 0)?, dequantised(call, 3)?);
            let product = call.step("product", Operator::Binary(Binary::Mul), vec![Some(a), Some(b)])?;
            quantised(call, product, 6)
        }
        "QGemm" => product(call, attributes),
        "QLinearSoftmax" => {
            let axis = attributes.integer("axis")?.unwrap_or(-1);
            one(
                call,
                match attributes.integer("opset")? {
                    Some(version) if version < 13 => Operator::FlatSoftmax { axis, is_logarithm: false },
                    _ => Operator::Softmax { axis },
                },
            )
        }
        "QLinearConcat" => {
            let axis =
                attributes.integer("axis")?.ok_or_else(|| Fault::new("attribute `axis` is left out"))?;
            let parts = (2..call.inputs.len()).step_by(3).map(|at| dequantised(call, at).map(Some));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            let all = call.step("all", Operator::Concat { axis }, parts)?;
            quantised(call, all, 0)
        }
        "QLinearSigmoid" => one(call, Operator::Unary(Unary::Sigmoid)),
        "QLinearLeakyRelu" => {
            let alpha = attributes.float("alpha", 0.01)?;
            one(call, Operator::Unary(Unary::LeakyRelu { alpha }))
        }
        "QLinearGlobalAveragePool" => {
            attributes.only("channels_last", 0)?;
            one(call, Operator::GlobalAveragePool)
        }
        "QLinearAveragePool" => {
            attributes.only("channels_last", 0)?;
            let counts_padding = attributes.flag("count_include_pad")?;
            let pooling = windows::pooling(attributes)?;
            one(call, Operator::AveragePool { pooling, counts_padding })
        }
        _ => Ok(false),
    }
}

/// A function of a quantised tensor: inputs are tensor, scale and zero point, and those of the output.
fn one(call: &mut Call<'_, '_>, operator: Operator) -> Result<bool, Fault> {
    let input = dequantised(call, 0)?;
    let result = call.step("float", operator, vec![Some(input)])?;
    quantised(call, result, 3)
}

/// `QGemm`, whose bias is in steps of both factors' scales.
fn product(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    let gemm = windows::gemm(attributes)?;
    let a = dequantised(call, 0)?;
    let b = vec![Some(call.required(3)?), Some(call.required(4)?), call.optional(5)];
    let columns = Operator::DequantizeLinear { axis: i64::from(!gemm.transposes_b) };
    let b = call.step("float3", columns, b)?;
    let mut inputs = vec![Some(a), Some(b)];
    if let Some(bias) = call.optional(6) {
        let floats = |tensor: Option<&Tensor>| tensor.map(Tensor::to_floats).unwrap_or_default();
        let (left, right) = (floats(call.constant(1, "a_scale")?), floats(call.constant(4, "b_scale")?));
        let left = gemm.alpha * left.first().copied().unwrap_or(1.0);
        let scales: Vec<f32> = right.iter().map(|right| left * right).collect();
        let shape = if scales.len() == 1 { vec![] } else { vec![scales.len()] };
        let scale = call.add_constant("bias_scale", Tensor::floats(shape, scales));
        let bias = vec![Some(bias), Some(scale)];
        inputs.push(Some(call.step("bias", Operator::DequantizeLinear { axis: -1 }, bias)?));
    }
    if call.optional(7).is_none() {
        return call.finish_with(Operator::Gemm(gemm), inputs);
    }
    let result = call.step("float", Operator::Gemm(gemm), inputs)?;
    quantised(call, result, 7)
}

/// Returns the floats of a tensor whose scale and zero point are the next two inputs.
fn dequantised(call: &mut Call<'_, '_>, at: usize) -> Result<ValueId, Fault> {
    let inputs = vec![Some(call.required(at)?), Some(call.required(at + 1)?), call.optional(at + 2)];
    call.step(&format!("float{at}"), Operator::DequantizeLinear { axis: 1 }, inputs)
}

/// Makes the output of floats; its scale and zero point are two inputs.
fn quantised(call: &mut Call<'_, '_>, id: ValueId, at: usize) -> Result<bool, Fault> {
    let inputs = vec![Some(id), Some(call.required(at)?), call.optional(at + 1)];
    call.finish_with(Operator::QuantizeLinear { axis: 1 }, inputs)
}

/// An operator, and the activation that is fused with it.
fn activated(
    call: &mut Call<'_, '_>,
    attributes: &Attributes<'_>,
    operator: Operator,
) -> Result<bool, Fault> {
    let Some(activation) = attributes.text("activation")? else { return call.finish(operator) };
    let mut parameters = attributes.floats("activation_params")?.unwrap_or_default();
    // `FusedGemm` has these in place of the list.
    for (name, at) in [("activation_alpha", 0), ("activation_beta", 1), ("activation_gamma", 2)] {
        if attributes.has(name) {
            parameters.resize(parameters.len().max(at + 1), 0.0);
            parameters[at] = attributes.float(name, 0.0)?;
        }
    }
    let parameter = |at: usize, default: f32| parameters.get(at).copied().unwrap_or(default);
    let inputs = call.inputs.clone();
    let linear = call.step("linear", operator, inputs)?;
    let function = match activation.as_str() {
        "Relu" => Unary::Relu,
        "Sigmoid" => Unary::Sigmoid,
        "Tanh" => Unary::Tanh,
        "LeakyRelu" => Unary::LeakyRelu { alpha: parameter(0, 0.01) },
        "HardSigmoid" => Unary::HardSigmoid { alpha: parameter(0, 0.2), beta: parameter(1, 0.5) },
        "Clip" => {
            let bounds = [("min", parameter(0, f32::MIN)), ("max", parameter(1, f32::MAX))];
            let mut inputs = vec![Some(linear)];
            for (role, bound) in bounds {
                inputs.push(Some(call.add_constant(role, Tensor::floats([], vec![bound]))));
            }
            return call.finish_with(Operator::Clip, inputs);
        }
        other => return Err(Fault::new(format!("activation `{other}` is not read"))),
    };
    call.finish_with(Operator::Unary(function), vec![Some(linear)])
}
