//! One BDMA command: what the registers say when `CFG_OP` queues them.
//!
//! BDMA has no register groups: a command is taken as a whole, so that the next one can be written while it waits.

use crate::nvdla::cube::{Packing, Ram, Surface};
use crate::nvdla::dma::Lines;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, bdma as reg};

/// Bytes of BDMA's unit of length and alignment.
pub const ATOM: u32 = 32;

/// Lines, and surfaces, that a command may have. The registers are wider, and the loading half reads as many as they
/// say; the storing half is told 13 bits of them (RTL `NV_NVDLA_BDMA_load`, `ld2st_wr_pd`), so that a command with
/// more would never end.
const MAX_REPEAT: u32 = 1 << 13;

/// A copy of some surfaces of some lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BdmaTransfer {
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a surface.
    pub lines: u32,
    /// Surfaces.
    pub surfaces: u32,
    /// Where they come from.
    pub source: Surface,
    /// Where they go.
    pub destination: Surface,
}

impl BdmaTransfer {
    /// Decodes and checks the registers.
    pub fn decode(registers: &Group) -> Result<BdmaTransfer, Refused> {
        let repeat = |field| {
            let number = registers.actual(field);
            let why = "the unit that stores counts to 8192";
            if number <= MAX_REPEAT { Ok(number) } else { Err(Refused::new(registers, field, why)) }
        };
        let end = |ram, low, high, line, surface| Surface {
            ram: Ram::from_field(registers.get(ram)),
            base: registers.address(low, high),
            line_stride: registers.actual(line),
            surface_stride: registers.actual(surface),
            pixel: ATOM,
            atom: ATOM,
            packing: Packing::Strided,
        };
        Ok(BdmaTransfer {
            line: registers.actual(reg::cfg_line::SIZE) * ATOM,
            lines: repeat(reg::cfg_line_repeat::NUMBER)?,
            surfaces: repeat(reg::cfg_surf_repeat::NUMBER)?,
            source: end(
                reg::cfg_cmd::SRC_RAM_TYPE,
                reg::cfg_src_addr_low::V32,
                reg::cfg_src_addr_high::V8,
                reg::cfg_src_line::STRIDE,
                reg::cfg_src_surf::STRIDE,
            ),
            destination: end(
                reg::cfg_cmd::DST_RAM_TYPE,
                reg::cfg_dst_addr_low::V32,
                reg::cfg_dst_addr_high::V8,
                reg::cfg_dst_line::STRIDE,
                reg::cfg_dst_surf::STRIDE,
            ),
        })
    }

    /// Address and bytes of each line in one of its two places, in order.
    pub(super) fn lines_in(&self, place: Surface) -> impl Iterator<Item = (u64, u32)> + use<> {
        let BdmaTransfer { line, lines: height, surfaces, .. } = *self;
        Lines { surface: place, first_column: 0, width: line / ATOM, height, surfaces, together: 1 }
            .requests()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::{RegisterMap, Unit};

    fn registers() -> Group {
        let mut registers = Group::new(Unit::Bdma, RegisterMap::Full);
        let (low, high) = (reg::cfg_src_addr_low::V32, reg::cfg_src_addr_high::V8);
        registers.set_address(low, high, 0x12_8000_0020);
        registers.set_address(reg::cfg_dst_addr_low::V32, reg::cfg_dst_addr_high::V8, 0x5000_0040);
        registers.set_actual(reg::cfg_line::SIZE, 3);
        registers.set_actual(reg::cfg_line_repeat::NUMBER, 2);
        registers.set_actual(reg::cfg_surf_repeat::NUMBER, 2);
        registers.set_actual(reg::cfg_src_line::STRIDE, 0x80);
        registers.set_actual(reg::cfg_src_surf::STRIDE, 0x400);
        registers.set_actual(reg::cfg_dst_line::STRIDE, 0x60);
        registers.set_actual(reg::cfg_dst_surf::STRIDE, 0x200);
        registers.set(reg::cfg_cmd::SRC_RAM_TYPE, 1);
        registers
    }

    #[test]
    fn lines_follow_by_the_strides_of_each_end() {
        let command = BdmaTransfer::decode(&registers()).unwrap();
        assert_eq!((command.source.ram, command.destination.ram), (Ram::Primary, Ram::Secondary));
        let source: Vec<_> = command.lines_in(command.source).collect();
        let base = 0x12_8000_0020;
        assert_eq!(source, [0, 0x80, 0x400, 0x480].map(|offset| (base + offset, 96)));
        let destination: Vec<_> = command.lines_in(command.destination).collect();
        assert_eq!(destination, [0, 0x60, 0x200, 0x260].map(|offset| (0x5000_0040 + offset, 96)));
    }

    #[test]
    fn refuses_more_lines_or_surfaces_than_the_storing_half_counts() {
        for field in [reg::cfg_line_repeat::NUMBER, reg::cfg_surf_repeat::NUMBER] {
            let mut registers = registers();
            registers.set_actual(field, 8192);
            assert!(BdmaTransfer::decode(&registers).is_ok());
            registers.set_actual(field, 8193);
            assert_eq!(BdmaTransfer::decode(&registers).unwrap_err().field, field);
        }
    }
}
