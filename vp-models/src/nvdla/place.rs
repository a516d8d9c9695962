//! The place of a cube in memory, from registers: its address and its strides.
//!
//! Memory is addressed by the atom. If a driver writes lower bits, they read back where the registers have 32
//! bits (the small and large maps; those of `nv_full` begin at bit 5), but the hardware drops them, as in the
//! RTL.

use super::cube::{Packing, Ram, Surface};
use super::registers::{FieldRef, Group};

/// The registers of a cube's place.
#[derive(Clone, Copy)]
pub struct PlaceFields {
    /// Memory that it is in.
    pub ram: FieldRef,
    /// Low and high word of its address.
    pub base: [FieldRef; 2],
    /// Bytes from a line to the next.
    pub line_stride: FieldRef,
    /// Bytes from a surface to the next.
    pub surface_stride: FieldRef,
}

/// The registers of a place that a unit reads, named alike in the tables of all units; `$ram` has the kind of memory.
macro_rules! source_place {
    ($unit:ident, $ram:ident) => {
        PlaceFields {
            ram: $unit::$ram::SRC_RAM_TYPE,
            base: [
                $unit::D_SRC_BASE_ADDR_LOW::SRC_BASE_ADDR_LOW,
                $unit::D_SRC_BASE_ADDR_HIGH::SRC_BASE_ADDR_HIGH,
            ],
            line_stride: $unit::D_SRC_LINE_STRIDE::SRC_LINE_STRIDE,
            surface_stride: $unit::D_SRC_SURFACE_STRIDE::SRC_SURFACE_STRIDE,
        }
    };
}

/// The registers of a place that a unit writes, named alike in the tables of all units; `$ram` has the kind of memory.
macro_rules! destination_place {
    ($unit:ident, $ram:ident) => {
        PlaceFields {
            ram: $unit::$ram::DST_RAM_TYPE,
            base: [
                $unit::D_DST_BASE_ADDR_LOW::DST_BASE_ADDR_LOW,
                $unit::D_DST_BASE_ADDR_HIGH::DST_BASE_ADDR_HIGH,
            ],
            line_stride: $unit::D_DST_LINE_STRIDE::DST_LINE_STRIDE,
            surface_stride: $unit::D_DST_SURFACE_STRIDE::DST_SURFACE_STRIDE,
        }
    };
}

pub(super) use {destination_place, source_place};

/// Place where bits below an atom are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LowBits {
    /// Dropped in front of the datapath, in each register by itself: CDMA and SDP (`NV_NVDLA_cdma`,
    /// `NV_NVDLA_sdp`, `NV_NVDLA_SDP_rdma`, `reg2dp_*[31:AM_AW]`).
    OfRegisters,
    /// Dropped on the bus, behind the sums of address and strides: PDP and CDP (`NV_NVDLA_PDP_RDMA_ig`,
    /// `_WDMA_cmd`, `NV_NVDLA_CDP_RDMA_ig`, `_wdma`), and images (`NV_NVDLA_CDMA_IMG_sg`).
    OfSums,
}

impl PlaceFields {
    /// The cube as the datapath sees it. `atom` is in bytes.
    pub(crate) fn surface(
        &self,
        group: &Group,
        (atom, pixel): (u32, u32),
        packing: Packing,
        low_bits: LowBits,
    ) -> Surface {
        let keep = match low_bits {
            LowBits::OfRegisters => !(atom - 1),
            LowBits::OfSums => u32::MAX,
        };
        let [low, high] = self.base;
        Surface {
            ram: Ram::from_field(group.get(self.ram)),
            base: u64::from(group.get(high)) << 32 | u64::from(group.actual(low) & keep),
            line_stride: group.actual(self.line_stride) & keep,
            surface_stride: group.actual(self.surface_stride) & keep,
            pixel,
            atom,
            packing,
        }
    }

    /// The registers of a cube: address, strides, interface.
    pub(crate) fn fields(&self, surface: &Surface) -> [(FieldRef, u32); 5] {
        let [low, high] = self.base;
        [
            (low, surface.base as u32),
            (high, (surface.base >> 32) as u32),
            (self.line_stride, surface.line_stride),
            (self.surface_stride, surface.surface_stride),
            (self.ram, surface.ram.field()),
        ]
    }

    /// A sentence for each of its registers that count in a cube of so many lines and surfaces, and are no multiple of an atom.
    pub(crate) fn unaligned(
        &self,
        group: &Group,
        surface: &Surface,
        (lines, surfaces): (u32, u32),
        low_bits: LowBits,
    ) -> Vec<String> {
        let strided = surface.packing == Packing::Strided;
        let fields = [
            (self.base[0], true),
            (self.line_stride, strided && lines > 1),
            (self.surface_stride, strided && surfaces > 1),
        ];
        let counting = fields.into_iter().filter(|it| it.1);
        counting.filter_map(|(field, _)| unaligned(group, field, surface.atom, low_bits)).collect()
    }
}

/// Returns the error in an address or a stride that is no multiple of an atom.
pub(crate) fn unaligned(group: &Group, field: FieldRef, atom: u32, low_bits: LowBits) -> Option<String> {
    let value = group.actual(field);
    let taken = value & !(atom - 1);
    let rule = match low_bits {
        LowBits::OfRegisters => {
            format!("the hardware has no lower bits and takes {taken:#x} (reg2dp_*[31:{}])", atom.ilog2())
        }
        LowBits::OfSums => {
            "it is added up as it is, and each address loses its lower bits on the bus".to_owned()
        }
    };
    let (unit, register) = (group.unit(), field.register);
    (value != taken)
        .then(|| format!("{unit}.{register} is {value:#x}, no multiple of the atom's {atom} bytes: {rule}"))
}
