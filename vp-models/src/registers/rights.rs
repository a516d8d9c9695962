//! What a bus access does to one register's word.

use super::{Access, Bits, Family, Register};

/// The bits of one register by what software may do with them; those of no field read as zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Bits that a read shows.
    pub readable: u32,
    /// Bits that take what is written.
    pub writable: u32,
    /// Fields of which a 1 written to any bit clears all.
    cleared: Box<[Bits]>,
}

impl Rights {
    /// Those of a register.
    pub fn of(register: &Register, family: Family) -> Rights {
        let cleared = register.fields.iter().filter(|field| field.access == Access::WriteOneToClear);
        Rights {
            readable: register.mask(family, |access| access != Access::WriteOnly),
            writable: register.mask(family, |access| matches!(access, Access::ReadWrite | Access::WriteOnly)),
            cleared: cleared.map(|field| field.bits(family)).collect(),
        }
    }

    /// Whether a write changes nothing, whatever is written.
    pub fn is_read_only(&self) -> bool {
        self.writable == 0 && self.cleared.is_empty()
    }

    /// The word after a write of `value`.
    pub fn write(&self, word: u32, value: u32) -> u32 {
        let hit = self.cleared.iter().filter(|bits| value & bits.mask() != 0);
        let cleared = hit.fold(0, |mask, bits| mask | bits.mask());
        ((word & !self.writable) | (value & self.writable)) & !cleared
    }

    /// What a read of the word shows.
    pub fn read(&self, word: u32) -> u32 {
        word & self.readable
    }
}
