//! The registers of a platform's device by name, with their fields: what debuggers, logs and people call what is at an address.

use std::fmt;

use thiserror::Error;

use super::carried::DeviceDescription;
use super::description::Description;
use crate::fpga_ai_suite::registers as suite;
use crate::nvdla::NvdlaDescription;
use crate::nvdla::registers::{RegisterMap, Unit};
use crate::registers::{Access, Bits, Encoding, Family, FieldRef, Grouping, RegisterRef};

/// The map of the FPGA AI Suite's CSR block.
const SUITE: &str = "FPGA AI Suite";

/// A register with its place on the device's bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedRegister {
    /// The unit that has it.
    pub unit: &'static str,
    /// Name of the register, without the unit.
    pub name: &'static str,
    /// Byte address of the register.
    pub address: u32,
    /// Kind of the register.
    pub kind: NamedKind,
}

/// Kind of what is at a register's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedKind {
    /// An entry of a table.
    Register(RegisterRef),
    /// A word of the capability ROM.
    Word {
        /// Value of the word.
        value: u32,
        /// Explanation of the word.
        doc: &'static str,
    },
}

/// `PDP.D_POOLING_PADDING_CFG`.
impl fmt::Display for NamedRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.unit, self.name)
    }
}

impl NamedRegister {
    fn of(unit: &'static str, register: RegisterRef, address: u32) -> NamedRegister {
        NamedRegister { unit, name: register.name, address, kind: NamedKind::Register(register) }
    }

    /// Returns the register's fields, as the table lists them.
    #[must_use]
    pub fn fields(&self) -> &'static [FieldRef] {
        match self.kind {
            NamedKind::Register(register) => register.fields,
            NamedKind::Word { .. } => &[],
        }
    }

    /// Returns true if there is one in each of the unit's groups.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        matches!(self.kind, NamedKind::Register(register) if register.grouping == Grouping::Duplicated)
    }

    /// Returns the value that it holds after reset.
    #[must_use]
    pub fn reset(&self, family: Family) -> u32 {
        match self.kind {
            NamedKind::Register(register) => register.reset(family),
            NamedKind::Word { value, .. } => value,
        }
    }

    /// The fields of a word that it holds.
    #[must_use]
    pub fn decode(&self, family: Family, word: u32) -> Vec<DecodedField> {
        self.fields().iter().map(|field| DecodedField::of(field, family, word)).collect()
    }

    /// Returns true if this part, in capitals, is in its name or that of a field.
    fn is_named(&self, part: &str) -> bool {
        self.fields().iter().any(|field| field.name.contains(part)) || self.to_string().contains(part)
    }
}

/// A field of a word, and what its value means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedField {
    /// The field's name.
    pub name: &'static str,
    /// Bits of the word that the field is.
    pub bits: Bits,
    /// Value that is stored, right-aligned.
    pub value: u32,
    /// Meaning of the value, where that is not the number: a name of the manual's, a size of one more, a signed number, an address.
    pub meaning: Option<String>,
}

impl DecodedField {
    fn of(field: FieldRef, family: Family, word: u32) -> DecodedField {
        let bits = field.bits(family);
        let value = bits.extract(word);
        let meaning = match field.encoding {
            _ if !field.values.is_empty() => field.value_name(value).map(str::to_owned),
            Encoding::Plain => None,
            Encoding::MinusOne => Some((u64::from(value) + 1).to_string()),
            Encoding::Signed => {
                let unused = 32 - bits.width();
                Some((((value << unused) as i32) >> unused).to_string())
            }
            Encoding::Bytes => Some(format!("{:#x}", word & bits.mask())),
        };
        DecodedField { name: field.name, bits, value, meaning }
    }
}

/// `FLYING_MODE=1 (OFF_FLYING)`.
impl fmt::Display for DecodedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)?;
        self.meaning.as_ref().map_or(Ok(()), |meaning| write!(f, " ({meaning})"))
    }
}

/// A name, or an address, that is none of the device's registers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NoSuchRegister(String);

/// A value for a register, or for one of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// The register.
    pub register: NamedRegister,
    field: Option<FieldRef>,
    value: u32,
}

impl Assignment {
    /// Returns true if the word that is there has a part in the new one.
    #[must_use]
    pub fn keeps_bits(&self) -> bool {
        self.field.is_some()
    }

    /// The word to be written where there is this one.
    #[must_use]
    pub fn word(&self, family: Family, present: u32) -> u32 {
        self.field.map_or(self.value, |field| field.bits(family).insert(present, self.value))
    }
}

