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
            let (block, is_column_first) = (block(attributes)?, is_column_first(attributes)?);
            call.finish(Operator::DepthToSpace { block, is_column_first })
        }
        "SpaceToDepth" => space_to_depth(call, attributes),
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

/// Returns true for mode `CRD`, false for `DCR`.
fn is_column_first(attributes: &Attributes<'_>) -> Result<bool, Fault> {
    match attributes.text("mode")?.as_deref() {
        None | Some("DCR") => Ok(false),
        Some("CRD") => Ok(true),
        Some(other) => Err(Fault::new(format!("mode is `{other}`; DCR or CRD would be right"))),
    }
}

/// `SpaceToDepth`; with channels before the places of a block as two changes of shape and of order.
fn space_to_depth(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    let (block, is_column_first) = (block(attributes)?, is_column_first(attributes)?);
    if !is_column_first {
        return call.finish(Operator::SpaceToDepth { block });
    }
    let input = call.required(0)?;
    let types = [Some(call.value_type(0)?)];
    let made = Operator::SpaceToDepth { block }.infer(&types, &[None], 1)?.swap_remove(0).shape;
    let split = [made[0], made[1] / (block * block), made[2], block, made[3], block];
    let shape = |shape: &[usize]| {
        let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        Tensor::of([sizes.len()], Elements::Int64(sizes))
    };
    let (blocks, shape) =
        (call.add_constant("blocks", shape(&split)), call.add_constant("shape", shape(&made)));
    let reshape = Operator::Reshape { allows_zero: true };
    let blocks = call.step("split", reshape.clone(), vec![Some(input), Some(blocks)])?;
    let order = Operator::Transpose { permutation: vec![0, 1, 3, 5, 2, 4] };
    let ordered = call.step("ordered", order, vec![Some(blocks)])?;
    call.finish_with(reshape, vec![Some(ordered), Some(shape)])
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
