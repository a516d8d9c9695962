//! The CPU's operations, soft-max and power.

use super::super::cpu::{Buffer, Operation, operations};
use super::super::{Loadable, LoadableError, Task};
use super::{OperationDescription, SurfaceDescription};

/// Describes a task's operations.
///
/// # Errors
/// As of [`accesses`](crate::loadable::cpu::accesses).
pub(super) fn describe(loadable: &Loadable, task: &Task) -> Result<Vec<OperationDescription>, LoadableError> {
    let operations = operations(loadable, task)?.into_iter().enumerate();
    let described = |(number, (operation, source, destination)): (usize, (Operation, Buffer, Buffer))| {
        let (kind, does) = match operation {
            Operation::Power { power, scale, shift } => ("power", format!("({scale} x + {shift}) ^ {power}")),
            Operation::Softmax => ("soft-max", "over channels".to_owned()),
        };
        let surfaces = [("source", &source), ("destination", &destination)];
        OperationDescription {
            kind: kind.to_owned(),
            does,
            precision: Some("fp16".to_owned()),
            surfaces: surfaces.map(|(name, buffer)| surface(buffer, loadable, name)).into(),
            ..OperationDescription::of(number)
        }
    };
    Ok(operations.map(described).collect())
}

fn surface(buffer: &Buffer, loadable: &Loadable, name: &'static str) -> SurfaceDescription {
    SurfaceDescription {
        name,
        place: Some(loadable.described(buffer.place)),
        size: buffer.bytes() as u32,
        width: buffer.width as u32,
        height: buffer.height as u32,
        channels: buffer.channels as u32,
        line_stride: buffer.line_stride as u32,
        surface_stride: buffer.surface_stride as u32,
        plane_stride: 0,
    }
}
