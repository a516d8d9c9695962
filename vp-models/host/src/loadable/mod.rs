//! NVDLA's loadables: what the vendor's compiler makes of a network, run without a guest.
//!
//! A loadable is a flatbuffer: memory to be allotted and filled, addresses in it, and tasks over them. A task is either
//! a graph of hardware operations, whose descriptors lie in that memory, or a list of small operations for the CPU.
//!
//! ```text
//! bytes → Loadable::parse → Loadable          memory, addresses, tasks, tensors     (container, mod)
//!                             Network::read   a task's operations and dependencies  (layout, network)
//!                             registers::of   an operation's register writes
//!                             Kernel::run     who is programmed and enabled when    (driver)
//!                             cpu::run        soft-max, power
//! bytes → Contents::read → Contents → convert, write                                (contents, convert)
//! run(loadable, inputs, host) → Execution
//! ```
//!
//! Descriptors came in two generations: data cubes of 28 bytes, and since April 2019 of 32 bytes, with an offset. [`Generation`] says
//! which a loadable has: its own sizes tell (`generation`). What it asks of a platform, and which platforms have that, [`fit`] says.

pub mod compile;
mod container;
pub mod contents;
pub mod convert;
mod cpu;
pub mod describe;
pub mod differences;
mod driver;
mod error;
mod fields;
pub mod fit;
mod generation;
mod image;
mod layout;
mod misfit;
mod network;
mod places;
mod registers;
mod run;
mod shape;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use vp_models::nvdla::cube::Surface;

pub use super::trace::recording::Element;
use contents::{AddressTable, Contents, MemoryTable, SubmitTable, TensorTable};
pub use driver::Span;
pub use error::{CubeAtoms, LoadableError, RunError};
pub use fields::{FieldValue, Fields};
pub(crate) use image::normal;
pub use network::OperationKind;
pub use run::{Execution, FrameDifference, Output, run, run_frames, run_from};
pub use shape::CubeFault;

/// Most memory that a loadable is given, in bytes: what the vendor's driver has.
pub const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// Most tasks that are submitted: as many as have a number.
const MAX_TASKS: usize = 1 << 16;

/// Form of the descriptors of a loadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Data cubes of 28 bytes: the vendor's firmware interface up to 0.11, and compilers made for it.
    Short,
    /// Data cubes of 32 bytes, with an offset: the vendor's from 0.12 on.
    Long,
}

impl Generation {
    /// Both generations.
    pub const ALL: [Generation; 2] = [Generation::Short, Generation::Long];

    /// Size of a data cube.
    #[must_use]
    pub const fn cube_bytes(self) -> usize {
        match self {
            Generation::Short => 28,
            Generation::Long => 32,
        }
    }
}

/// Text as of the interface that the form belongs to: `0.11`, `0.12`.
impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version(major, minor, _) = self.interface();
        write!(f, "{major}.{minor}")
    }
}

impl FromStr for Generation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Generation, &'static str> {
        let found = Generation::ALL.into_iter().find(|form| form.to_string() == text);
        found.ok_or("expected 0.11, for cubes without an offset, or 0.12, for cubes with one")
    }
}

/// A version: major, minor, and below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8, pub u8);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Memory that an entry is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Memory behind the primary interface.
    Dram,
    /// Memory behind the secondary interface.
    Sram,
}

/// A piece of memory that a run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEntry {
    /// Number of the entry.
    pub id: u16,
    /// Memory in which it is to be.
    pub domain: Domain,
    /// Bytes that it holds at first; zero where the loadable does not say.
    pub image: Vec<u8>,
    /// Number of which its address must be a multiple.
    pub alignment: u64,
    /// A tensor that the user gives.
    pub is_input: bool,
    /// A tensor that the user takes.
    pub is_output: bool,
    /// Some of it comes from the loadable.
    is_filled: bool,
    tensor: u16,
    bind: u16,
}

/// An address that descriptors name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressEntry {
    /// The number of the memory it is in.
    pub memory: u16,
    /// Offset from that memory's first byte.
    pub offset: u64,
    /// Bytes from there on that it covers, as far as its memory goes; to the memory's end where the loadable says none.
    pub size: Option<u64>,
}

impl AddressEntry {
    /// Address so many bytes further on.
    fn from(self, offset: u64) -> AddressEntry {
        AddressEntry {
            offset: self.offset.saturating_add(offset),
            size: self.size.map(|size| size.saturating_sub(offset)),
            ..self
        }
    }
}

