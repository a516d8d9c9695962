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
use vp_models::nvdla::bdma::layer::BdmaTransfer;
use vp_models::nvdla::cube::Ram;
use zerocopy::little_endian::{I16, U16, U32};
use zerocopy::{FromZeros, Immutable, IntoBytes};

/// Most operations of a task: the driver counts them in 16 bits with a sign.
const MOST_OPERATIONS: usize = i16::MAX as usize;

/// Work of a step, in the descriptors' terms.
#[derive(Clone, Debug)]
pub(super) enum StepWork {
    /// Operations that run as one.
    Layer(Vec<Described>),
    /// Transfers of BDMA.
    Copies(Vec<BdmaTransfer>),
}

/// A step of a task.
#[derive(Clone, Debug)]
pub(super) struct TaskStep {
    pub(super) work: StepWork,
    /// Steps of the task that must be done before.
    pub(super) after: Vec<usize>,
}

impl TaskStep {
    fn operations(&self) -> StepOperations {
        let kinds = match &self.work {
            StepWork::Layer(described) => described.iter().map(|it| it.operation.kind()).collect(),
            StepWork::Copies(_) => vec![OperationKind::Bdma],
        };
        let reads = |described: &Described| match described.operation {
            OperationDescriptor::Sdp(sdp) => {
                sdp.stages.iter().any(|stage| stage.reads_memory() && stage.is_for_each_element())
            }
            _ => false,
        };
        let reads_operands = match &self.work {
            StepWork::Layer(described) => described.iter().any(reads),
            StepWork::Copies(_) => false,
        };
        StepOperations { kinds, reads_operands, after: self.after.clone() }
    }
}

/// Adds a task over these steps, with the tables that it looks up in.
pub(super) fn add(
    (contents, memory): (&mut Contents, &mut LoadableMemory),
    generation: Generation,
    (steps, tables): (&[TaskStep], &[layout::Lut]),
) -> Result<(), CompileError> {
    let operations: Vec<StepOperations> = steps.iter().map(TaskStep::operations).collect();
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
    for step in steps {
        match &step.work {
            StepWork::Layer(described) => {
                for Described { operation, cubes } in described {
                    push(&mut operations, OPERATION, &operation.bytes());
                    let mut surface = Vec::new();
                    for cube in cubes {
                        surface.extend(lists.cube(cube)?);
                    }
                    push(&mut surfaces, SURFACE, &surface);
                }
            }
            StepWork::Copies(transfers) => {
                push(&mut operations, OPERATION, (transfers.len() as u16).to_le_bytes().as_slice());
                push(&mut surfaces, SURFACE, &lists.transfers(transfers)?);
            }
        }
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
        let [size, line_stride, surface_stride] =
            [cube.bytes, cube.line_stride, cube.surface_stride].map(U32::new);
        let (_reserved, plane_stride) = (0.into(), 0.into());
        Ok(match self.generation {
            Generation::Short => layout::ShortCube {
                memory,
                address,
                size,
                width,
                height,
                channels,
                _reserved,
                line_stride,
                surface_stride,
                plane_stride,
            }
            .as_bytes()
            .to_vec(),
            Generation::Long => layout::LongCube {
                memory,
                address,
                offset: (offset as u32).into(),
                size,
                width,
                height,
                channels,
                _reserved,
                line_stride,
                surface_stride,
                plane_stride,
            }
            .as_bytes()
            .to_vec(),
        })
    }

    /// The surface of BDMA's operation.
    fn transfers(&mut self, transfers: &[BdmaTransfer]) -> Result<Vec<u8>, CompileError> {
        let types = transfers.first().map(|transfer| [transfer.source.ram, transfer.destination.ram]);
        let [source, destination] = types.unwrap_or([Ram::Primary; 2]).map(|ram| memory_type(ram) as u8);
        let head = layout::Transfers { source, destination, count: (transfers.len() as u16).into() };
        let mut surface = head.as_bytes().to_vec();
        for transfer in transfers {
            let &BdmaTransfer { line, lines, surfaces, source, destination } = transfer;
            // An end has no offset in either form: its address has it.
            let mut end = |ram, base| {
                let address = self.memory.exact(self.contents, (ram, base), u64::from(line))?;
                Ok::<_, CompileError>(I16::new(self.number(address)))
            };
            let ends = [end(source.ram, source.base)?, end(destination.ram, destination.base)?];
            let transfer = layout::Transfer {
                source: ends[0],
                destination: ends[1],
                line_size: line.into(),
                line_repeat: lines.into(),
                source_line: source.line_stride.into(),
                destination_line: destination.line_stride.into(),
                surface_repeat: surfaces.into(),
                source_surface: source.surface_stride.into(),
                destination_surface: destination.surface_stride.into(),
            };
            surface.extend(transfer.as_bytes());
        }
        Ok(surface)
    }
}

fn memory_type(ram: Ram) -> u16 {
    if ram == Ram::Primary { 0 } else { 1 }
}