/// The registers of a device.
#[derive(Debug, Clone)]
pub struct DeviceRegisters {
    map: &'static str,
    family: Family,
    nvdla: Option<NvdlaDescription>,
    /// By rising address.
    registers: Vec<NamedRegister>,
}

impl DeviceRegisters {
    /// Returns the registers of a platform's device. One that is outside has none that are known, unless it is an NVDLA.
    #[must_use]
    pub fn of(description: &Description) -> DeviceRegisters {
        let nvdla = match &description.device {
            DeviceDescription::Nvdla(nvdla) => Some(&**nvdla),
            DeviceDescription::Outside(outside) => outside.nvdla.as_deref(),
            DeviceDescription::FpgaAiSuite(_) => None,
        };
        if let Some(nvdla) = nvdla {
            let map = nvdla.config.register_map;
            let registers = of_nvdla(nvdla);
            return DeviceRegisters {
                map: map.name(),
                family: map.family(),
                nvdla: Some(nvdla.clone()),
                registers,
            };
        }
        let registers = match &description.device {
            DeviceDescription::FpgaAiSuite(_) => suite::REGISTERS,
            _ => &[],
        };
        let named =
            |register: &RegisterRef| NamedRegister::of(register.unit, register, register.offset.into());
        let registers = registers.iter().map(named).collect();
        DeviceRegisters { map: SUITE, family: Family::Small, nvdla: None, registers }
    }

