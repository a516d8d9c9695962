//! Tasks with their operations.

use std::collections::BTreeMap;

use super::super::contents::TaskTable;
use super::super::fit::MAX_OPERATIONS;
use super::super::layout::{self, read};
use super::super::network::{self, Cube, Operation, OperationWork, TensorPlace};
use super::super::{AddressEntry, FieldValue, Fields, Loadable, Processor, Task, cpu};
use super::cpu_operations;
use super::does::does;
use super::{
    OperationDescription, PlaceDescription, SurfaceDescription, TableDescription, TaskDescription,
    ToldOperation, TransferDescription, cube_names, domain,
};
use crate::driver::Event;
use vp_models::nvdla::numeric::Precision;

/// Operations and tables that may still be described, of all tasks.
pub(super) struct Left {
    operations: usize,
    tables: usize,
}

impl Default for Left {
    fn default() -> Left {
        Left { operations: MAX_OPERATIONS, tables: 1024 }
    }
}

/// Most operations of a task that are told to be none.
const MOST_FAILED: usize = 256;

/// Describes a task, with at most so many operations.
pub(super) fn describe(
    (loadable, task): (&Loadable, &Task),
    table: &TaskTable,
    left: &mut Left,
    problems: &mut Vec<String>,
) -> TaskDescription {
    let mut description = TaskDescription {
        id: task.id,
        processor: match task.processor {
            Processor::Accelerator => "accelerator",
            Processor::Cpu => "CPU",
        },
        instance: table.instance,
        addresses: table.addresses.clone(),
        pre_actions: table.pre_actions.clone(),
        post_actions: table.post_actions.clone(),
        lists: lists(loadable, task),
        network: None,
        operations: Vec::new(),
        tables: Vec::new(),
    };
    match task.processor {
        Processor::Accelerator => accelerator(loadable, task, &mut description, left, problems),
        Processor::Cpu if left.operations == 0 => problems.push(too_many(task)),
        Processor::Cpu => match cpu_operations::describe(loadable, task) {
            Ok(mut operations) => {
                truncate(&mut operations, left, task, problems);
                description.operations = operations;
            }
            Err(error) => problems.push(format!("task {}: {error}", task.id)),
        },
    }
    description
}

/// Addresses of the descriptors of a task.
fn lists(loadable: &Loadable, task: &Task) -> Vec<u16> {
    let indices: Vec<i16> = match task.processor {
        Processor::Accelerator => {
            let bytes = loadable.bytes(task, 0, "the network descriptor").ok().flatten();
            let lists = |network: layout::Network| {
                [network.operations, network.surfaces, network.dependencies, network.luts]
                    .map(zerocopy::I16::get)
            };
            bytes.and_then(read).map(lists).into_iter().flatten().collect()
        }
        Processor::Cpu => {
            cpu::lists(loadable, task).map(|lists| lists.places).into_iter().flatten().collect()
        }
    };
    let address = |index: i16| task.addresses.get(usize::try_from(index).ok()?).copied();
    [0].into_iter().chain(indices).filter_map(address).collect()
}

fn too_many(task: &Task) -> String {
    format!("task {}: no more than {MAX_OPERATIONS} operations are shown", task.id)
}

fn truncate(
    operations: &mut Vec<OperationDescription>,
    left: &mut Left,
    task: &Task,
    problems: &mut Vec<String>,
) {
    if operations.len() > left.operations {
        operations.truncate(left.operations);
        problems.push(too_many(task));
    }
    left.operations -= operations.len();
}

fn accelerator(
    loadable: &Loadable,
    task: &Task,
    description: &mut TaskDescription,
    left: &mut Left,
    problems: &mut Vec<String>,
) {
    let network = loadable.bytes(task, 0, "the network descriptor").ok().flatten();
    description.network = network.and_then(read::<layout::Network>).map(|network| network.fields());
    let lists = match network::lists(loadable, task, loadable.generation()) {
        Ok(lists) => lists,
        Err(error) => {
            problems.push(format!("task {}: {error}", task.id));
            return;
        }
    };
    let mut tables: BTreeMap<i16, Fields> = BTreeMap::new();
    let mut failed = 0;
    // One more is read, to know that there are more.
    for number in 0..lists.count().min(left.operations + 1) {
        match lists.operation(number) {
            Ok(operation) => {
                if let Some((lut, _)) = operation.lut()
                    && left.tables > 0
                {
                    tables.entry(lut.index).or_insert_with(|| {
                        left.tables -= 1;
                        lut.table.fields()
                    });
                }
                description.operations.push(described(loadable, number, &operation));
            }
            Err(error) => {
                // Behind the end of a list there is no other operation.
                failed += 1;
                if failed > MOST_FAILED {
                    problems.push(format!("task {}: operations from {number} on: {error}", task.id));
                    break;
                }
                description.operations.push(OperationDescription {
                    kind: "?".to_owned(),
                    error: Some(error.to_string()),
                    ..OperationDescription::of(number)
                });
            }
        }
    }
    truncate(&mut description.operations, left, task, problems);
    description.tables =
        tables.into_iter().map(|(index, fields)| TableDescription { index, fields }).collect();
}

