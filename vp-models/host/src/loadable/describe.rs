//! Loadables as people and programs look at them: all tables, and each operation with its fields by name. What cannot be read is told, and the
//! rest is here.

mod cpu_operations;
mod does;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;

use super::contents::{
    AddressTable, Contents, EventTable, MemoryTable, RelocationTable, SubmitTable, TensorTable,
};
use super::network::OperationKind;
use super::{Domain, Fields, Generation, Loadable, fit};

/// Everything of a loadable but the bytes of its blobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadableDescription {
    /// Version of the container.
    pub container: String,
    /// Version of the interface that its blobs are for, if they say.
    pub interface: Option<String>,
    /// Form of its cubes, as their sizes tell it.
    pub form: Option<Generation>,
    /// Built-in platforms that it fits.
    pub fits: Vec<&'static str>,
    /// Reason for which it fits no hardware: it contradicts itself.
    pub unfit: Option<String>,
    /// Tasks, in the order in which they are submitted.
    pub tasks: Vec<TaskDescription>,
    /// Pieces of memory.
    pub memories: Vec<MemoryTable>,
    /// Addresses in them.
    pub addresses: Vec<AddressTable>,
    /// Tensors that the user binds.
    pub tensors: Vec<TensorTable>,
    /// Events.
    pub events: Vec<EventTable>,
    /// Strides that are replaced when a tensor is bound.
    pub relocations: Vec<RelocationTable>,
    /// Submissions.
    pub submits: Vec<SubmitTable>,
    /// Blobs without their bytes.
    pub blobs: Vec<BlobDescription>,
    /// Reasons for which some of it could not be read.
    pub problems: Vec<String>,
}

/// A blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlobDescription {
    /// Name of the blob.
    pub name: String,
    /// Bytes that it has.
    pub bytes: u64,
    /// Size that the file says, in bytes.
    pub size: u64,
    /// Processor that reads it: 0 none, 1 the accelerator, 2 the CPU.
    pub interface: u32,
    /// Number of its kind among those of the processor.
    pub sub_interface: u32,
    /// Version of the interface.
    pub version: String,
    /// CRC-32 of its bytes.
    pub crc: u32,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskDescription {
    /// Number of the task.
    pub id: u16,
    /// `accelerator` or `CPU`.
    pub processor: &'static str,
    /// Instance of the processor; -1 for any.
    pub instance: i16,
    /// Numbers of addresses, which its descriptors count from zero.
    pub addresses: Vec<u16>,
    /// Events before it.
    pub pre_actions: Vec<u16>,
    /// Events behind it.
    pub post_actions: Vec<u16>,
    /// Numbers of the addresses of its descriptors.
    pub lists: Vec<u16>,
    /// The network descriptor, of a task of the accelerator.
    pub network: Option<Fields>,
    /// Operations, in order.
    pub operations: Vec<OperationDescription>,
    /// Tables that its operations look up.
    pub tables: Vec<TableDescription>,
}

/// An operation, with what could be read of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperationDescription {
    /// Number of the operation in its task.
    pub number: usize,
    /// Kind of the operation: `convolution`, `SDP`, `soft-max` and so on; `?` where it could not be read.
    pub kind: String,
    /// Work in a few words.
    pub does: String,
    /// Formats of what comes in and goes out.
    pub precision: Option<String>,
    /// Number of events that must come before it is enabled.
    pub dependencies: Option<u8>,
    /// Operations that are told of one of its events.
    pub consumers: Vec<ToldOperation>,
    /// Operation before it in the pipeline, whose results it takes on the fly.
    pub fused_parent: Option<ToldOperation>,
    /// Number of the table that it looks up.
    pub table: Option<i16>,
    /// Fields of the descriptor.
    pub fields: Fields,
    /// Cubes that it reads and writes.
    pub surfaces: Vec<SurfaceDescription>,
    /// Copies, of BDMA.
    pub transfers: Vec<TransferDescription>,
    /// Reason for which it could not be read.
    pub error: Option<String>,
}