/// Processor that does a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// The accelerator.
    Accelerator,
    /// The CPU.
    Cpu,
}

/// A task: what its descriptors count addresses by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number of the task.
    pub id: u16,
    /// Processor that does it.
    pub processor: Processor,
    /// Shared by all submissions of the task.
    addresses: Arc<[u16]>,
}

/// Layout of a tensor in its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name of the tensor.
    pub name: String,
    /// Width, height, channels.
    pub size: [usize; 3],
    /// Bytes of an element, if the format is one that is known.
    pub element_bytes: Option<usize>,
    /// True if its elements are halves.
    pub is_half: bool,
    /// Bytes from a line to the next.
    pub line_stride: usize,
    /// Bytes from a surface to the next.
    pub surface_stride: usize,
    /// Offset of its first byte in its memory.
    pub offset: u64,
    /// Size in memory, in bytes.
    pub bytes: u64,
    /// Most bytes that an atom has, as its format says.
    pub widest_atom: usize,
    /// Bytes of a pixel, if it lies in memory as an image: all components of a pixel one behind the other.
    pub pixel_bytes: Option<usize>,
}

/// Bytes of the atoms that surfaces are made of, largest first.
const ATOMS: [usize; 4] = [64, 32, 16, 8];

impl Tensor {
    /// Returns the number of its elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.size.iter().fold(1, |product, &extent| product.saturating_mul(extent))
    }

    /// Returns true if its memory has room for its elements: no tensor is larger, whatever its header says.
    fn has_room(&self) -> bool {
        let bytes = self.elements().saturating_mul(self.element_bytes.unwrap_or(usize::MAX));
        bytes as u64 <= self.bytes.min(MAX_MEMORY_BYTES)
    }

    /// Bytes of its atoms: packed lines are as long as so many pixels, and in lines with room between them there are at least as many.
    fn atom(&self) -> usize {
        let [width, ..] = self.size;
        let packed = ATOMS
            .into_iter()
            .filter(|&atom| atom <= self.widest_atom)
            .find(|atom| atom * width == self.line_stride);
        let roomy = || ATOMS[1..].iter().copied().find(|atom| atom * width <= self.line_stride);
        packed.or_else(roomy).unwrap_or(ATOMS[1])
    }

    /// Returns the place of each element in the tensor's memory, in the order channel, line, column; none where its strides and
    /// its size do not fit together.
    fn places(&self) -> Option<Vec<usize>> {
        let mut places = Vec::new();
        self.each_place(|place| places.push(place))?;
        Some(places)
    }

    /// Shows the place of each element as [`places`](Self::places) has them, one after the other.
    fn each_place(&self, mut show: impl FnMut(usize)) -> Option<()> {
        let [width, height, channels] = self.size;
        let element = self.element_bytes.filter(|_| self.has_room())?;
        if self.elements() == 0 {
            return Some(());
        }
        if let Some(pixel) = self.pixel_bytes {
            return self.each_component(pixel, element, show);
        }
        let atom = self.atom();
        let [line_stride, surface_stride, pixel, bytes] =
            [self.line_stride, self.surface_stride, atom, element].map(|size| size as u32);
        let surface = Surface::within(line_stride, surface_stride, pixel);
        let end = self.offset.checked_add(self.bytes)?;
        for channel in 0..channels as u32 {
            for y in 0..height as u32 {
                for x in 0..width as u32 {
                    // There are no more than memory has room for: only the offset may be anything.
                    let place = self.offset.checked_add(surface.element([x, y, channel], bytes))?;
                    if place.checked_add(u64::from(bytes))? > end {
                        return None;
                    }
                    show(usize::try_from(place).ok()?);
                }
            }
        }
        Some(())
    }

    /// Shows the place of each element of an image.
    fn each_component(&self, pixel: usize, element: usize, mut show: impl FnMut(usize)) -> Option<()> {
        let [width, height, channels] = self.size;
        let (begin, end) = (usize::try_from(self.offset).ok()?, self.offset.checked_add(self.bytes)?);
        for channel in 0..channels {
            for y in 0..height {
                for x in 0..width {
                    let within =
                        y.checked_mul(self.line_stride)?.checked_add(x * pixel + channel * element)?;
                    let place = begin.checked_add(within)?;
                    if (place.checked_add(element)? as u64) > end {
                        return None;
                    }
                    show(place);
                }
            }
        }
        Some(())
    }

    /// Puts elements, ordered by channel, line and column, to their places in a memory of that size.
    #[must_use]
    pub fn pack(&self, elements: &[u8], memory: usize) -> Option<Vec<u8>> {
        let (size, places) = (self.element_bytes?, self.places()?);
        let mut packed = vec![0; memory];
        for (at, element) in places.iter().zip(elements.chunks_exact(size)) {
            packed.get_mut(*at..at + size)?.copy_from_slice(element);
        }
        (elements.len() == places.len() * size).then_some(packed)
    }

    /// Takes elements out of their places, ordered by channel, line and column.
    #[must_use]
    pub fn unpack(&self, memory: &[u8]) -> Option<Vec<u8>> {
        let size = self.element_bytes?;
        let elements: Option<Vec<&[u8]>> =
            self.places()?.into_iter().map(|at| memory.get(at..at + size)).collect();
        Some(elements?.concat())
    }
}

