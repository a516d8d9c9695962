//! A task of the accelerator: its lists, as the driver reads them.

use super::dependencies::{self, StepOperations};
use super::descriptors::{CubeDescriptor, Described, OperationDescriptor, Place};
use super::error::CompileError;
use super::lists::{ListKind, Lists};
use super::memory::LoadableMemory;
use crate::loadable::contents::Contents;
use crate::loadable::layout::{self, DEPENDENCY, LUT, OPERATION, SURFACE};
use crate::loadable::network::OperationKind;
use crate::loadable::{Generation, Processor};
use vp_models::nvdla::cube::Ram;
use zerocopy::little_endian::{I16, U16};
use zerocopy::{FromZeros, Immutable, IntoBytes};

/// Most operations of a task: the driver counts them in 16 bits with a sign.
const MOST_OPERATIONS: usize = i16::MAX as usize;

/// A step of a task.
#[derive(Clone, Debug)]
pub(super) struct TaskStep {
    /// Operations that run as one.
    pub(super) operations: Vec<Described>,
    /// Steps of the task that must be done before.
    pub(super) after: Vec<usize>,
}

impl TaskStep {
    fn in_graph(&self) -> StepOperations {
        let kinds = self.operations.iter().map(|described| described.operation.kind()).collect();
        let reads = |described: &Described| match described.operation {
            OperationDescriptor::Sdp(sdp) => {
                sdp.stages.iter().any(|stage| stage.reads_memory() && stage.is_for_each_element())
            }
            _ => false,
        };
        let reads_operands = self.operations.iter().any(reads);
        StepOperations { kinds, reads_operands, after: self.after.clone() }
    }
}

/// Adds a task over these steps, with the tables that it looks up in.
pub(super) fn add(
    (contents, memory): (&mut Contents, &mut LoadableMemory),
    generation: Generation,
    (steps, tables): (&[TaskStep], &[layout::Lut]),
) -> Result<(), CompileError> {
    let operations: Vec<StepOperations> = steps.iter().map(TaskStep::in_graph).collect();
    let graph = dependencies::of(&operations);
    if graph.len() > MOST_OPERATIONS {
        return Err(CompileError::Operations { found: graph.len() });
    }
    // The first addresses are the lists', in this order.
    let mut lists = Lists::new(contents, memory, generation, Processor::Accelerator);
    let network = network(&graph, tables.len());
    lists.list("addr0", ListKind::Network, network.as_bytes())?;
    // By this part of its name the runtime knows the list that the driver changes, and fills it again.
    lists.list("dep_graph", ListKind::Dependencies, &entries(&graph, DEPENDENCY))?;
    let mut operations = Vec::new();
    let mut surfaces = Vec::new();
    // Data follows the lists: their sizes are known, their contents name data.
    let at = lists.addresses.len();
    let reserved = [("op_list", ListKind::Operations), ("surf_list", ListKind::Surfaces)];
    lists.addresses.extend([0; 2]);
    if !tables.is_empty() {
        lists.list("lut_list", ListKind::Tables, &entries(tables, LUT))?;
    }
    for Described { operation, cubes } in steps.iter().flat_map(|step| &step.operations) {
        push(&mut operations, OPERATION, &operation.bytes());
        let mut surface = Vec::new();
        for cube in cubes {
            surface.extend(lists.cube(cube)?);
        }
        push(&mut surfaces, SURFACE, &surface);
    }
    for (number, ((name, kind), bytes)) in reserved.into_iter().zip([operations, surfaces]).enumerate() {
        lists.addresses[at + number] = lists.stored(name, kind, &bytes)?;
    }
    lists.finish()
}

/// The network descriptor: places of the lists, in the order in which [`add`] gives them addresses.
fn network(graph: &[layout::Dependency], tables: usize) -> layout::Network {
    let first = |kind: OperationKind| {
        let place = graph.iter().position(|node| node.kind == kind as u8);
        I16::new(place.map_or(-1, |place| place as i16))
    };
    layout::Network {
        dependencies: 1.into(),
        operations: 2.into(),
        surfaces: 3.into(),
        luts: if tables == 0 { (-1).into() } else { 4.into() },
        _rois: (-1).into(),
        _surface: (-1).into(),
        _statistics: (-1).into(),
        _heads: OperationKind::ALL.map(first),
        _num_rois: 1.into(),
        num_operations: (graph.len() as u16).into(),
        num_luts: (tables as u16).into(),
        ..layout::Network::new_zeroed()
    }
}

/// Entries of a list, each with room for so many bytes.
fn entries<T: IntoBytes + Immutable>(list: &[T], bytes: usize) -> Vec<u8> {
    let mut all = Vec::new();
    list.iter().for_each(|entry| push(&mut all, bytes, entry.as_bytes()));
    all
}

/// Appends an entry, and what is left of its room as zeros.
fn push(list: &mut Vec<u8>, room: usize, entry: &[u8]) {
    let end = list.len() + room;
    list.extend(entry);
    list.resize(end, 0);
}

impl OperationDescriptor {
    fn bytes(&self) -> Vec<u8> {
        match self {
            OperationDescriptor::Convolution(descriptor) => descriptor.as_bytes().to_vec(),
            OperationDescriptor::Sdp(descriptor) => descriptor.as_bytes().to_vec(),
            OperationDescriptor::Pdp(descriptor) => descriptor.as_bytes().to_vec(),
            OperationDescriptor::Cdp(descriptor) => descriptor.as_bytes().to_vec(),
        }
    }
}

impl Lists<'_> {
    fn cube(&mut self, cube: &CubeDescriptor) -> Result<Vec<u8>, CompileError> {
        const ON_THE_FLY: u16 = 2;
        let memory = match cube.place {
            Place::Memory(ram, _) => memory_type(ram),
            Place::OnTheFly => ON_THE_FLY,
            Place::None => 0,
        };
        let (address, offset) = match self.memory.address(self.contents, cube)? {
            Some((address, offset)) => (self.number(address), offset),
            None => (-1, 0),
        };
        let [width, height, channels] = cube.size.map(|extent| U16::new(extent as u16));
        let (memory, address): (U16, I16) = (memory.into(), address.into());
        let extents = layout::CubeExtents {
            size: cube.bytes.into(),
            width,
            height,
            channels,
            line_stride: cube.line_stride.into(),
            surface_stride: cube.surface_stride.into(),
            ..layout::CubeExtents::new_zeroed()
        };
        Ok(match self.generation {
            Generation::Short => layout::ShortCube { memory, address, extents }.as_bytes().to_vec(),
            Generation::Long => {
                let offset = (offset as u32).into();
                layout::LongCube { memory, address, offset, extents }.as_bytes().to_vec()
            }
        })
    }
}

fn memory_type(ram: Ram) -> u16 {
    if ram == Ram::Primary { 0 } else { 1 }
}
