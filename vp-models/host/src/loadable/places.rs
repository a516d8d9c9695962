//! Addresses of the memory of a loadable.

use super::error::LoadableError;
use super::network::{Cube, TensorPlace};
use super::{AddressEntry, Domain, Loadable, MAX_MEMORY_BYTES};
use crate::Memory;
use std::collections::BTreeMap;
use vp_models::nvdla::cube::{Packing, Ram, Surface};
use vp_models::nvdla::registers::RegisterMap;

/// Address from which memory is allotted: that of the vendor's driver's pool.
pub(super) const DRAM: u64 = 0xc000_0000;
/// Address at which SRAMs begin.
const SRAM: u64 = 0x5000_0000;
/// Number of which addresses are at least a multiple.
const PAGE: u64 = 4096;

/// Places of everything of a loadable.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) map: RegisterMap,
    /// Bytes of an atom of this hardware.
    pub(super) atom: u32,
    bases: BTreeMap<u16, (u64, Domain)>,
}

impl Places {
    pub(super) fn allot(loadable: &Loadable, map: RegisterMap, atom: u32) -> Result<Places, LoadableError> {
        Places::allot_from(DRAM, loadable, map, atom)
    }

    /// Allots memory, that of the primary interface from an address on.
    pub(super) fn allot_from(
        start: u64,
        loadable: &Loadable,
        map: RegisterMap,
        atom: u32,
    ) -> Result<Places, LoadableError> {
        let (mut dram, mut sram) = (start, SRAM);
        let mut bases = BTreeMap::new();
        for memory in loadable.memories() {
            let next = if memory.domain == Domain::Dram { &mut dram } else { &mut sram };
            let base = next.next_multiple_of(memory.alignment.clamp(PAGE, MAX_MEMORY_BYTES));
            bases.insert(memory.id, (base, memory.domain));
            *next = base.saturating_add(memory.image.len() as u64);
        }
        let bytes = (dram - start).max(sram - SRAM);
        if bytes > MAX_MEMORY_BYTES {
            return Err(LoadableError::TooLarge { bytes, limit: MAX_MEMORY_BYTES });
        }
        Ok(Places { map, atom, bases })
    }

    /// Places of a loadable whose memories are at these addresses.
    pub(super) fn at(map: RegisterMap, atom: u32, bases: impl Iterator<Item = (u16, u64, Memory)>) -> Places {
        let domain = |memory| if memory == Memory::Secondary { Domain::Sram } else { Domain::Dram };
        let bases = bases.map(|(id, base, memory)| (id, (base, domain(memory)))).collect();
        Places { map, atom, bases }
    }

    /// A cube's address and its `RAM_TYPE`; what passes from unit to unit has none.
    pub(super) fn of(&self, cube: &Cube) -> (u64, u32) {
        match cube.place {
            TensorPlace::Memory(entry) => self.address(entry),
            TensorPlace::OnTheFly => (0, 0),
            TensorPlace::None => (0, 1),
        }
    }

    /// Returns a cube's place and strides as the engines know them.
    pub(super) fn surface(&self, cube: &Cube) -> Surface {
        let ((base, ram), &Cube { line_stride, surface_stride, .. }) = (self.of(cube), cube);
        let (ram, packing) = (Ram::from_field(ram), Packing::Strided);
        Surface { ram, base, line_stride, surface_stride, pixel: self.atom, atom: self.atom, packing }
    }

    /// Returns an entry's address and its `RAM_TYPE`.
    pub(super) fn address(&self, entry: AddressEntry) -> (u64, u32) {
        match self.bases.get(&entry.memory) {
            Some(&(base, domain)) => (base.wrapping_add(entry.offset), (domain == Domain::Dram).into()),
            None => (0, 1),
        }
    }

    pub(super) fn memory(&self, entry: AddressEntry) -> Memory {
        match self.bases.get(&entry.memory) {
            Some((_, Domain::Sram)) => Memory::Secondary,
            _ => Memory::Primary,
        }
    }
}