/// A loadable whose parts fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loadable {
    /// The version of the container.
    pub version: Version,
    /// The version of the descriptors in it, if there are any.
    pub interface: Option<Version>,
    memories: Vec<MemoryEntry>,
    addresses: BTreeMap<u16, AddressEntry>,
    /// In the order in which they are done.
    tasks: Vec<Task>,
    /// By the memories that they are in.
    tensors: BTreeMap<u16, Tensor>,
    generation: Generation,
}

impl Loadable {
    /// Reads a loadable. What descriptors mean is looked at when it is run.
    ///
    /// # Errors
    /// [`LoadableError`] when the container is damaged, or its parts do not fit together.
    pub fn parse(bytes: &[u8]) -> Result<Loadable, LoadableError> {
        Loadable::of(&Contents::read(bytes)?)
    }

    /// Fits the parts of a container together.
    ///
    /// # Errors
    /// [`LoadableError`] when they do not fit.
    pub fn of(contents: &Contents) -> Result<Loadable, LoadableError> {
        // What the accelerator reads has the interface's version; raw data has too, for want of another.
        let versions = contents.blobs.iter().map(|blob| blob.version);
        let interface = versions.filter(|version| *version != Version::default()).max();
        let blobs: BTreeMap<&str, &[u8]> =
            contents.blobs.iter().map(|blob| (blob.name.as_str(), &blob.data[..])).collect();
        let mut memories = Vec::new();
        let mut total = 0u64;
        for memory in &contents.memories {
            total = total.saturating_add(memory.size);
            if total > MAX_MEMORY_BYTES {
                return Err(LoadableError::TooLarge { bytes: total, limit: MAX_MEMORY_BYTES });
            }
            memories.push(memory_entry(memory, &blobs)?);
        }
        unique("memory", memories.iter().map(|memory| memory.id))?;
        let mut addresses = BTreeMap::new();
        for &AddressTable { id, memory, offset, size } in &contents.addresses {
            if !memories.iter().any(|entry| entry.id == memory) {
                return Err(dangling("address", id, "memory", memory));
            }
            let entry = AddressEntry { memory, offset, size: Some(size).filter(|size| *size > 0) };
            if addresses.insert(id, entry).is_some() {
                return Err(LoadableError::Twice { part: "address", id });
            }
        }
        let tensor = |memory: &MemoryEntry| Some((memory.id, tensor_of(&contents.tensors, memory)?));
        let tensors = memories.iter().filter_map(tensor).collect();
        let tasks = tasks(contents, &addresses)?;
        let (version, generation) = (contents.version, Generation::Short);
        let mut loadable = Loadable { version, interface, memories, addresses, tasks, tensors, generation };
        loadable.generation = generation::of(&loadable);
        Ok(loadable)
    }

    /// The form of its descriptors, as its own sizes tell it.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns the memories of the loadable, in its order.
    #[must_use]
    pub fn memories(&self) -> &[MemoryEntry] {
        &self.memories
    }

    /// Returns the tasks of the loadable, in the order in which they are done.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The tensor that a memory holds, if the loadable describes one.
    #[must_use]
    pub fn tensor_of(&self, memory: &MemoryEntry) -> Option<&Tensor> {
        self.tensors.get(&memory.id)
    }