    /// The map's name.
    #[must_use]
    pub fn map(&self) -> &'static str {
        self.map
    }

    /// The layout of the map's fields.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// All of them, by rising address.
    #[must_use]
    pub fn all(&self) -> &[NamedRegister] {
        &self.registers
    }

    /// The register at a byte address.
    #[must_use]
    pub fn at(&self, address: u32) -> Option<NamedRegister> {
        let place = self.registers.binary_search_by_key(&address, |register| register.address);
        place.ok().map(|place| self.registers[place])
    }

    /// The register at an address as people write it: a byte address, or one that counts words, as CSB and the vendor's scripts do, with
    /// or without their upper half 0xffff; or one on a bus, where NVDLA's window begins at a multiple of its size. Where several are there, the
    /// first is meant.
    #[must_use]
    pub fn at_written(&self, address: u32) -> Option<NamedRegister> {
        if address >> 16 == 0xffff {
            return self.at_word(address);
        }
        self.at(address).or_else(|| self.at_word(address)).or_else(|| self.at(self.in_window(address)?))
    }

    /// The byte address inside NVDLA's window of one on a bus behind it.
    fn in_window(&self, address: u32) -> Option<u32> {
        self.nvdla.as_ref().map(|_| address % RegisterMap::SPACE_BYTES).filter(|inside| *inside != address)
    }

    /// The register at an address that counts words, with or without the upper half 0xffff.
    #[must_use]
    pub fn at_word(&self, address: u32) -> Option<NamedRegister> {
        matches!(address >> 16, 0 | 0xffff).then(|| self.at((address & 0xffff) << 2)).flatten()
    }

    /// The register of that name, such as `SDP.D_DP_BS_CFG`, in whatever case.
    ///
    /// # Errors
    /// There is none; the nearest one is named.
    pub fn named(&self, name: &str) -> Result<NamedRegister, NoSuchRegister> {
        let upper = name.to_uppercase();
        let found = self.registers.iter().find(|register| register.to_string() == upper);
        let located = || self.nvdla_map()?.find(&upper).ok().and_then(|located| self.at(located.address));
        found.copied().or_else(located).ok_or_else(|| self.unknown(name))
    }

    /// All registers, those of a unit, the one at an address (`0x…`, [`at_written`](Self::at_written)), or those with this part of a name or
    /// of a field's name.
    ///
    /// # Errors
    /// There is none.
    pub fn matching(&self, pattern: Option<&str>) -> Result<Vec<NamedRegister>, NoSuchRegister> {
        let Some(pattern) = pattern else { return Ok(self.registers.clone()) };
        let address = pattern.strip_prefix("0x").or_else(|| pattern.strip_prefix("0X"));
        if let Some(address) = address.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            return self.at_written(address).map(|found| vec![found]).ok_or_else(|| self.nothing_at(address));
        }
        let upper = pattern.to_uppercase();
        let units = self.nvdla_map().into_iter().flat_map(RegisterMap::units);
        let unit = units.map(|slot| slot.unit).find(|unit| unit.name() == upper);
        let is_meant = |register: &&NamedRegister| match unit {
            Some(unit) => register.unit == unit.name(),
            None => register.is_named(&upper),
        };
        let found: Vec<NamedRegister> = self.registers.iter().filter(is_meant).copied().collect();
        match (found.is_empty(), unit) {
            (false, _) => Ok(found),
            (true, Some(unit)) => Err(lacking(unit)),
            (true, None) => Err(self.unknown(pattern)),
        }
    }

    /// Reads `REGISTER=VALUE` or `REGISTER.FIELD=VALUE`: a decimal or `0x…` number, or a name of the field's values.
    ///
    /// # Errors
    /// There is no such register or field, it cannot be written, or the value does not fit; with what would be right.
    pub fn assignment(&self, text: &str) -> Result<Assignment, NoSuchRegister> {
        let wrong = |why: String| NoSuchRegister(format!("`{text}`: {why}"));
        let Some((name, value)) = text.split_once('=') else {
            return Err(wrong("write REGISTER=VALUE or REGISTER.FIELD=VALUE".to_owned()));
        };
        let (name, value) = (name.trim().to_uppercase(), value.trim());
        let (register, field) = match self.named(&name) {
            Ok(register) => (register, None),
            Err(unknown) => {
                let (of, field) = name.rsplit_once('.').ok_or_else(|| unknown.clone())?;
                let register = self.named(of).map_err(|_| unknown)?;
                let field = register.fields().iter().find(|it| it.name == field).ok_or_else(|| {
                    let names: Vec<&str> = register.fields().iter().map(|field| field.name).collect();
                    wrong(format!("{register} has no field {field}: it has {}", names.join(", ")))
                })?;
                (register, Some(*field))
            }
        };
        let is_writable = |register: RegisterRef| match field {
            Some(field) => field.access != Access::ReadOnly,
            None => register.fields.iter().any(|field| field.access != Access::ReadOnly),
        };
        if !matches!(register.kind, NamedKind::Register(register) if is_writable(register)) {
            return Err(wrong("it is read-only".to_owned()));
        }
        let width = field.map_or(32, |field| field.bits(self.family).width());
        let named = field.and_then(|field| field.value_named(&value.to_uppercase()));
        let number = named.or_else(|| number(value)).ok_or_else(|| {
            let names = field.map_or_else(Vec::new, |field| field.values.iter().map(|it| it.name).collect());
            let names = if names.is_empty() { String::new() } else { format!(", or {}", names.join(", ")) };
            wrong(format!("`{value}` is no value: a number as 10 or 0xa{names}"))
        })?;
        if width < 32 && number >> width != 0 {
            return Err(wrong(format!(
                "{number} does not fit {width} bits: at most {}",
                (1_u32 << width) - 1
            )));
        }
        Ok(Assignment { register, field, value: number })
    }

    fn nvdla_map(&self) -> Option<RegisterMap> {
        self.nvdla.as_ref().map(|nvdla| nvdla.config.register_map)
    }

    fn nothing_at(&self, address: u32) -> NoSuchRegister {
        if address >> 16 == 0xffff {
            let (map, bytes) = (self.map, (address & 0xffff) << 2);
            return NoSuchRegister(format!(
                "no register at the word address 0x{address:x} in the {map} map, which is 0x{bytes:x} in bytes: it reads zero"
            ));
        }
        let inside = self.in_window(address).unwrap_or(address);
        let unit = self.nvdla_map().and_then(|map| map.unit_at(inside)).map(|(unit, _)| unit);
        if let (Some(unit), Some(nvdla)) = (unit, &self.nvdla)
            && !nvdla.config.has_unit(unit)
        {
            return lacking(unit);
        }
        let slot = unit.map_or_else(String::new, |unit| format!(", in the slot of {unit}"));
        NoSuchRegister(format!("no register at 0x{address:x} in the {} map{slot}: it reads zero", self.map))
    }

    fn unknown(&self, name: &str) -> NoSuchRegister {
        match self.nvdla_map().map(|map| map.find(&name.to_uppercase())) {
            Some(Ok(located)) => lacking(located.unit),
            Some(Err(unknown)) => NoSuchRegister(unknown.to_string()),
            None => NoSuchRegister(format!("no register `{}` in the {} map", name.to_uppercase(), self.map)),
        }
    }
}

fn lacking(unit: Unit) -> NoSuchRegister {
    NoSuchRegister(format!("the platform has no {unit}: what is there reads zero"))
}

