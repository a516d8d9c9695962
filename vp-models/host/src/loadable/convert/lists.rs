//! The lists of a loadable's tasks, rewritten in its blobs.

use std::collections::BTreeMap;

use super::super::contents::{AddressTable, Contents};
use super::super::cpu;
use super::super::fit::MAX_OPERATIONS;
use super::super::layout::{self, read};
use super::super::network::{self, OperationKind, OperationWork};
use super::super::{AddressEntry, Generation, Loadable, LoadableError, Task};
use super::{ConvertError, MAX_ADDRESSES, RelocationTable};

/// Names of lists in errors.
const NETWORK: &str = "the network descriptor";
const SURFACES: &str = "the list of surfaces";
const OPERATIONS: &str = "the CPU's operations";
const BUFFERS: &str = "the CPU's buffers";

/// Bytes of a buffer of the CPU, of which an operation has two.
const BUFFER: usize = layout::CPU_BUFFER / 2;
/// Offset of `num_addresses` in the network descriptor.
const NUM_ADDRESSES: u64 = 34;
/// `type` of the memory of a cube that passes from unit to unit.
const ON_THE_FLY: [u8; 2] = [2, 0];

/// Bytes at a place of a blob.
struct Edit {
    task: u16,
    list: &'static str,
    bytes: Vec<u8>,
}

/// Part of a memory in which strides may stand: each byte has a place in the other form, or none.
struct Moved {
    memory: u16,
    /// Offset in the memory, and number of bytes.
    begin: u64,
    bytes: u64,
    /// The kinds of the operations, in order; of buffers none.
    kinds: Option<Vec<OperationKind>>,
}