    /// The inputs, in the order in which they are bound.
    #[must_use]
    pub fn inputs(&self) -> Vec<&MemoryEntry> {
        self.bound(|memory| memory.is_input)
    }

    /// The outputs, in the order in which they are bound.
    #[must_use]
    pub fn outputs(&self) -> Vec<&MemoryEntry> {
        self.bound(|memory| memory.is_output)
    }

    fn bound(&self, wanted: impl Fn(&MemoryEntry) -> bool) -> Vec<&MemoryEntry> {
        let mut bound: Vec<_> = self.memories.iter().filter(|memory| wanted(memory)).collect();
        bound.sort_by_key(|memory| memory.bind);
        bound
    }

    fn memory(&self, id: u16) -> &MemoryEntry {
        let found = self.memories.iter().find(|memory| memory.id == id);
        found.expect("every address names a memory that is there")
    }

    /// Bytes of memory from an address on. What an entry covers beyond the end of its memory does not count (`loadable.fbs`).
    fn room(&self, entry: AddressEntry) -> u64 {
        let rest = (self.memory(entry.memory).image.len() as u64).saturating_sub(entry.offset);
        entry.size.map_or(rest, |size| rest.min(size))
    }

    /// Returns the entry that an address of a task names; none for a number that says so.
    fn address(
        &self,
        task: &Task,
        index: i16,
        part: &'static str,
    ) -> Result<Option<AddressEntry>, LoadableError> {
        let Ok(at) = usize::try_from(index) else { return Ok(None) };
        let id = task.addresses.get(at).ok_or_else(|| LoadableError::Dangling {
            part,
            id: task.id,
            missing: format!("address {index} of its {}", task.addresses.len()),
        })?;
        Ok(self.addresses.get(id).copied())
    }

    /// Returns the bytes of a list that a task has to have.
    fn list(&self, task: &Task, index: i16, part: &'static str) -> Result<&[u8], LoadableError> {
        let missing = || LoadableError::Dangling { part: "task", id: task.id, missing: part.to_owned() };
        self.bytes(task, index, part)?.ok_or_else(missing)
    }

    /// Returns the bytes that an address of a task holds at first, to the end of its memory.
    fn bytes(&self, task: &Task, index: i16, part: &'static str) -> Result<Option<&[u8]>, LoadableError> {
        let Some(AddressEntry { memory, offset, .. }) = self.address(task, index, part)? else {
            return Ok(None);
        };
        let image = &self.memory(memory).image;
        let rest = usize::try_from(offset).ok().and_then(|offset| image.get(offset..));
        rest.map(Some).ok_or_else(|| LoadableError::Outside {
            what: part.to_owned(),
            offset,
            bytes: 1,
            size: image.len() as u64,
        })
    }
}

fn dangling(part: &'static str, id: u16, of: &str, missing: u16) -> LoadableError {
    LoadableError::Dangling { part, id, missing: format!("{of} {missing}") }
}

fn unique(part: &'static str, ids: impl Iterator<Item = u16>) -> Result<(), LoadableError> {
    let mut seen = std::collections::BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(LoadableError::Twice { part, id });
        }
    }
    Ok(())
}

fn memory_entry(memory: &MemoryTable, blobs: &BTreeMap<&str, &[u8]>) -> Result<MemoryEntry, LoadableError> {
    let &MemoryTable { id, size, flags, .. } = memory;
    let mut image = vec![0; size as usize];
    let mut is_filled = false;
    if flags & MemoryTable::SET != 0 {
        let mut offsets = memory.offsets.iter();
        for name in &memory.contents {
            let offset = offsets.next().copied().unwrap_or_default();
            if name.is_empty() {
                continue;
            }
            let missing =
                || LoadableError::Dangling { part: "memory", id, missing: format!("blob `{name}`") };
            let bytes = blobs.get(name.as_str()).ok_or_else(missing)?;
            let place =
                usize::try_from(offset).ok().and_then(|at| image.get_mut(at..at.checked_add(bytes.len())?));
            let outside = || LoadableError::Outside {
                what: format!("blob `{name}` of memory {id}"),
                offset,
                bytes: bytes.len() as u64,
                size,
            };
            place.ok_or_else(outside)?.copy_from_slice(bytes);
            is_filled |= !bytes.is_empty();
        }
    }
    Ok(MemoryEntry {
        id,
        domain: if memory.domain == 1 { Domain::Sram } else { Domain::Dram },
        image,
        alignment: memory.alignment.into(),
        is_input: flags & MemoryTable::INPUT != 0,
        is_output: flags & MemoryTable::OUTPUT != 0,
        is_filled,
        tensor: memory.tensor,
        bind: memory.bind_id,
    })
}

