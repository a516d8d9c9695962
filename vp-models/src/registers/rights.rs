//! Effects of a bus access on one register's word.

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
    /// Returns the rights of a register.
    pub fn of(register: &Register, family: Family) -> Rights {
        let cleared = register.fields.iter().filter(|field| field.access == Access::WriteOneToClear);
        Rights {
            readable: register.mask(family, |access| access != Access::WriteOnly),
            writable: register.mask(family, |access| matches!(access, Access::ReadWrite | Access::WriteOnly)),
            cleared: cleared.map(|field| field.bits(family)).collect(),
        }
    }

    /// Returns true if a write changes nothing, whatever is written.
    pub fn is_read_only(&self) -> bool {
        self.writable == 0 && self.cleared.is_empty()
    }

    /// The word after a write of `value`.
    pub fn write(&self, word: u32, value: u32) -> u32 {
        let hit = self.cleared.iter().filter(|bits| value & bits.mask() != 0);
        let cleared = hit.fold(0, |mask, bits| mask | bits.mask());
        ((word & !self.writable) | (value & self.writable)) & !cleared
    }

    /// Returns the bits of the word that a read shows.
    pub fn read(&self, word: u32) -> u32 {
        word & self.readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unreachable_pub, reason = "tables are for everybody")]
    mod table {
        registers! {
            unit "TEST";
            /// Three fields.
            STATUS @ 0x00 single w1c {
                /// Several bits.
                CODE [3:0] = 0;
                /// One.
                ONE [4] = 0;
                /// One that is kept.
                KEPT [5]: rw = 0;
            }
        }
    }

    #[test]
    fn a_field_of_several_bits_is_cleared_as_a_whole() {
        let rights = Rights::of(table::REGISTERS[0], Family::Small);
        assert_eq!(rights.write(0x1f, 0x02), 0x10);
        assert_eq!(rights.write(0x3f, 0x30), 0x2f);
        assert_eq!(rights.write(0x1f, 0x20), 0x3f);
        assert_eq!((rights.read(u32::MAX), rights.is_read_only()), (0x3f, false));
    }
}
