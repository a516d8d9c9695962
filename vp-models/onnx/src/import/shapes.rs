//! Operators that change the shape, or are about shapes.

use super::call::Call;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{Elements, Operator, Tensor};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "Constant" => constant(call, attributes),
        "ConstantOfShape" => {
            let value = attributes.tensor("value")?;
            let value =
                value.map_or_else(|| Tensor::floats([1], vec![0.0]), |value| Tensor::clone(&value.tensor));
            call.finish(Operator::ConstantOfShape { value: Box::new(value) })
        }
        "Identity" => call.finish(Operator::Identity),
        "Dropout" => dropout(call, attributes),
        "Flatten" => {
            let axis = attributes.integer("axis")?.unwrap_or(1);
            call.finish(Operator::Flatten { axis })
        }
        "Reshape" => {
            let allows_zero = attributes.flag("allowzero")?;
            call.finish(Operator::Reshape { allows_zero })
        }
        "Squeeze" => {
            let axes = axes(call, attributes, 13)?.unwrap_or_default();
            let input = call.required(0)?;
            call.finish_with(Operator::Squeeze { axes }, vec![Some(input)])
        }
        "Unsqueeze" => {
            let axes = axes(call, attributes, 13)?.ok_or_else(|| Fault::new("axes are left out"))?;
            let input = call.required(0)?;
            call.finish_with(Operator::Unsqueeze { axes }, vec![Some(input)])
        }
        "Transpose" => {
            let permutation = attributes.sizes("perm")?.unwrap_or_default();
            call.finish(Operator::Transpose { permutation })
        }
        "DepthToSpace" => {
            let is_column_first = match attributes.text("mode")?.as_deref() {
                None | Some("DCR") => false,
                Some("CRD") => true,
                Some(other) => {
                    return Err(Fault::new(format!("mode is `{other}`; DCR or CRD would be right")));
                }
            };
            let block = block(attributes)?;
            call.finish(Operator::DepthToSpace { block, is_column_first })
        }
        "SpaceToDepth" => {
            let block = block(attributes)?;
            call.finish(Operator::SpaceToDepth { block })
        }
        "Shape" => {
            let (start, end) = (attributes.integer("start")?.unwrap_or(0), attributes.integer("end")?);
            call.finish(Operator::Shape { start, end })
        }
        "Size" => {
            let count = call.value_type(0)?.elements()?;
            let id = call.add_constant("size", Tensor::of([], Elements::Int64(vec![count as i64])));
            call.finish_as(id)
        }
        "Expand" => call.finish(Operator::Expand),
        "Tile" => call.finish(Operator::Tile),
        "Range" => call.finish(Operator::Range),
        _ => Ok(false),
    }
}

fn block(attributes: &Attributes<'_>) -> Result<usize, Fault> {
    let block = attributes.integer("blocksize")?.and_then(|block| usize::try_from(block).ok());
    block.ok_or_else(|| Fault::new("blocksize is left out, or negative"))
}

/// Returns axes, which are an attribute before this version and an input from then on.
pub(crate) fn axes(
    call: &Call<'_, '_>,
    attributes: &Attributes<'_>,
    since: i64,
) -> Result<Option<Vec<i64>>, Fault> {
    if call.version < since { attributes.integers("axes") } else { call.integers(1, "axes") }
}

fn constant(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    for (name, what) in
        [("sparse_value", "sparse tensors"), ("value_string", "text"), ("value_strings", "text")]
    {
        if attributes.has(name) {
            return Err(Fault::new(format!("{what} of attribute `{name}` is not read")));
        }
    }
    let tensor = if let Some(value) = attributes.tensor("value")? {
        let id = call.builder.constant(String::new(), value.tensor);
        call.builder.data_types.insert(id, value.data_type);
        return call.finish_constant(id);
    } else if attributes.has("value_float") {
        Tensor::floats([], vec![attributes.float("value_float", 0.0)?])
    } else if let Some(values) = attributes.floats("value_floats")? {
        Tensor::floats([values.len()], values)
    } else if let Some(value) = attributes.integer("value_int")? {
        Tensor::of([], Elements::Int64(vec![value]))
    } else if let Some(values) = attributes.integers("value_ints")? {
        Tensor::of([values.len()], Elements::Int64(values))
    } else {
        return Err(Fault::new("no attribute has its value"));
    };
    let id = call.add_constant("value", tensor);
    call.finish_constant(id)
}

/// `Dropout`, which does nothing when a network answers.
fn dropout(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    attributes.ignore(&["ratio", "seed"]);
    call.only_first_output()?;
    let trains = call.constant(2, "training_mode")?.and_then(Tensor::to_integers);
    if trains.is_some_and(|trains| trains.first().is_some_and(|&trains| trains != 0)) {
        return Err(Fault::with(
            "it drops elements at random (training_mode)",
            "export the model for inference",
        ));
    }
    let input = call.required(0)?;
    call.finish_with(Operator::Identity, vec![Some(input)])
}
