//! Operators that put tensors together, or take parts of them.

use super::call::Call;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{Elements, Operator, PadMode, Tensor};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "Concat" => {
            let axis =
                attributes.integer("axis")?.ok_or_else(|| Fault::new("attribute `axis` is left out"))?;
            call.finish(Operator::Concat { axis })
        }
        "Split" => split(call, attributes),
        "Slice" => slice(call, attributes),
        "Pad" => pad(call, attributes),
        "Gather" => {
            let axis = attributes.integer("axis")?.unwrap_or(0);
            call.finish(Operator::Gather { axis })
        }
        _ => Ok(false),
    }
}

/// `Split`, whose sizes are an attribute before operator set 13.
fn split(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    let axis = attributes.integer("axis")?.unwrap_or(0);
    let sizes = if call.version < 13 { attributes.integers("split")? } else { call.integers(1, "split")? };
    let sizes =
        match &sizes {
            None => None,
            Some(integers) => {
                let sizes = integers.iter().map(|&size| usize::try_from(size)).collect::<Result<Vec<_>, _>>();
                Some(sizes.map_err(|_| {
                    Fault::new(format!("split is {integers:?}; no negative one would be right"))
                })?)
            }
        };
    let count = call.output_count() as i64;
    if let Some(outputs) = attributes.integer("num_outputs")?
        && outputs != count
    {
        return Err(Fault::new(format!("num_outputs is {outputs}, but it has {count} outputs")));
    }
    let input = call.required(0)?;
    call.finish_with(Operator::Split { axis, sizes }, vec![Some(input)])
}

/// Adds integers that are an attribute as a constant.
fn listed(call: &mut Call<'_, '_>, role: &str, integers: Vec<i64>) -> vp_tensors::ValueId {
    call.add_constant(role, Tensor::of([integers.len()], Elements::Int64(integers)))
}

/// `Slice`, whose bounds are attributes before operator set 10.
fn slice(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    if call.version >= 10 {
        return call.finish(Operator::Slice);
    }
    let mut inputs = vec![Some(call.required(0)?)];
    for name in ["starts", "ends"] {
        let bounds = attributes
            .integers(name)?
            .ok_or_else(|| Fault::new(format!("attribute `{name}` is left out")))?;
        inputs.push(Some(listed(call, name, bounds)));
    }
    if let Some(axes) = attributes.integers("axes")? {
        inputs.push(Some(listed(call, "axes", axes)));
    }
    call.finish_with(Operator::Slice, inputs)
}

/// `Pad`, whose pads and value are attributes before operator set 11.
fn pad(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    let mode = match attributes.text("mode")?.as_deref() {
        None | Some("constant") => PadMode::Constant,
        Some("reflect") => PadMode::Reflect,
        Some("edge") => PadMode::Edge,
        Some("wrap") => PadMode::Wrap,
        Some(other) => {
            return Err(Fault::new(format!(
                "mode is `{other}`; constant, reflect, edge or wrap would be right"
            )));
        }
    };
    if call.version >= 11 {
        return call.finish(Operator::Pad { mode });
    }
    let input = call.required(0)?;
    let pads = attributes.integers("pads")?.ok_or_else(|| Fault::new("attribute `pads` is left out"))?;
    let pads = listed(call, "pads", pads);
    let value = attributes.float("value", 0.0)?;
    let value = call.add_constant("value", Tensor::floats([], vec![value]));
    call.finish_with(Operator::Pad { mode }, vec![Some(input), Some(pads), Some(value)])
}
