//! Quantisation.

use super::call::Call;
use crate::attributes::Attributes;
use crate::constant::DataType;
use crate::problem::Fault;
use vp_tensors::{ElementType, Elements, Operator, Tensor};

/// Makes the node, if it is one of these operators.
pub(crate) fn run(
    call: &mut Call<'_, '_>,
    operator: &str,
    attributes: &Attributes<'_>,
) -> Result<bool, Fault> {
    match operator {
        "QuantizeLinear" => quantize(call, attributes),
        "DequantizeLinear" => {
            check(call, 0)?;
            check(call, 2)?;
            attributes.only("block_size", 0)?;
            attributes.ignore(&["output_dtype"]);
            let axis = attributes.integer("axis")?.unwrap_or(1);
            call.finish(Operator::DequantizeLinear { axis })
        }
        "DynamicQuantizeLinear" => call.finish(Operator::DynamicQuantizeLinear),
        _ => Ok(false),
    }
}

/// Checks that an input has no integers of 16 bits, whose limits are not known later.
fn check(call: &Call<'_, '_>, input: usize) -> Result<(), Fault> {
    match call.data_type(input) {
        Some(found @ (DataType::Int16 | DataType::Uint16)) => Err(Fault::with(
            format!("input {input} has elements of type {found:?}"),
            "quantise it to int8 or uint8",
        )),
        _ => Ok(()),
    }
}

fn quantize(call: &mut Call<'_, '_>, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    check(call, 2)?;
    attributes.only("block_size", 0)?;
    attributes.ignore(&["saturate", "precision"]);
    let axis = attributes.integer("axis")?.unwrap_or(1);
    let output = attributes.integer("output_dtype")?.unwrap_or(0);
    let mut inputs = call.inputs.clone();
    if output != 0 && call.optional(2).is_none() {
        let data_type = DataType::of(i32::try_from(output).unwrap_or(0))?;
        let shape = call.value_type(1)?.shape;
        let count = shape.iter().product();
        let zeros = match data_type.element_type() {
            ElementType::Int8 => Elements::Int8(vec![0; count]),
            ElementType::Uint8 => Elements::Uint8(vec![0; count]),
            other => {
                return Err(Fault::with(
                    format!("its output is of type {other}"),
                    "quantise it to int8 or uint8",
                ));
            }
        };
        inputs.resize(2, None);
        inputs.push(Some(call.add_constant("zero", Tensor::of(shape, zeros))));
    }
    call.finish_with(Operator::QuantizeLinear { axis }, inputs)
}