impl OperationDescription {
    /// An operation of which nothing is known yet.
    pub(in super::super) fn of(number: usize) -> OperationDescription {
        OperationDescription {
            number,
            kind: String::new(),
            does: String::new(),
            precision: None,
            dependencies: None,
            consumers: Vec::new(),
            fused_parent: None,
            table: None,
            fields: Fields::default(),
            surfaces: Vec::new(),
            transfers: Vec::new(),
            error: None,
        }
    }
}

impl Loadable {
    /// A place as it is described.
    pub(in super::super) fn described(&self, entry: AddressEntry) -> PlaceDescription {
        let memory = self.memory(entry.memory);
        PlaceDescription { memory: entry.memory, domain: domain(memory.domain), offset: entry.offset }
    }
}

fn described(loadable: &Loadable, number: usize, operation: &Operation) -> OperationDescription {
    let (precision, fields) = descriptor(&operation.what);
    let transfers = match &operation.what {
        OperationWork::Bdma(copies) => copies
            .iter()
            .map(|copy| TransferDescription {
                source: loadable.described(copy.source),
                destination: loadable.described(copy.destination),
                shape: copy.shape.fields(),
            })
            .collect(),
        _ => Vec::new(),
    };
    let cubes = operation.what.cubes().iter().zip(operation.what.used_cubes());
    let surface = |(name, (cube, is_used)): (&&'static str, (&Cube, bool))| {
        is_used.then(|| SurfaceDescription {
            name,
            place: match cube.place {
                TensorPlace::Memory(entry) => Some(loadable.described(entry)),
                TensorPlace::OnTheFly | TensorPlace::None => None,
            },
            size: cube.size,
            width: cube.width,
            height: cube.height,
            channels: cube.channels,
            line_stride: cube.line_stride,
            surface_stride: cube.surface_stride,
            plane_stride: cube.plane_stride,
        })
    };
    OperationDescription {
        kind: operation.kind.to_string(),
        does: does(&operation.what),
        precision,
        dependencies: Some(operation.dependencies),
        consumers: operation.consumers.iter().map(told).collect(),
        fused_parent: operation.fused_parent.as_ref().map(told),
        table: operation.lut().map(|(lut, _)| lut.index),
        fields,
        surfaces: cube_names(operation.kind).iter().zip(cubes).filter_map(surface).collect(),
        transfers,
        ..OperationDescription::of(number)
    }
}

fn told(&(operation, event): &(usize, Event)) -> ToldOperation {
    let event = match event {
        Event::Completed => "completed",
        Event::Programmed => "programmed",
        Event::Enabled => "enabled",
        Event::WeightsFetched => "weights fetched",
        Event::DataFetched => "data fetched",
    };
    ToldOperation { operation, event }
}

/// Formats and fields of an operation.
fn descriptor(what: &OperationWork) -> (Option<String>, Fields) {
    let name = |code: u8| {
        let known = Precision::of_code(code.into()).map(|precision| precision.to_string());
        known.unwrap_or_else(|| format!("format {code}"))
    };
    let both = |[from, to]: [u8; 2]| match from == to {
        true => name(from),
        false => format!("{} to {}", name(from), name(to)),
    };
    match what {
        OperationWork::Bdma(_) => (None, Fields::default()),
        OperationWork::Convolution { descriptor: it, offset_u, uv_line_stride, .. } => {
            let mut fields = it.fields();
            // Of the second plane of an image: they stand in the surface.
            fields.0.push(("offset_u", FieldValue::Number(*offset_u)));
            fields.0.push(("uv_line_stride", FieldValue::Number((*uv_line_stride).into())));
            (Some(both([it.in_precision, it.proc_precision])), fields)
        }
        OperationWork::Sdp { descriptor: it, .. } => {
            (Some(both([it.src_precision, it.dst_precision])), it.fields())
        }
        OperationWork::Pdp { descriptor: it, .. } => (Some(name(it.precision)), it.fields()),
        OperationWork::Cdp { descriptor: it, .. } => (Some(name(it.in_precision)), it.fields()),
        OperationWork::Rubik { descriptor: it, .. } => (Some(name(it.precision)), it.fields()),
    }
}