pub(super) struct Conversion<'a> {
    loadable: &'a Loadable,
    contents: &'a mut Contents,
    to: Generation,
    /// By blob, and offset in it.
    edits: BTreeMap<(usize, usize), Edit>,
    moved: Vec<Moved>,
    /// Addresses that were added, by the task, the address and the offset from it.
    added: BTreeMap<(u16, i16, u32), i16>,
    /// Number of operations that may still come.
    left: usize,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(loadable: &'a Loadable, contents: &'a mut Contents, to: Generation) -> Conversion<'a> {
        let (edits, added) = (BTreeMap::new(), BTreeMap::new());
        Conversion { loadable, contents, to, edits, moved: Vec::new(), added, left: MAX_OPERATIONS }
    }

    /// Rewrites the surfaces of a task.
    pub(super) fn accelerator(&mut self, task: &Task) -> Result<(), ConvertError> {
        let from = self.to.other();
        let lists = network::lists(self.loadable, task, from)?;
        self.take(lists.count())?;
        let (old, before) = (lists.surfaces(), self.addresses(task).len());
        let mut new = Vec::new();
        let mut kinds = Vec::new();
        for at in 0..lists.count() {
            let operation = lists.operation(at)?;
            new.resize(at * layout::SURFACE, 0);
            let surface = &old[at * layout::SURFACE..];
            let surface = &surface[..surface.len().min(layout::SURFACE)];
            let place = format!("operation {at} ({})", operation.kind);
            new.extend(self.surface((task, place), &operation.what, surface)?);
            kinds.push(operation.kind);
        }
        if kinds.is_empty() {
            return Ok(());
        }
        let length = old.len().min(lists.count() * layout::SURFACE);
        new.resize(new.len().max(length), 0);
        let entry = self.entry(task, lists.surface_index(), SURFACES)?;
        self.put((task, SURFACES), entry, length, new)?;
        let (memory, begin) = (entry.memory, entry.offset);
        self.moved.push(Moved { memory, begin, bytes: length as u64, kinds: Some(kinds) });
        let added = self.addresses(task).len() - before;
        if added > 0 {
            self.count_addresses(task, added)?;
        }
        Ok(())
    }

    /// Counts operations: many tasks may name the same list.
    fn take(&mut self, operations: usize) -> Result<(), LoadableError> {
        let too_many = LoadableError::TooManyOperations { limit: MAX_OPERATIONS };
        self.left = self.left.checked_sub(operations).ok_or(too_many)?;
        Ok(())
    }

    /// A surface in the other form, as far as it means something.
    fn surface(
        &mut self,
        (task, place): (&Task, String),
        what: &OperationWork,
        old: &[u8],
    ) -> Result<Vec<u8>, ConvertError> {
        let (from, to) = (self.to.other().cube_bytes(), self.to.cube_bytes());
        let used = what.used_cubes();
        let mut new = Vec::new();
        // That they are there was seen when the operation was read.
        for (cube, &is_used) in old.chunks_exact(from).zip(&used) {
            let (head, rest) = cube.split_at(4);
            match self.to {
                Generation::Long => new.extend([head, &[0; 4], rest].concat()),
                Generation::Short => {
                    let mut head = head.to_vec();
                    let (offset, rest) = rest.split_at(4);
                    let offset = u32::from_le_bytes([offset[0], offset[1], offset[2], offset[3]]);
                    if is_used && head[..2] != ON_THE_FLY {
                        let index = i16::from_le_bytes([head[2], head[3]]);
                        let index = self.address(task, index, offset, &place)?;
                        head[2..].copy_from_slice(&index.to_le_bytes());
                    }
                    new.extend([&head, rest].concat());
                }
            }
        }
        let behind = used.len() * from;
        let tail = match what {
            OperationWork::Bdma(_) => old,
            // The offset of a second plane, and its stride.
            OperationWork::Convolution { .. } => &old[behind..behind + 12],
            _ => &[],
        };
        new.extend(tail);
        debug_assert_eq!(new.len(), used.len() * to + tail.len());
        Ok(new)
    }

    /// Number of the address so many bytes behind another one, in its task's list.
    fn address(&mut self, task: &Task, index: i16, offset: u32, place: &str) -> Result<i16, ConvertError> {
        if offset == 0 {
            return Ok(index);
        }
        let Some(AddressEntry { memory, offset: base, size }) =
            self.loadable.address(task, index, "operation")?
        else {
            return Ok(index);
        };
        if let Some(known) = self.added.get(&(task.id, index, offset)) {
            return Ok(*known);
        }
        let room = self.loadable.room(AddressEntry { memory, offset: base, size });
        let outside =
            || LoadableError::Outside { what: place.to_owned(), offset: offset.into(), bytes: 1, size: room };
        let size = size.map(|size| size.saturating_sub(offset.into()));
        if u64::from(offset) >= room {
            return Err(outside().into());
        }
        let largest = self.contents.addresses.iter().map(|address| address.id).max();
        let next = largest.map_or(Some(0), |id| id.checked_add(1));
        let id = next.ok_or(ConvertError::AddressNumbers)?;
        let offset_there = base.checked_add(offset.into()).ok_or_else(outside)?;
        let table = AddressTable { id, memory, offset: offset_there, size: size.unwrap_or_default() };
        self.contents.addresses.push(table);
        let number = self.addresses(task).len();
        if number >= MAX_ADDRESSES {
            return Err(ConvertError::Addresses { task: task.id, count: number + 1 });
        }
        let of_task = self.contents.tasks.iter_mut().filter(|table| table.id == task.id);
        of_task.for_each(|table| table.addresses.push(id));
        self.added.insert((task.id, index, offset), number as i16);
        Ok(number as i16)
    }

    fn addresses(&self, task: &Task) -> &[u16] {
        let found = self.contents.tasks.iter().find(|table| table.id == task.id);
        found.map_or(&[], |table| &table.addresses)
    }

    /// Tells the network descriptor how many addresses there are.
    fn count_addresses(&mut self, task: &Task, added: usize) -> Result<(), ConvertError> {
        let mut entry = self.entry(task, 0, NETWORK)?;
        let bytes = self.loadable.bytes(task, 0, NETWORK)?.unwrap_or_default();
        let Some(network) = read::<layout::Network>(bytes) else { return Ok(()) };
        let count = network.num_addresses.get().saturating_add(added as u16);
        entry.offset += NUM_ADDRESSES;
        self.put((task, NETWORK), entry, 2, count.to_le_bytes().to_vec())
    }

    /// Rewrites the operations and buffers of a task of the CPU.
    pub(super) fn cpu(&mut self, task: &Task) -> Result<(), ConvertError> {
        let cpu::Lists { operations, buffers, count, places } = cpu::lists(self.loadable, task)?;
        if count == 0 {
            return Ok(());
        }
        if self.to == Generation::Short && count > 1 {
            // `Emulator.cpp`, `processTask`, before interface 0.12.
            let (place, what) = (format!("task {}", task.id), format!("{count} CPU operations in a task"));
            return Err(ConvertError::Unsayable { place, what });
        }
        self.take(count)?;
        let [from, to] = [self.to.other(), self.to].map(cpu::Entry::of);
        let mut new = Vec::new();
        for number in 0..count {
            let [kind] = cpu::field::<1>(operations, number * from.bytes, OPERATIONS)?;
            if kind > cpu::SOFTMAX {
                let place = format!("CPU operation {number} of task {}", task.id);
                let what = format!("operation type {kind}");
                return Err(LoadableError::NotModelled { place, what }.into());
            }
            new.push(kind);
            new.resize(number * to.bytes + to.parameters, 0);
            if self.to == Generation::Long {
                let at = number * to.bytes + to.parameters - 8;
                new[at..].copy_from_slice(&[1.0f32.to_le_bytes(), 1.0f32.to_le_bytes()].concat());
            }
            let rest = operations.get(number * from.bytes + from.parameters..).unwrap_or_default();
            let parameters = from.bytes.saturating_sub(from.parameters).min(to.bytes - to.parameters);
            new.extend(&rest[..rest.len().min(parameters)]);
            new.resize((number + 1) * to.bytes, 0);
        }
        let length = operations.len().min(count * from.bytes);
        let [operations_at, buffers_at] = places;
        let entry = self.entry(task, operations_at, OPERATIONS)?;
        new.resize(new.len().max(length), 0);
        self.put((task, OPERATIONS), entry, length, new)?;
        let entry = self.entry(task, buffers_at, BUFFERS)?;
        let length = buffers.len().min(count * layout::CPU_BUFFER);
        let mut new = Vec::new();
        for number in 0..2 * count {
            new.resize(number * BUFFER, 0);
            new.extend(self.buffer(task, buffers, number)?);
        }
        new.resize(new.len().max(length), 0);
        self.put((task, BUFFERS), entry, length, new)?;
        let (memory, begin) = (entry.memory, entry.offset);
        self.moved.push(Moved { memory, begin, bytes: length as u64, kinds: None });
        Ok(())
    }

    fn buffer(&mut self, task: &Task, buffers: &[u8], number: usize) -> Result<Vec<u8>, ConvertError> {
        let at = number * BUFFER;
        match self.to {
            Generation::Long => {
                let old = cpu::field::<22>(buffers, at, BUFFERS)?;
                // The older CPU takes halves alone.
                let format = cpu::halves(self.to).to_le_bytes();
                Ok([&old[..2], &[0; 4], &old[2..6], &format, &old[8..]].concat())
            }
            Generation::Short => {
                let old = cpu::field::<26>(buffers, at, BUFFERS)?;
                let place = format!("CPU operation {} of task {}", number / 2, task.id);
                let (format, known) = (u16::from_le_bytes([old[10], old[11]]), cpu::halves(self.to.other()));
                if format != known {
                    let what = format!("a buffer of format {format}, and {known} is fp16");
                    return Err(ConvertError::Unsayable { place, what });
                }
                let index = i16::from_le_bytes([old[0], old[1]]);
                let offset = u32::from_le_bytes([old[2], old[3], old[4], old[5]]);
                let index = self.address(task, index, offset, &place)?;
                let format = cpu::halves(self.to).to_le_bytes();
                Ok([&index.to_le_bytes(), &old[6..10], &format, &old[12..]].concat())
            }
        }
    }

    fn entry(&self, task: &Task, index: i16, list: &'static str) -> Result<AddressEntry, LoadableError> {
        let missing = || LoadableError::Dangling { part: "task", id: task.id, missing: list.to_owned() };
        self.loadable.address(task, index, list)?.ok_or_else(missing)
    }

    /// Puts bytes into the blob that holds these of a memory; more of them, where the list is all of its blob and memory.
    fn put(
        &mut self,
        (task, list): (&Task, &'static str),
        entry: AddressEntry,
        bytes: usize,
        new: Vec<u8>,
    ) -> Result<(), ConvertError> {
        let spread = ConvertError::Spread { task: task.id, list };
        let (blob, at) = self.blob(entry, bytes).ok_or_else(|| spread.clone())?;
        if new.len() > bytes {
            let is_whole = at == 0 && self.contents.blobs[blob].data.len() == bytes;
            let id = entry.memory;
            let Some(memory) = self.contents.memories.iter_mut().find(|memory| memory.id == id) else {
                return Err(spread);
            };
            let named = memory.contents.iter().filter(|name| !name.is_empty()).count();
            if !is_whole || named > 1 {
                return Err(spread);
            }
            memory.size = memory.size.max(entry.offset + new.len() as u64);
            let there =
                self.contents.addresses.iter_mut().filter(|address| {
                    (address.memory, address.offset) == (id, entry.offset) && address.size > 0
                });
            there.for_each(|address| address.size = address.size.max(new.len() as u64));
        }
        let shared = ConvertError::Shared { task: task.id, list };
        if let Some(known) = self.edits.get(&(blob, at)) {
            return if known.bytes == new { Ok(()) } else { Err(shared) };
        }
        self.edits.insert((blob, at), Edit { task: task.id, list, bytes: new });
        Ok(())
    }

    /// The blob that has so many bytes from there on, and where in it they are. Of several that lie over each other, the last counts.
    fn blob(&self, entry: AddressEntry, bytes: usize) -> Option<(usize, usize)> {
        let memory = self.contents.memories.iter().find(|memory| memory.id == entry.memory)?;
        let (begin, end) = (entry.offset, entry.offset.checked_add(bytes as u64)?);
        let offsets = memory.offsets.iter().copied().chain(std::iter::repeat(0));
        let named: Vec<(&String, u64)> = memory.contents.iter().zip(offsets).collect();
        for (name, at) in named.into_iter().rev().filter(|(name, _)| !name.is_empty()) {
            let blob = self.contents.blobs.iter().rposition(|blob| blob.name == *name)?;
            let behind = at.checked_add(self.contents.blobs[blob].data.len() as u64)?;
            if behind <= begin || at >= end {
                continue;
            }
            let is_within = at <= begin && end <= behind;
            return is_within.then(|| (blob, (begin - at) as usize));
        }
        None
    }

    /// Makes the changes, and has relocations follow them.
    pub(super) fn write(self) -> Result<(), ConvertError> {
        let Conversion { contents, to, edits, moved, .. } = self;
        let mut behind = (0, 0);
        for ((number, at), Edit { task, list, bytes }) in edits {
            if number == behind.0 && at < behind.1 {
                return Err(ConvertError::Shared { task, list });
            }
            let end = at + bytes.len();
            behind = (number, end);
            let blob = &mut contents.blobs[number];
            if blob.data.len() < end {
                blob.data.resize(end, 0);
                blob.size = blob.size.max(end as u64);
            }
            blob.data[at..end].copy_from_slice(&bytes);
        }
        for (number, relocation) in contents.relocations.iter_mut().enumerate() {
            let RelocationTable { write: memory, offset, .. } = *relocation;
            let is_in =
                |it: &&Moved| it.memory == memory && offset >= it.begin && offset - it.begin < it.bytes;
            if let Some(list) = moved.iter().find(is_in) {
                let place = list.place(offset - list.begin, to).map(|place| place + list.begin);
                relocation.offset = place.ok_or(ConvertError::Relocation { number, memory, offset })?;
            }
        }
        Ok(())
    }
}

