//! Operators of nodes: who makes which part of a graph.

use super::call::Call;
use super::{elementwise, microsoft, pieces, quantised, reductions, resize, shapes, table, windows};
use crate::attributes::Attributes;
use crate::problem::Fault;

/// Makes a node part of the graph.
///
/// # Errors
/// The fault of the node; none if it reads what could not be made.
pub(crate) fn run(call: &mut Call<'_, '_>) -> Result<(), Option<Fault>> {
    let node = call.node();
    let domain = match node.domain.as_deref().unwrap_or_default() {
        "ai.onnx" => "",
        domain => domain,
    };
    let operator = node.op_type.as_deref().unwrap_or_default();
    if let Some(fault) = table::refused(call.model(), domain, operator) {
        return Err(Some(fault));
    }
    let attributes = Attributes::new(node)?;
    call.read_inputs().ok_or(None)?;
    let is_made = match domain {
        "" => of_onnx(call, operator, &attributes)?,
        _ => microsoft::run(call, operator, &attributes)?,
    };
    if !is_made {
        return Err(Some(table::unknown(domain, operator)));
    }
    Ok(attributes.finish()?)
}

fn of_onnx(call: &mut Call<'_, '_>, operator: &str, attributes: &Attributes<'_>) -> Result<bool, Fault> {
    Ok(elementwise::run(call, operator, attributes)?
        || windows::run(call, operator, attributes)?
        || shapes::run(call, operator, attributes)?
        || pieces::run(call, operator, attributes)?
        || reductions::run(call, operator, attributes)?
        || resize::run(call, operator, attributes)?
        || quantised::run(call, operator, attributes)?)
}
