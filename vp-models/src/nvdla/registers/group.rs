//! The register values one hardware layer sees.

use super::{Encoding, Family, FieldRef, RegisterMap, RegisterRef, Unit};
use crate::checkpoint::{Checkpoint, CheckpointError};

/// One unit's registers as a layer sees them: its group's `D_` registers and the unit's single ones.
///
/// Layers are decoded from this type. It applies no access rules (the register file does); a test builds one
/// with [`Group::new`] and [`Group::set`]. Asking for a field of another unit is a mistake in the model: it
/// is caught by an assertion in debug builds and reads 0 in release builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    unit: Unit,
    family: Family,
    words: Box<[u32]>,
}

impl Group {
    /// All registers at their reset values.
    pub fn new(unit: Unit, map: RegisterMap) -> Self {
        let family = map.family();
        Self { unit, family, words: unit.registers().iter().map(|register| register.reset(family)).collect() }
    }

    /// Unit of these registers.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the family whose field layouts apply.
    pub fn family(&self) -> Family {
        self.family
    }

    /// A whole register.
    pub fn word(&self, register: RegisterRef) -> u32 {
        self.check(register.unit);
        self.words.get(register.index()).copied().unwrap_or(0)
    }

    /// Replaces a whole register; bits outside its fields stay 0.
    pub fn set_word(&mut self, register: RegisterRef, value: u32) {
        self.check(register.unit);
        let fields = register.mask(self.family, |_| true);
        if let Some(word) = self.words.get_mut(register.index()) {
            *word = value & fields;
        }
    }

    /// The stored value of a field, right-aligned and otherwise as it is.
    pub fn get(&self, field: FieldRef) -> u32 {
        self.check(field.unit);
        let word = self.words.get(usize::from(field.offset / 4)).copied().unwrap_or(0);
        field.bits(self.family).extract(word)
    }

    /// Replaces the stored value of a field; bits that do not fit are lost.
    pub fn set(&mut self, field: FieldRef, value: u32) {
        self.check(field.unit);
        if let Some(word) = self.words.get_mut(usize::from(field.offset / 4)) {
            *word = field.bits(self.family).insert(*word, value);
        }
    }

    /// Returns true if the field is not 0.
    pub fn flag(&self, field: FieldRef) -> bool {
        self.get(field) != 0
    }

    /// The value of a two's complement field.
    pub fn get_signed(&self, field: FieldRef) -> i32 {
        debug_assert_eq!(field.encoding, Encoding::Signed, "{field} is not a signed field");
        self.sign_extended(field)
    }

    /// A field taken as two's complement whatever the table says: for operands whose sign depends on the
    /// precision.
    pub fn sign_extended(&self, field: FieldRef) -> i32 {
        let unused = 32 - field.bits(self.family).width();
        ((self.get(field) << unused) as i32) >> unused
    }

    /// The quantity a field stands for: one is added to minus-one encodings, byte values are put back in
    /// place. Other fields are as [`Group::get`].
    pub fn actual(&self, field: FieldRef) -> u32 {
        let stored = self.get(field);
        match field.encoding {
            // The widest such field has 24 bits: no overflow.
            Encoding::MinusOne => stored.wrapping_add(1),
            Encoding::Bytes => stored << field.bits(self.family).lsb,
            Encoding::Plain | Encoding::Signed => stored,
        }
    }

    /// Stores a quantity so that [`Group::actual`] gives it back; bits that do not fit are lost.
    pub fn set_actual(&mut self, field: FieldRef, value: u32) {
        let stored = match field.encoding {
            Encoding::MinusOne => value.wrapping_sub(1),
            Encoding::Bytes => value >> field.bits(self.family).lsb,
            Encoding::Plain | Encoding::Signed => value,
        };
        self.set(field, stored);
    }

    /// A byte address from its two halves.
    pub fn address(&self, low: FieldRef, high: FieldRef) -> u64 {
        u64::from(self.get(high)) << 32 | u64::from(self.actual(low))
    }

    /// Stores a byte address in its two halves.
    pub fn set_address(&mut self, low: FieldRef, high: FieldRef, address: u64) {
        self.set_actual(low, address as u32);
        self.set(high, (address >> 32) as u32);
    }

    fn check(&self, table: &'static str) {
        debug_assert_eq!(
            self.unit.registers()[0].unit,
            table,
            "a register of {table} asked of {}",
            self.unit
        );
    }
}

impl Group {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Group { unit: _, family: _, words } = self;
        at.fixed(words)
    }
}

#[cfg(test)]
mod tests {
    use super::Group;
    use crate::nvdla::registers::{RegisterMap, Unit, bdma, cdma, sdp};

    #[test]
    fn fields_read_as_their_encoding_says() {
        let mut group = Group::new(Unit::Cdma, RegisterMap::Small);
        group.set_word(cdma::D_DATAIN_SIZE_0, 0x0007_001f);
        group.set(cdma::D_CVT_OFFSET::CVT_OFFSET, 0xfffe);
        assert_eq!(group.get(cdma::D_DATAIN_SIZE_0::DATAIN_WIDTH), 31);
        assert_eq!(group.actual(cdma::D_DATAIN_SIZE_0::DATAIN_HEIGHT), 8);
        assert_eq!(group.get_signed(cdma::D_CVT_OFFSET::CVT_OFFSET), -2);
        assert!(!group.flag(cdma::D_CVT_CFG::CVT_EN));
    }

    #[test]
    fn addresses_lose_the_bits_their_family_does_not_keep() {
        use sdp::{
            D_DST_BASE_ADDR_HIGH::DST_BASE_ADDR_HIGH as HIGH, D_DST_BASE_ADDR_LOW::DST_BASE_ADDR_LOW as LOW,
        };
        for (map, kept) in [(RegisterMap::Full, 0x1_8000_0020), (RegisterMap::Large, 0x1_8000_002c)] {
            let mut group = Group::new(Unit::Sdp, map);
            group.set_address(LOW, HIGH, 0x1_8000_002c);
            assert_eq!(group.address(LOW, HIGH), kept, "{map}");
        }
    }

    #[test]
    fn byte_values_stay_in_place_in_units_that_never_widened() {
        let mut group = Group::new(Unit::Bdma, RegisterMap::Large);
        group.set_word(bdma::CFG_SRC_LINE, 0x1234);
        assert_eq!(group.actual(bdma::CFG_SRC_LINE::STRIDE), 0x1220);
    }

    #[test]
    fn actual_gives_back_what_set_actual_stored() {
        let mut group = Group::new(Unit::Cdma, RegisterMap::Full);
        group.set_actual(cdma::D_WEIGHT_BYTES::WEIGHT_BYTES, 0x480);
        group.set_actual(cdma::D_BANK::DATA_BANK, 16);
        assert_eq!(group.actual(cdma::D_WEIGHT_BYTES::WEIGHT_BYTES), 0x480);
        assert_eq!((group.actual(cdma::D_BANK::DATA_BANK), group.get(cdma::D_BANK::DATA_BANK)), (16, 15));
    }
}
