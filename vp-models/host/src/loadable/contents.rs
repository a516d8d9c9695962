//! Tables of a loadable's container, as its file has them: numbers as they stand there, lists in the file's order.
//!
//! Names and order of fields are the loadable format's (`loadable.fbs` of NVIDIA's compiler). A field that the file does not have is
//! zero or empty, as FlatBuffers say.

mod read;
#[cfg(test)]
mod tests;
mod write;

use serde::Serialize;

use super::Version;

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Version of the container.
    pub version: Version,
    /// Tasks, over addresses.
    pub tasks: Vec<TaskTable>,
    /// Pieces of memory.
    pub memories: Vec<MemoryTable>,
    /// Addresses in memories.
    pub addresses: Vec<AddressTable>,
    /// Events that tasks wait for and signal.
    pub events: Vec<EventTable>,
    /// Bytes, by name.
    pub blobs: Vec<BlobTable>,
    /// Tensors that the user binds.
    pub tensors: Vec<TensorTable>,
    /// Strides in descriptors that a runtime replaces when a tensor is bound with others.
    pub relocations: Vec<RelocationTable>,
    /// Tasks that are submitted together.
    pub submits: Vec<SubmitTable>,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskTable {
    /// Number of the task.
    pub id: u16,
    /// Processor: 0 none, 1 the accelerator, 2 the CPU.
    pub interface: u32,
    /// Instance of the processor; -1 for any.
    pub instance: i16,
    /// Numbers of addresses, which its descriptors count from zero.
    pub addresses: Vec<u16>,
    /// Events before it.
    pub pre_actions: Vec<u16>,
    /// Events behind it.
    pub post_actions: Vec<u16>,
}

/// A piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryTable {
    /// Number of the memory.
    pub id: u16,
    /// 0 DRAM, 1 SRAM.
    pub domain: u8,
    /// Sum of [`MemoryTable::ALLOC`] and the others.
    pub flags: u16,
    /// Size in bytes.
    pub size: u64,
    /// Number of which its address is a multiple.
    pub alignment: u32,
    /// Names of the blobs that fill it.
    pub contents: Vec<String>,
    /// Offset of each of these blobs.
    pub offsets: Vec<u64>,
    /// Number by which the user binds it: inputs and outputs are counted each from zero.
    pub bind_id: u16,
    /// Tensor in it.
    pub tensor: u16,
}

impl MemoryTable {
    /// Flag of memory that is allotted.
    pub const ALLOC: u16 = 1;
    /// Flag of memory that blobs fill.
    pub const SET: u16 = 2;
    /// Flag of an input.
    pub const INPUT: u16 = 4;
    /// Flag of an output.
    pub const OUTPUT: u16 = 8;
}

/// An address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AddressTable {
    /// Number of the address.
    pub id: u16,
    /// Memory that it is in.
    pub memory: u16,
    /// Offset in that memory, in bytes.
    pub offset: u64,
    /// Bytes from there on; 0 where the file does not say.
    pub size: u64,
}

/// An event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventTable {
    /// Number of the event.
    pub id: u16,
    /// Kind of the event.
    pub kind: u8,
    /// Counter that it is about.
    pub target: u16,
    /// Value of the counter.
    pub value: u32,
    /// 0 waits for it, 1 signals it.
    pub operation: u8,
}

/// Bytes, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobTable {
    /// Name of the blob.
    pub name: String,
    /// Size that the file says, in bytes.
    pub size: u64,
    /// Processor that reads it: 0 none, 1 the accelerator, 2 the CPU.
    pub interface: u32,
    /// Number of its kind among those of the processor.
    pub sub_interface: u32,
    /// Version of the interface.
    pub version: Version,
    /// Contents.
    pub data: Vec<u8>,
}

/// A tensor that the user binds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TensorTable {
    /// Name of the tensor.
    pub name: String,
    /// Number of the tensor.
    pub id: u16,
    /// Memory that it is in.
    pub memory: u16,
    /// Size in memory, in bytes.
    pub size: u64,
    /// Offset in that memory, in bytes.
    pub offset: u64,
    /// Order of its dimensions: 1 NCHW, 2 NHWC.
    pub data_format: u8,
    /// Type of an element: 1 float, 2 half, 3 int16, 4 int8.
    pub data_type: u8,
    /// 0 image, 1 weights, 2 features, 3 planes, 4 biases.
    pub data_category: u8,
    /// Format of pixels, as the compiler counts them.
    pub pixel_format: u8,
    /// Mapping of pixels; 0 is pitch linear.
    pub pixel_mapping: u8,
    /// Frames, channels, lines, columns.
    pub dimensions: [i32; 4],
    /// Strides in bytes: of an element, a line, a surface, and five more.
    pub strides: [u32; 8],
}

impl TensorTable {
    /// Format of features, in atoms of 32 bytes or, of older compilers, of any size.
    pub const FEATURE: u8 = 36;
    /// Format of features in atoms of 8 bytes.
    pub const FEATURE_X8: u8 = 37;
    /// Category of images.
    pub const CATEGORY_IMAGE: u8 = 0;
    /// Category of features.
    pub const CATEGORY_FEATURE: u8 = 2;
}

/// A stride in a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RelocationTable {
    /// Address of the tensor whose stride it is.
    pub address: u16,
    /// Memory of the list in which it stands.
    pub write: u16,
    /// Offset in that list, in bytes.
    pub offset: u64,
    /// Processor, as of a blob.
    pub interface: u32,
    /// Kind of the list, as of a blob.
    pub sub_interface: u32,
    /// 1 a line's stride, 2 a surface's.
    pub kind: u8,
}

/// Tasks that are submitted together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubmitTable {
    /// Number of the submission, which is its place in the order.
    pub id: u16,
    /// Numbers of the tasks.
    pub tasks: Vec<u16>,
}
