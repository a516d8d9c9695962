//! Types of one register and one field, and the macro in which every unit's table is written, whatever the device.
//!
//! A table entry is the only place that knows an offset, a bit position, a reset value or an access right:
//! decoding, register files, documentation and tests all read it. Nothing here holds a value.

use std::fmt;

/// One register of one unit. The tables hand these out as compile-time constants: `sdp::D_DP_BS_CFG`.
pub type RegisterRef = &'static Register;

/// One field of one register, also a compile-time constant: `sdp::D_DP_BS_CFG::BS_BYPASS`.
pub type FieldRef = &'static Field;

/// The two generations of NVDLA's field layouts. Offsets inside a unit are equal in both. Where a table says nothing of the
/// first, as those of other devices, both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `nv_full` (first public RTL): addresses and strides keep only bits 31:5, SDP stages reset to "not
    /// bypassed".
    Full,
    /// Everything later, `nv_small` to `nv_large`: addresses and strides keep all bits.
    Small,
}

/// Grouping of a register: once in its unit or once per ping-pong group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// One copy, always writable (the `S_` registers).
    Single,
    /// One copy per group, selected by `S_POINTER.PRODUCER` (the `D_` registers).
    Duplicated,
}

/// Access that software has to a register or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Writes are ignored.
    ReadOnly,
    /// Plain storage.
    ReadWrite,
    /// Reads as 0.
    WriteOnly,
    /// Writing 1 to any of its bits clears the field, writing 0 leaves it.
    WriteOneToClear,
}

/// Encoding of a quantity in the stored bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The stored value is the value.
    Plain,
    /// The stored value is the quantity minus one: sizes, strides in elements, counts that cannot be zero.
    MinusOne,
    /// Two's complement.
    Signed,
    /// A byte address, stride or size that stays in place in the word: bits below the field read as 0, so a
    /// field at 31:5 counts bytes in steps of 32.
    Bytes,
}

/// A contiguous run of bits in a 32-bit word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    /// Highest bit, at most 31.
    pub msb: u8,
    /// Lowest bit, at most `msb`.
    pub lsb: u8,
}

impl Bits {
    /// Number of bits, 1 to 32.
    pub const fn width(self) -> u32 {
        (self.msb - self.lsb) as u32 + 1
    }

    /// The bits as a mask in the word.
    pub const fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.width())) << self.lsb
    }

    /// The bits of `word`, right-aligned.
    pub const fn extract(self, word: u32) -> u32 {
        (word & self.mask()) >> self.lsb
    }

    /// `word` with these bits replaced by `value`; bits of `value` that do not fit are lost, as on a bus.
    pub const fn insert(self, word: u32, value: u32) -> u32 {
        (word & !self.mask()) | ((value << self.lsb) & self.mask())
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.msb == self.lsb { write!(f, "{}", self.lsb) } else { write!(f, "{}:{}", self.msb, self.lsb) }
    }
}

/// A name the manual gives to one value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The manual's name, e.g. `INT8`.
    pub name: &'static str,
    /// The stored (right-aligned) value.
    pub value: u32,
}

/// One field, with what differs between the families beside it. Two fields are equal when they are the same
/// entry.
#[derive(Debug)]
pub struct Field {
    /// The table it stands in: a unit's name, `CMAC` and `MCIF` for the tables that two units share.
    pub unit: &'static str,
    /// Name of its register.
    pub register: &'static str,
    /// Offset of its register in the unit, in bytes.
    pub offset: u16,
    /// The field's name.
    pub name: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
    /// Access right; differs from the register's only for `S_POINTER.CONSUMER`.
    pub access: Access,
    /// Encoding of the stored bits.
    pub encoding: Encoding,
    /// Names of values, empty when the field is a number.
    pub values: &'static [Value],
    pub(crate) bits: Bits,
    pub(crate) bits_full: Bits,
    pub(crate) reset: u32,
    pub(crate) reset_full: u32,
}

