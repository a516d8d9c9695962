//! Reductions and softmax.

use super::call::Call;
use super::shapes::axes;
use crate::attributes::Attributes;
use crate::problem::Fault;
use vp_tensors::{Operator, Reduction, Unary};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "ReduceMax" => reduce(call, attributes, Reduction::Max, None, None),
        "ReduceMin" => reduce(call, attributes, Reduction::Min, None, None),
        "ReduceSum" => reduce(call, attributes, Reduction::Sum, None, None),
        "ReduceMean" => reduce(call, attributes, Reduction::Mean, None, None),
        "ReduceProd" => reduce(call, attributes, Reduction::Product, None, None),
        "ReduceL2" => reduce(call, attributes, Reduction::L2, None, None),
        "ReduceSumSquare" => reduce(call, attributes, Reduction::SumOfSquares, None, None),
        "ReduceL1" => reduce(call, attributes, Reduction::Sum, Some(Unary::Abs), None),
        "ReduceLogSum" => reduce(call, attributes, Reduction::Sum, None, Some(Unary::Log)),
        "ArgMax" => place(call, attributes, false),
        "ArgMin" => place(call, attributes, true),
        "Softmax" => softmax(call, attributes, false),
        "LogSoftmax" => softmax(call, attributes, true),
        _ => Ok(false),
    }
}

/// A reduction, of a function of each element, and a function of the results. Axes are an attribute before operator set 18,
/// and before 13 of `ReduceSum`.
fn reduce(
    call: &mut Call<'_, '_>,
    attributes: &Attributes<'_>,
    reduction: Reduction,
    before: Option<Unary>,
    after: Option<Unary>,
) -> Result<bool, Fault> {
    let is_sum = reduction == Reduction::Sum && before.is_none() && after.is_none();
    let axes = axes(call, attributes, if is_sum { 13 } else { 18 })?.unwrap_or_default();
    let keeps = attributes.integer("keepdims")?.unwrap_or(1) != 0;
    let stays = attributes.flag("noop_with_empty_axes")? && axes.is_empty();
    let mut input = call.required(0)?;
    if let Some(function) = before {
        input = call.step("elements", Operator::Unary(function), vec![Some(input)])?;
    }
    let reduced = if !stays {
        Operator::Reduce { reduction, axes, keeps }
    } else {
        match reduction {
            Reduction::L2 => Operator::Unary(Unary::Abs),
            Reduction::SumOfSquares => {
                return call.finish_with(Operator::Binary(vp_tensors::Binary::Mul), vec![Some(input); 2]);
            }
            _ => Operator::Identity,
        }
    };
    match after {
        None => call.finish_with(reduced, vec![Some(input)]),
        Some(function) => {
            let result = call.step("reduced", reduced, vec![Some(input)])?;
            call.finish_with(Operator::Unary(function), vec![Some(result)])
        }
    }
}

/// `ArgMax`, or `ArgMin` as that of the negative.
fn place(call: &mut Call<'_, '_>, attributes: &Attributes<'_>, is_least: bool) -> Result<bool, Fault> {
    let axis = attributes.integer("axis")?.unwrap_or(0);
    let keeps = attributes.integer("keepdims")?.unwrap_or(1) != 0;
    let last = attributes.flag("select_last_index")?;
    let mut input = call.required(0)?;
    if is_least {
        input = call.step("negative", Operator::Unary(Unary::Neg), vec![Some(input)])?;
    }
    call.finish_with(Operator::ArgMax { axis, keeps, last }, vec![Some(input)])
}

/// `Softmax` and `LogSoftmax`, which are over all axes from one on before operator set 13.
fn softmax(call: &mut Call<'_, '_>, attributes: &Attributes<'_>, is_logarithm: bool) -> Result<bool, Fault> {
    let axis = attributes.integer("axis")?;
    let operator = match (call.version < 13, is_logarithm) {
        (true, _) => Operator::FlatSoftmax { axis: axis.unwrap_or(1), is_logarithm },
        (false, false) => Operator::Softmax { axis: axis.unwrap_or(-1) },
        (false, true) => Operator::LogSoftmax { axis: axis.unwrap_or(-1) },
    };
    call.finish(operator)
}