/// The tensor that a memory names. ONNC gives all outputs the same identifier, and each the memory that it is in.
fn tensor_of(described: &[TensorTable], memory: &MemoryEntry) -> Option<Tensor> {
    let named = || described.iter().filter(|tensor| tensor.id == memory.tensor);
    let own = named().find(|tensor| tensor.memory == memory.id);
    own.or_else(|| named().next_back()).map(tensor)
}

fn tensor(tensor: &TensorTable) -> Tensor {
    let [_, channels, height, width] =
        tensor.dimensions.map(|extent| usize::try_from(extent).unwrap_or_default());
    let [_, line_stride, surface_stride, ..] = tensor.strides.map(|stride| stride as usize);
    Tensor {
        name: tensor.name.clone(),
        size: [width, height, channels],
        element_bytes: match tensor.data_type {
            2 | 3 => Some(2),
            4 => Some(1),
            _ => None,
        },
        is_half: tensor.data_type == 2,
        line_stride,
        surface_stride,
        offset: tensor.offset,
        bytes: tensor.size,
        widest_atom: match tensor.pixel_format {
            TensorTable::FEATURE => ATOMS[1],
            TensorTable::FEATURE_X8 => 8,
            _ => ATOMS[0],
        },
        pixel_bytes: pixel_bytes(tensor),
    }
}

/// Bytes of an image's pixel, if its components lie in the order of channels.
fn pixel_bytes(tensor: &TensorTable) -> Option<usize> {
    use vp_models::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT as format;
    let [_, channels, _, width] = tensor.dimensions;
    let (components, bytes) = match u32::from(tensor.pixel_format) {
        format::T_R8 => (1, 1),
        format::T_R16 | format::T_R16_I | format::T_R16_F => (1, 2),
        format::T_A8B8G8R8 => (4, 4),
        format::T_A16B16G16R16 | format::T_A16B16G16R16_F => (4, 8),
        _ => return None,
    };
    let line = u64::try_from(width).ok()?.checked_mul(bytes as u64)?;
    // A format of no meaning is often left at 0, which is that of one component.
    let is_line = match components {
        1 => tensor.strides[1] == line.next_multiple_of(64) as u32,
        _ => u64::from(tensor.strides[1]) >= line,
    };
    let is_image =
        tensor.data_category == TensorTable::CATEGORY_IMAGE && (1..=components).contains(&channels);
    (is_image && is_line).then_some(bytes)
}

/// The tasks, in the order in which the submits name them.
fn tasks(contents: &Contents, addresses: &BTreeMap<u16, AddressEntry>) -> Result<Vec<Task>, LoadableError> {
    let mut all = BTreeMap::new();
    for task in &contents.tasks {
        let id = task.id;
        let processor = match task.interface {
            0 => continue,
            1 => Processor::Accelerator,
            2 => Processor::Cpu,
            interface => {
                return Err(LoadableError::Descriptor {
                    place: format!("task {id}"),
                    field: "interface",
                    value: interface.into(),
                    expected: "and only 1 (the accelerator) and 2 (the CPU) are known",
                });
            }
        };
        if let Some(missing) = task.addresses.iter().find(|address| !addresses.contains_key(address)) {
            return Err(dangling("task", id, "address", *missing));
        }
        let entry = Task { id, processor, addresses: task.addresses.as_slice().into() };
        if all.insert(id, entry).is_some() {
            return Err(LoadableError::Twice { part: "task", id });
        }
    }
    let mut submits: Vec<&SubmitTable> = contents.submits.iter().collect();
    submits.sort_by_key(|submit| submit.id);
    let mut ordered = Vec::new();
    for submit in submits {
        for id in &submit.tasks {
            if ordered.len() == MAX_TASKS {
                return Err(LoadableError::TooManyTasks { limit: MAX_TASKS });
            }
            let missing = || dangling("submit", submit.id, "task", *id);
            ordered.push(all.get(id).ok_or_else(missing)?.clone());
        }
    }
    Ok(ordered)
}
