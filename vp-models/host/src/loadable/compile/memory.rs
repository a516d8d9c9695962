//! Memory of a loadable, and the addresses that its descriptors name.
//!
//! The plan's memories become one pool each, which constants fill in part. Input and outputs, which the runtime binds, have memories of
//! their own: the plan gives their place to nobody else.

use super::descriptors::{CubeDescriptor, Place};
use super::error::CompileError;
use crate::Memory;
use crate::loadable::Generation;
use crate::loadable::contents::{AddressTable, BlobTable, Contents, MemoryTable};
use crate::network::{MemoryAddress, PlacedTensor, Plan};
use std::collections::HashMap;
use std::ops::Range;
use vp_models::nvdla::cube::Ram;

/// Number of which all addresses are a multiple: a page.
pub(super) const ALIGNMENT: u32 = 4096;

/// Part of the plan's memories that is one of the loadable's.
#[derive(Clone, Debug)]
struct Region {
    memory: Memory,
    addresses: Range<u64>,
    /// Number of the loadable's memory.
    id: u16,
}

/// Memories of a loadable.
#[derive(Clone, Debug)]
pub(super) struct LoadableMemory {
    /// Input and outputs first: what they have, pools have not.
    regions: Vec<Region>,
    generation: Generation,
    /// Addresses of the accelerator's data, by memory and offset.
    known: HashMap<(u16, u64), u16>,
}