/// A number as people and files write it.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The registers of an NVDLA, with the words that its capability ROM serves.
fn of_nvdla(nvdla: &NvdlaDescription) -> Vec<NamedRegister> {
    let map = nvdla.config.register_map;
    let rom = map.base(Unit::Cfgrom).into_iter().flat_map(|base| {
        let words = nvdla.config.capability_words(nvdla.capability_rom);
        (base..).step_by(4).zip(words).map(|(address, word)| {
            let kind = NamedKind::Word { value: word.value, doc: word.doc };
            NamedRegister { unit: Unit::Cfgrom.name(), name: word.name, address, kind }
        })
    });
    let others = map.registers().filter(|it| it.unit != Unit::Cfgrom && nvdla.config.has_unit(it.unit));
    let others = others.map(|it| NamedRegister::of(it.unit.name(), it.register, it.address));
    let mut all: Vec<NamedRegister> = rom.chain(others).collect();
    all.sort_by_key(|register| register.address);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> DeviceRegisters {
        DeviceRegisters::of(&Description::named("nv_small").unwrap())
    }

    #[test]
    fn a_word_reads_as_the_fields_that_it_is_made_of() {
        let (registers, family) = (registers(), Family::Small);
        let width = registers.named("PDP.D_DATA_CUBE_IN_WIDTH").unwrap();
        let text = |fields: Vec<DecodedField>| fields.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(width.decode(family, 7)), ["CUBE_IN_WIDTH=7 (8)"]);
        let enable = registers.at(width.address & !0xfff | 0x8).unwrap();
        assert_eq!((enable.to_string(), enable.has_groups()), ("PDP.D_OP_ENABLE".to_owned(), true));
        let base = registers.named("pdp.d_src_base_addr_low").unwrap();
        assert_eq!(base.decode(family, 0x8000_0040)[0].meaning.as_deref(), Some("0x80000040"));
    }

    #[test]
    fn an_assignment_sets_a_register_or_one_of_its_fields_by_name() {
        let registers = registers();
        let whole = registers.assignment("SDP.S_POINTER=0x1").unwrap();
        assert_eq!((whole.keeps_bits(), whole.word(Family::Small, 0xffff)), (false, 1));
        let field = registers.assignment("GLB.S_INTR_MASK.SDP_DONE_MASK0 = 1").unwrap();
        let bits = field.register.fields()[0].bits(Family::Small);
        assert_eq!(field.word(Family::Small, 0), bits.insert(0, 1));
        assert!(field.keeps_bits());
    }

    #[test]
    fn an_address_that_counts_words_finds_its_register() {
        let registers = DeviceRegisters::of(&Description::named("nv_full").unwrap());
        let found = |pattern: &str| registers.matching(Some(pattern)).map(|found| found[0].to_string());
        for pattern in ["0xffff1405", "0x1405", "0x5014"] {
            assert_eq!(found(pattern), Ok("CDMA.D_MISC_CFG".to_owned()), "{pattern}");
        }
        // Both are there: 0x5000 in bytes, and 0x14000 as a word address is not.
        assert_eq!(found("0x5000"), Ok("CDMA.S_STATUS".to_owned()));
        // With the base of a register window, which is a multiple of its size.
        for pattern in ["0x10205014", "0x80005014", "0x45014"] {
            assert_eq!(found(pattern), Ok("CDMA.D_MISC_CFG".to_owned()), "{pattern}");
        }
        let told = found("0xffffffff").unwrap_err().to_string();
        assert!(told.starts_with("no register at the word address 0xffffffff in the nv_full map"), "{told}");
    }

    #[test]
    fn a_wrong_assignment_says_what_would_be_right() {
        let refused = |text: &str| registers().assignment(text).unwrap_err().to_string();
        assert!(refused("SDP.S_POINTER").contains("write REGISTER=VALUE"));
        assert!(refused("SDP.S_POINTR=1").contains("nearest: SDP.S_POINTER"));
        assert!(refused("SDP.S_POINTER.PRODUCR=1").contains("it has PRODUCER, CONSUMER"));
        assert!(refused("SDP.S_POINTER.PRODUCER=2").contains("does not fit 1 bits: at most 1"));
        assert!(refused("SDP.S_POINTER.PRODUCER=maybe").contains("GROUP_0"));
        assert!(refused("SDP.S_POINTER.CONSUMER=1").contains("read-only"));
        assert!(refused("SDP.S_STATUS=1").contains("read-only"));
        assert!(refused("BDMA.CFG_OP=1").contains("BDMA"));
    }
}
