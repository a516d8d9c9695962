//! Functions of elements.

use super::call::Call;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{Binary, Operator, Reduction, Tensor, Unary};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    if let Some(function) = unary(operator, attributes)? {
        return call.finish(Operator::Unary(function));
    }
    if operator == "Mod" {
        let is_truncated = attributes.integer("fmod")?.unwrap_or(0) != 0;
        return call.finish(Operator::Binary(Binary::Mod { is_truncated }));
    }
    if let Ok(function) = operator.parse::<Binary>() {
        return call.finish(Operator::Binary(function));
    }
    match operator {
        "PRelu" => call.finish(Operator::PRelu),
        "Clip" => clip(call, attributes),
        "Max" => call.finish(Operator::Variadic(Reduction::Max)),
        "Min" => call.finish(Operator::Variadic(Reduction::Min)),
        "Sum" => call.finish(Operator::Variadic(Reduction::Sum)),
        "Mean" => call.finish(Operator::Variadic(Reduction::Mean)),
        "Where" => call.finish(Operator::Where),
        "Cast" => {
            attributes.ignore(&["saturate", "round_mode"]);
            let to = attributes.integer("to")?.ok_or_else(|| Fault::new("attribute `to` is left out"))?;
            let to = crate::constant::DataType::of(i32::try_from(to).unwrap_or(0))?;
            call.finish(Operator::Cast { to: to.element_type() })
        }
        "CastLike" => {
            attributes.ignore(&["saturate", "round_mode"]);
            let to = call.value_type(1)?.element_type;
            let input = call.required(0)?;
            call.finish_with(Operator::Cast { to }, vec![Some(input)])
        }
        _ => Ok(false),
    }
}

/// Returns the function of one element of this name.
pub(crate) fn unary(operator: &str, attributes: &Attributes<'_>) -> Result<Option<Unary>, Fault> {
    let alpha = |default: f32| attributes.float("alpha", default);
    Ok(Some(match operator {
        "LeakyRelu" => Unary::LeakyRelu { alpha: alpha(0.01)? },
        "ThresholdedRelu" => Unary::ThresholdedRelu { alpha: alpha(1.0)? },
        "Elu" => Unary::Elu { alpha: alpha(1.0)? },
        "Selu" => Unary::Selu { alpha: alpha(1.673_263_2)?, gamma: attributes.float("gamma", 1.050_701)? },
        "Celu" => Unary::Celu { alpha: alpha(1.0)? },
        "HardSigmoid" => Unary::HardSigmoid { alpha: alpha(0.2)?, beta: attributes.float("beta", 0.5)? },
        "Swish" => Unary::Swish { alpha: alpha(1.0)? },
        "Gelu" => match attributes.text("approximate")?.as_deref() {
            None | Some("none") => Unary::Gelu { is_approximate: false },
            Some("tanh") => Unary::Gelu { is_approximate: true },
            Some(other) => {
                return Err(Fault::new(format!("approximate is `{other}`; `none` or `tanh` would be right")));
            }
        },
        // The functions without attributes have their names.
        plain => return Ok(plain.parse().ok()),
    }))
}

/// `Clip`, whose bounds are attributes before operator set 11.
fn clip(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    if call.version >= 11 {
        return call.finish(Operator::Clip);
    }
    let input = call.required(0)?;
    let bounds = [
        ("min", attributes.has("min"), attributes.float("min", 0.0)?),
        ("max", attributes.has("max"), attributes.float("max", 0.0)?),
    ];
    let mut inputs = vec![Some(input)];
    for (role, is_there, bound) in bounds {
        inputs.push(is_there.then(|| call.add_constant(role, Tensor::floats([], vec![bound]))));
    }
    call.finish_with(Operator::Clip, inputs)
}