impl LoadableMemory {
    /// Memories of a plan, whose constants become blobs; `outputs` are the names of its outputs.
    pub(super) fn of<'a>(
        plan: &Plan,
        outputs: impl Iterator<Item = &'a str>,
        generation: Generation,
        contents: &mut Contents,
    ) -> Result<LoadableMemory, CompileError> {
        let mut memory = LoadableMemory { regions: Vec::new(), generation, known: HashMap::new() };
        memory.end(contents, plan, ("input", plan.input.place), (MemoryTable::INPUT, 0))?;
        for (number, (name, output)) in outputs.zip(&plan.outputs).enumerate() {
            memory.end(contents, plan, (name, output.place), (MemoryTable::OUTPUT, number as u16))?;
        }
        for (kind, bytes) in [(Memory::Primary, plan.bytes), (Memory::Secondary, plan.sram_bytes)] {
            if bytes > 0 {
                memory.pool(contents, plan, kind, bytes);
            }
        }
        Ok(memory)
    }

    /// The memory of input or of an output, with all that the plan has beside it, such as room for whole tiles.
    fn end(
        &mut self,
        contents: &mut Contents,
        plan: &Plan,
        (name, place): (&str, MemoryAddress),
        (flag, bind_id): (u16, u16),
    ) -> Result<(), CompileError> {
        let is_whole = |tensor: &&PlacedTensor| tensor.place == place;
        let refused = |why| CompileError::Output { layer: name.to_owned(), why };
        let whole = plan.tensors.iter().find(is_whole);
        let whole = whole.ok_or_else(|| refused("is a part of another cube, and not its beginning"))?;
        let addresses = place.address..place.address + whole.bytes;
        if self.regions.iter().any(|region| region.memory == place.memory && region.addresses == addresses) {
            return Err(refused("has the memory of another output or of the input"));
        }
        let id = contents.memories.len() as u16;
        contents.memories.push(MemoryTable {
            id,
            domain: domain(place.memory),
            flags: MemoryTable::ALLOC | flag,
            size: whole.bytes,
            alignment: ALIGNMENT,
            bind_id,
            tensor: id,
            ..MemoryTable::default()
        });
        self.regions.push(Region { memory: place.memory, addresses, id });
        Ok(())
    }

    fn pool(&mut self, contents: &mut Contents, plan: &Plan, kind: Memory, bytes: u64) {
        let id = contents.memories.len() as u16;
        let constants = plan.constants.iter().filter(|constant| constant.place.memory == kind);
        let (mut names, mut offsets) = (Vec::new(), Vec::new());
        for constant in constants {
            // The runtime fills a memory again before each inference if its blob's name has this in it (`Runtime.cpp`, `submitInternal`).
            let what = constant.what.replace("dep_graph", "dep-graph");
            let name = format!("constant-{} {what}", contents.blobs.len());
            offsets.push(constant.place.address);
            contents.blobs.push(BlobTable {
                name: name.clone(),
                size: constant.bytes.len() as u64,
                data: constant.bytes.clone(),
                ..BlobTable::default()
            });
            names.push(name);
        }
        let set = if names.is_empty() { 0 } else { MemoryTable::SET };
        contents.memories.push(MemoryTable {
            id,
            domain: domain(kind),
            flags: MemoryTable::ALLOC | set,
            size: bytes,
            alignment: ALIGNMENT,
            contents: names,
            offsets,
            ..MemoryTable::default()
        });
        self.regions.push(Region { memory: kind, addresses: 0..bytes, id });
    }

    /// Bases of the memories in the plan, for what the driver makes of the descriptors.
    pub(super) fn bases(&self) -> impl Iterator<Item = (u16, u64, Memory)> + '_ {
        self.regions.iter().map(|region| (region.id, region.addresses.start, region.memory))
    }

    /// The address that a cube lies at, and the cube's offset from there; none where it lies in no memory.
    pub(super) fn address(
        &mut self,
        contents: &mut Contents,
        cube: &CubeDescriptor,
    ) -> Result<Option<(u16, u64)>, CompileError> {
        let Place::Memory(ram, at) = cube.place else { return Ok(None) };
        match self.generation {
            // Such cubes have no offset.
            Generation::Short => Ok(Some((self.exact(contents, (ram, at), cube.bytes.into())?, 0))),
            Generation::Long => {
                let Region { id, addresses, .. } = self.region((ram, at))?.clone();
                let size = addresses.end - addresses.start;
                Ok(Some((self.known(contents, (id, 0), size)?, at - addresses.start)))
            }
        }
    }

    /// The address of a place, of which so many bytes are used.
    pub(super) fn exact(
        &mut self,
        contents: &mut Contents,
        place: (Ram, u64),
        bytes: u64,
    ) -> Result<u16, CompileError> {
        let Region { id, addresses, .. } = self.region(place)?.clone();
        self.known(contents, (id, place.1 - addresses.start), bytes.min(addresses.end - place.1))
    }

    fn region(&self, (ram, address): (Ram, u64)) -> Result<&Region, CompileError> {
        let memory = if ram == Ram::Primary { Memory::Primary } else { Memory::Secondary };
        let has = |region: &&Region| region.memory == memory && region.addresses.contains(&address);
        self.regions.iter().find(has).ok_or(CompileError::Outside { address })
    }

    /// The address of an offset in a memory, which covers at least so many bytes.
    fn known(
        &mut self,
        contents: &mut Contents,
        (memory, offset): (u16, u64),
        bytes: u64,
    ) -> Result<u16, CompileError> {
        if let Some(&id) = self.known.get(&(memory, offset)) {
            let entry = &mut contents.addresses[usize::from(id)];
            entry.size = entry.size.max(bytes);
            return Ok(id);
        }
        let id = add_address(contents, memory, offset, bytes)?;
        self.known.insert((memory, offset), id);
        Ok(id)
    }
}

/// Adds an address; gives its number, which is its place in the list.
pub(super) fn add_address(
    contents: &mut Contents,
    memory: u16,
    offset: u64,
    size: u64,
) -> Result<u16, CompileError> {
    let found = contents.addresses.len();
    let id = u16::try_from(found).map_err(|_| CompileError::Addresses { found })?;
    contents.addresses.push(AddressTable { id, memory, offset, size });
    Ok(id)
}

fn domain(memory: Memory) -> u8 {
    match memory {
        Memory::Primary => 0,
        Memory::Secondary => 1,
    }
}
