//! Lists of a task, each a blob in a memory of its own.

use super::error::CompileError;
use super::memory::{ALIGNMENT, LoadableMemory, add_address};
use crate::loadable::contents::{BlobTable, Contents, MemoryTable, TaskTable};
use crate::loadable::{Generation, Processor, Version};

/// Most addresses of a task (`Runtime.cpp`: NVDLA_RUNTIME_... 6144).
const MOST_ADDRESSES: usize = 6144;

/// Kind of a list, as the format counts those of both processors.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListKind {
    /// The network descriptor.
    Network = 1,
    Dependencies = 2,
    Operations = 3,
    /// Surfaces, or the CPU's buffers.
    Surfaces = 4,
    Tables = 5,
}

/// Lists of a task, as they are written.
pub(super) struct Lists<'a> {
    pub(super) contents: &'a mut Contents,
    pub(super) memory: &'a mut LoadableMemory,
    pub(super) generation: Generation,
    processor: Processor,
    /// Addresses of the task.
    pub(super) addresses: Vec<u16>,
}

impl<'a> Lists<'a> {
    /// No lists yet, of the task that is the next.
    pub(super) fn new(
        contents: &'a mut Contents,
        memory: &'a mut LoadableMemory,
        generation: Generation,
        processor: Processor,
    ) -> Lists<'a> {
        Lists { contents, memory, generation, processor, addresses: Vec::new() }
    }

    /// Adds a list, and its address as the task's next.
    pub(super) fn list(&mut self, name: &str, kind: ListKind, bytes: &[u8]) -> Result<(), CompileError> {
        let address = self.stored(name, kind, bytes)?;
        self.addresses.push(address);
        Ok(())
    }

    /// Stores a list in a memory of its own, because the driver takes it from the memory's beginning (`dla_data_read`).
    pub(super) fn stored(&mut self, name: &str, kind: ListKind, bytes: &[u8]) -> Result<u16, CompileError> {
        let name = format!("task-{}-{name}", self.contents.tasks.len());
        let (id, size) = (self.contents.memories.len() as u16, bytes.len() as u64);
        let version = match self.processor {
            Processor::Accelerator => self.generation.interface(),
            // The emulator's own, in both forms (`emu_version.h`).
            Processor::Cpu => Version(0, 0, 1),
        };
        self.contents.blobs.push(BlobTable {
            name: name.clone(),
            size,
            interface: self.interface(),
            sub_interface: kind as u32,
            version,
            data: bytes.to_vec(),
        });
        self.contents.memories.push(MemoryTable {
            id,
            flags: MemoryTable::ALLOC | MemoryTable::SET,
            size,
            alignment: ALIGNMENT,
            contents: vec![name],
            offsets: vec![0],
            ..MemoryTable::default()
        });
        add_address(self.contents, id, 0, size)
    }

    /// The task's number of an address.
    pub(super) fn number(&mut self, address: u16) -> i16 {
        let known = self.addresses.iter().position(|&known| known == address);
        known.unwrap_or_else(|| {
            self.addresses.push(address);
            self.addresses.len() - 1
        }) as i16
    }

    /// Adds the task, whose lists are all there.
    pub(super) fn finish(self) -> Result<(), CompileError> {
        if self.addresses.len() > MOST_ADDRESSES {
            return Err(CompileError::Addresses { found: self.addresses.len() });
        }
        let (id, interface) = (self.contents.tasks.len() as u16, self.interface());
        let addresses = self.addresses;
        self.contents.tasks.push(TaskTable {
            id,
            interface,
            instance: -1,
            addresses,
            ..TaskTable::default()
        });
        Ok(())
    }

    fn interface(&self) -> u32 {
        match self.processor {
            Processor::Accelerator => 1,
            Processor::Cpu => 2,
        }
    }
}