impl Moved {
    /// Place of a byte of the list in the other form.
    fn place(&self, offset: u64, to: Generation) -> Option<u64> {
        // Bytes before an offset stand where they stood.
        let shifted = |at: u64, before: u64| match to {
            _ if at < before => Some(at),
            Generation::Long => Some(at + 4),
            Generation::Short => (at >= before + 4).then(|| at - 4),
        };
        let Some(kinds) = &self.kinds else {
            let buffer = BUFFER as u64;
            return Some(offset / buffer * buffer + shifted(offset % buffer, 2)?);
        };
        let [surface, from, to_bytes] =
            [layout::SURFACE, to.other().cube_bytes(), to.cube_bytes()].map(|bytes| bytes as u64);
        let (begin, within) = (offset / surface * surface, offset % surface);
        let cubes = count_of_cubes(*kinds.get(usize::try_from(offset / surface).ok()?)?) as u64;
        let place = match within / from {
            number if number < cubes => number * to_bytes + shifted(within % from, 4)?,
            _ => within - cubes * from + cubes * to_bytes,
        };
        Some(begin + place)
    }
}

/// Number of cubes of a kind of operation.
const fn count_of_cubes(kind: OperationKind) -> usize {
    match kind {
        OperationKind::Bdma => 0,
        OperationKind::Convolution | OperationKind::Sdp => 5,
        OperationKind::Pdp | OperationKind::Cdp | OperationKind::Rubik => 2,
    }
}