impl Field {
    /// Returns the bits of its word that the field is.
    pub const fn bits(&self, family: Family) -> Bits {
        match family {
            Family::Full => self.bits_full,
            Family::Small => self.bits,
        }
    }

    /// Returns the bits of its word that the field is, in a table that both families share.
    pub const fn only_bits(&self) -> Bits {
        self.bits
    }

    /// The right-aligned value after reset.
    pub const fn reset(&self, family: Family) -> u32 {
        match family {
            Family::Full => self.reset_full,
            Family::Small => self.reset,
        }
    }

    /// The manual's name of a stored value, if it has one.
    pub fn value_name(&self, value: u32) -> Option<&'static str> {
        self.values.iter().find(|named| named.value == value).map(|named| named.name)
    }

    /// The stored value that the manual calls `name`.
    pub fn value_named(&self, name: &str) -> Option<u32> {
        self.values.iter().find(|named| named.name == name).map(|named| named.value)
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (self.offset, self.bits, self.unit) == (other.offset, other.bits, other.unit)
    }
}

impl Eq for Field {}

/// `D_DP_BS_CFG.BS_BYPASS`: the spelling of error messages. The unit is the speaker's to add.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.register, self.name)
    }
}

/// One register. Two registers are equal when they are the same entry.
#[derive(Debug)]
pub struct Register {
    /// The table it stands in, as in [`Field::unit`].
    pub unit: &'static str,
    /// The register's name, without unit.
    pub name: &'static str,
    /// Offset in the unit's 4 KiB, in bytes.
    pub offset: u16,
    /// Once, or once per group.
    pub grouping: Grouping,
    /// Access right of the register as a whole.
    pub access: Access,
    /// True if writing 1 to bit 0 starts work of the unit.
    pub starts_work: bool,
    /// One sentence for people.
    pub doc: &'static str,
    /// Fields of the register, as the table lists them.
    pub fields: &'static [FieldRef],
}

impl Register {
    /// The word after reset.
    pub fn reset(&self, family: Family) -> u32 {
        self.fields.iter().fold(0, |word, field| field.bits(family).insert(word, field.reset(family)))
    }

    /// The bits whose fields satisfy `wanted`; bits outside every field are never set.
    pub fn mask(&self, family: Family, wanted: impl Fn(Access) -> bool) -> u32 {
        self.fields
            .iter()
            .filter(|field| wanted(field.access))
            .fold(0, |mask, field| mask | field.bits(family).mask())
    }