/// An operation that is told of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldOperation {
    /// Number of the operation.
    pub operation: usize,
    /// `completed`, `programmed`, `enabled`, `weights fetched` or `data fetched`.
    pub event: &'static str,
}

/// A cube of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SurfaceDescription {
    /// Name of the cube in its operation: `source`, `weights`, `x1`, ….
    pub name: &'static str,
    /// Place of the cube; none if it passes from unit to unit.
    pub place: Option<PlaceDescription>,
    /// Size that the descriptor says, in bytes.
    pub size: u32,
    /// Columns.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
    /// Bytes from a line to the next.
    pub line_stride: u32,
    /// Bytes from a surface to the next.
    pub surface_stride: u32,
    /// Bytes from a plane to the next, where there are planes.
    pub plane_stride: u32,
}

/// A place in a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceDescription {
    /// Number of the memory.
    pub memory: u16,
    /// `DRAM` or `SRAM`.
    pub domain: &'static str,
    /// Offset in that memory, in bytes.
    pub offset: u64,
}

/// A copy of BDMA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TransferDescription {
    /// Place of its first byte.
    pub source: PlaceDescription,
    /// Place to which that goes.
    pub destination: PlaceDescription,
    /// Lines, surfaces and strides.
    pub shape: Fields,
}

/// A table of SDP or CDP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableDescription {
    /// Number of the table.
    pub index: i16,
    /// Entries, ranges, slopes.
    pub fields: Fields,
}

impl Serialize for Generation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Describes a loadable.
#[must_use]
pub fn describe(contents: &Contents) -> LoadableDescription {
    let blob = |blob: &super::contents::BlobTable| BlobDescription {
        name: blob.name.clone(),
        bytes: blob.data.len() as u64,
        size: blob.size,
        interface: blob.interface,
        sub_interface: blob.sub_interface,
        version: blob.version.to_string(),
        crc: crc32fast::hash(&blob.data),
    };
    let mut description = LoadableDescription {
        container: contents.version.to_string(),
        interface: None,
        form: None,
        fits: Vec::new(),
        unfit: None,
        tasks: Vec::new(),
        memories: contents.memories.clone(),
        addresses: contents.addresses.clone(),
        tensors: contents.tensors.clone(),
        events: contents.events.clone(),
        relocations: contents.relocations.clone(),
        submits: contents.submits.clone(),
        blobs: contents.blobs.iter().map(blob).collect(),
        problems: Vec::new(),
    };
    let loadable = match Loadable::of(contents) {
        Ok(loadable) => loadable,
        Err(error) => {
            description.problems.push(error.to_string());
            return description;
        }
    };
    description.interface = loadable.interface.map(|version| version.to_string());
    description.form = Some(loadable.generation());
    match fit::fitting(&loadable) {
        Ok(fits) => description.fits = fits,
        Err(error) => description.unfit = Some(error.to_string()),
    }
    let mut left = tasks::Left::default();
    let mut seen = BTreeSet::new();
    for task in loadable.tasks() {
        if let Some(table) = contents.tasks.iter().find(|table| table.id == task.id)
            && seen.insert(task.id)
        {
            let described = tasks::describe((&loadable, task), table, &mut left, &mut description.problems);
            description.tasks.push(described);
        }
    }
    description
}

const fn domain(domain: Domain) -> &'static str {
    match domain {
        Domain::Dram => "DRAM",
        Domain::Sram => "SRAM",
    }
}

/// Names of the cubes of a kind, in the order of its surface.
const fn cube_names(kind: OperationKind) -> &'static [&'static str] {
    match kind {
        OperationKind::Bdma => &[],
        OperationKind::Convolution => &["weights", "masks", "group sizes", "source", "destination"],
        OperationKind::Sdp => &["source", "x1", "x2", "y", "destination"],
        OperationKind::Pdp | OperationKind::Cdp | OperationKind::Rubik => &["source", "destination"],
    }
}