    /// Returns true if writing the word starts work of the unit: a layer, or copies.
    pub const fn starts_work_with(&self, word: u32) -> bool {
        self.starts_work && word & 1 != 0
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<FieldRef> {
        self.fields.iter().find(|field| field.name == name).copied()
    }

    pub(crate) fn index(&self) -> usize {
        usize::from(self.offset / 4)
    }
}

impl PartialEq for Register {
    fn eq(&self, other: &Self) -> bool {
        (self.offset, self.unit) == (other.offset, other.unit)
    }
}

impl Eq for Register {}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Writes one unit's table. The grammar, by example:
///
/// ```text
/// registers! {
///     unit "SDP";
///     groups;          // S_STATUS and S_POINTER of a unit with register groups
///     lookup_tables;   // the port of its lookup tables
///     /// Sentence about the register.
///     D_DP_BS_CFG @ 0x58 duplicated rw {
///         /// Sentence about the field.
///         BS_BYPASS [0] = 1, full = 0 { NO = 0, YES = 1 };   // reset 1; 0 in the full family
///         STRIDE [31:0] as bytes = 0, full [31:5];           // encoding; other bits in the full family
///         CONSUMER [16]: ro = 0;                             // access where it is not the register's
///     }
///     /// Register that starts work with a 1 in bit 0.
///     D_OP_ENABLE @ 0x38 duplicated rw starts_work { OP_EN [0] = 0: "Sentence about the field." }
///     /// A register of one field may stand in a line; without a sentence the field has the register's.
///     D_CYA @ 0x5c duplicated rw { CYA [31:0] = 0: "Sentence about the field." }
/// }
/// ```
///
/// and yields the constant `D_DP_BS_CFG`, a module of the same name with one constant a field and, for a field
/// with named values, a module of the field's name with one `u32` a value (`D_DP_BS_CFG::BS_ALU_ALGO::SUM`),
/// and `REGISTERS`.
macro_rules! registers {
    (unit $unit:literal; groups; lookup_tables; $($rest:tt)+) => {
        registers! {
            unit $unit;
            groups;

            /// Lookup table access setup.
            S_LUT_ACCESS_CFG @ 0x08 single rw {
                /// Table index; advances after each data access.
                LUT_ADDR [9:0] = 0;
                /// LE (65 entries) or LO (257 entries).
                LUT_TABLE_ID [16] = 0 { LE = 0, LO = 1 };
                /// Read or write.
                LUT_ACCESS_TYPE [17] = 0 { READ = 0, WRITE = 1 };
            }

            /// Lookup table data port.
            S_LUT_ACCESS_DATA @ 0x0c single rw { LUT_DATA [15:0] as signed = 0: "Table entry." }

            /// Lookup table selection rules.
            S_LUT_CFG @ 0x10 single rw {
                /// LE table indexing law.
                LUT_LE_FUNCTION [0] = 0 { EXPONENT = 0, LINEAR = 1 };
                /// Table used when both underflow.
                LUT_UFLOW_PRIORITY [4] = 0 { LE = 0, LO = 1 };
                /// Table used when both overflow.
                LUT_OFLOW_PRIORITY [5] = 0 { LE = 0, LO = 1 };
                /// Table used when both hit or results mix.
                LUT_HYBRID_PRIORITY [6] = 0 { LE = 0, LO = 1 };
            }

            /// Lookup table indexing.
            S_LUT_INFO @ 0x14 single rw {
                /// Exponent offset of LE.
                LUT_LE_INDEX_OFFSET [7:0] as signed = 0;
                /// Index shift of LE.
                LUT_LE_INDEX_SELECT [15:8] as signed = 0;
                /// Index shift of LO.
                LUT_LO_INDEX_SELECT [23:16] as signed = 0;
            }

            $($rest)+
        }
    };

    (unit $unit:literal; groups; $($rest:tt)+) => {
        registers! {
            unit $unit;

            /// State of both register groups.
            S_STATUS @ 0x00 single ro {
                /// State of group 0.
                STATUS_0 [1:0] = 0 { IDLE = 0, RUNNING = 1, PENDING = 2 };
                /// State of group 1.
                STATUS_1 [17:16] = 0 { IDLE = 0, RUNNING = 1, PENDING = 2 };
            }

            /// Group select for software and datapath.
            S_POINTER @ 0x04 single rw {
                /// Group that register accesses reach.
                PRODUCER [0] = 0 { GROUP_0 = 0, GROUP_1 = 1 };
                /// Group the datapath runs from.
                CONSUMER [16]: ro = 0 { GROUP_0 = 0, GROUP_1 = 1 };
            }

            $($rest)+
        }
    };

    (
        unit $unit:literal;
        $(
            $(#[doc = $register_doc:literal])+
            $REGISTER:ident @ $offset:literal $grouping:ident $access:ident $($starts_work:ident)? {
                $(
                    $(#[doc = $field_doc:literal])*
                    $FIELD:ident [$msb:literal $(: $lsb:literal)?]
                        $(: $field_access:ident)? $(as $encoding:ident)? = $reset:literal
                        $(, full [$full_msb:literal : $full_lsb:literal])?
                        $(, full = $full_reset:literal)?
                        $({ $($VALUE:ident = $value:literal),+ $(,)? })?
                        $(: $about:literal)?
                );+ $(;)?
            }
        )+
    ) => {
        /// Every register of the unit, by rising offset.
        pub const REGISTERS: &[$crate::registers::RegisterRef] = &[$($REGISTER),+];

        $(
            $(#[doc = $register_doc])+
            pub const $REGISTER: $crate::registers::RegisterRef = &$crate::registers::Register {
                unit: $unit,
                name: stringify!($REGISTER),
                offset: $offset,
                grouping: registers!(@grouping $grouping),
                access: registers!(@access $access),
                starts_work: registers!(@starts_work $($starts_work)?),
                doc: $REGISTER::DOC,
                fields: &[$($REGISTER::$FIELD),+],
            };

            #[doc = concat!("Fields of `", stringify!($REGISTER), "`.")]
            #[allow(non_snake_case, reason = "the manual's names, said once")]
            pub mod $REGISTER {
                use $crate::registers::{Bits, Field, FieldRef};

                pub(super) const DOC: &str = concat!($($register_doc),+).trim_ascii();
                $(
                    #[doc = concat!($($field_doc,)* $($about,)? " A field of `", stringify!($REGISTER), "`.")]
                    pub const $FIELD: FieldRef = &Field {
                        unit: $unit,
                        register: stringify!($REGISTER),
                        offset: $offset,
                        name: stringify!($FIELD),
                        doc: registers!(@about DOC $(, $field_doc)* $(, $about)?),
                        access: registers!(@access $($field_access or)? $access),
                        encoding: registers!(@encoding $($encoding)?),
                        values: &[$($($crate::registers::Value {
                            name: stringify!($VALUE),
                            value: $value,
                        }),+)?],
                        bits: registers!(@bits $msb $(, $lsb)?),
                        bits_full: registers!(@bits $($full_msb, $full_lsb, or)? $msb $(, $lsb)?),
                        reset: $reset,
                        reset_full: registers!(@first $($full_reset,)? $reset),
                    };

                    $(
                        #[doc = concat!("Named values of `", stringify!($FIELD), "`.")]
                        #[allow(non_snake_case, reason = "the manual's names, said once")]
                        pub mod $FIELD {
                            $(
                                #[doc = concat!("`", stringify!($VALUE), "`, stored as ", $value, ".")]
                                pub const $VALUE: u32 = $value;
                            )+
                        }
                    )?
                )+
            }
        )+
    };

    (@about $register:ident) => { $register };
    (@about $register:ident, $($doc:literal),+) => { concat!($($doc),+).trim_ascii() };
    (@grouping single) => { $crate::registers::Grouping::Single };
    (@grouping duplicated) => { $crate::registers::Grouping::Duplicated };
    (@access $first:ident or $second:ident) => { registers!(@access $first) };
    (@access ro) => { $crate::registers::Access::ReadOnly };
    (@access rw) => { $crate::registers::Access::ReadWrite };
    (@access wo) => { $crate::registers::Access::WriteOnly };
    (@access w1c) => { $crate::registers::Access::WriteOneToClear };
    (@starts_work) => { false };
    (@starts_work starts_work) => { true };
    (@encoding) => { $crate::registers::Encoding::Plain };
    (@encoding minus1) => { $crate::registers::Encoding::MinusOne };
    (@encoding signed) => { $crate::registers::Encoding::Signed };
    (@encoding bytes) => { $crate::registers::Encoding::Bytes };
    (@bits $msb:literal) => { Bits { msb: $msb, lsb: $msb } };
    (@bits $msb:literal, $lsb:literal) => { Bits { msb: $msb, lsb: $lsb } };
    (@bits $msb:literal, $lsb:literal, or $($rest:tt)+) => { Bits { msb: $msb, lsb: $lsb } };
    (@first $first:literal $(, $rest:literal)*) => { $first };
}
