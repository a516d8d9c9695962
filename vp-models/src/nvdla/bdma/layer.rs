//! One BDMA command: the contents of the registers when `CFG_OP` queues it.
//!
//! BDMA has no register groups: a command is taken as a whole, so that the next one can be written while it waits.

use crate::nvdla::cube::{Packing, Ram, Surface};
use crate::nvdla::dma::Lines;
use crate::nvdla::encode::{self, Encoded};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, RegisterMap, Unit, bdma as reg};

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
    /// Place from which the transfer reads.
    pub source: Surface,
    /// Place to which the transfer writes.
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
        let end = |ram, low, high, line, surface| {
            let strides = [line, surface].map(|field| registers.actual(field));
            BdmaTransfer::place(Ram::from_field(registers.get(ram)), registers.address(low, high), strides)
        };
        Ok(BdmaTransfer {
            line: registers.actual(reg::CFG_LINE::SIZE) * ATOM,
            lines: repeat(reg::CFG_LINE_REPEAT::NUMBER)?,
            surfaces: repeat(reg::CFG_SURF_REPEAT::NUMBER)?,
            source: end(
                reg::CFG_CMD::SRC_RAM_TYPE,
                reg::CFG_SRC_ADDR_LOW::V32,
                reg::CFG_SRC_ADDR_HIGH::V8,
                reg::CFG_SRC_LINE::STRIDE,
                reg::CFG_SRC_SURF::STRIDE,
            ),
            destination: end(
                reg::CFG_CMD::DST_RAM_TYPE,
                reg::CFG_DST_ADDR_LOW::V32,
                reg::CFG_DST_ADDR_HIGH::V8,
                reg::CFG_DST_LINE::STRIDE,
                reg::CFG_DST_SURF::STRIDE,
            ),
        })
    }

    /// Returns the transfer's registers, all but `CFG_OP`.
    pub fn fields(&self) -> Encoded {
        let BdmaTransfer { line, lines, surfaces, source, destination } = *self;
        let high = |address: u64| (address >> 32) as u32;
        let fields = [
            (reg::CFG_SRC_ADDR_LOW::V32, source.base as u32),
            (reg::CFG_SRC_ADDR_HIGH::V8, high(source.base)),
            (reg::CFG_DST_ADDR_LOW::V32, destination.base as u32),
            (reg::CFG_DST_ADDR_HIGH::V8, high(destination.base)),
            (reg::CFG_LINE::SIZE, line / ATOM),
            (reg::CFG_CMD::SRC_RAM_TYPE, source.ram.field()),
            (reg::CFG_CMD::DST_RAM_TYPE, destination.ram.field()),
            (reg::CFG_LINE_REPEAT::NUMBER, lines),
            (reg::CFG_SRC_LINE::STRIDE, source.line_stride),
            (reg::CFG_DST_LINE::STRIDE, destination.line_stride),
            (reg::CFG_SURF_REPEAT::NUMBER, surfaces),
            (reg::CFG_SRC_SURF::STRIDE, source.surface_stride),
            (reg::CFG_DST_SURF::STRIDE, destination.surface_stride),
        ];
        Encoded::of(Unit::Bdma, fields)
    }

    /// Returns the registers of [`BdmaTransfer::fields`], checked: the inverse of [`BdmaTransfer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let group = fields.group(Unit::Bdma, map)?;
        encode::check(self, BdmaTransfer::decode(&group), (&group, reg::CFG_LINE::SIZE))?;
        Ok(fields)
    }

    /// A place of lines in memory.
    pub fn place(ram: Ram, base: u64, [line_stride, surface_stride]: [u32; 2]) -> Surface {
        Surface { ram, base, line_stride, surface_stride, pixel: ATOM, atom: ATOM, packing: Packing::Strided }
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
    use proptest::prelude::*;

    fn registers() -> Group {
        let mut registers = Group::new(Unit::Bdma, RegisterMap::Full);
        let (low, high) = (reg::CFG_SRC_ADDR_LOW::V32, reg::CFG_SRC_ADDR_HIGH::V8);
        registers.set_address(low, high, 0x12_8000_0020);
        registers.set_address(reg::CFG_DST_ADDR_LOW::V32, reg::CFG_DST_ADDR_HIGH::V8, 0x5000_0040);
        registers.set_actual(reg::CFG_LINE::SIZE, 3);
        registers.set_actual(reg::CFG_LINE_REPEAT::NUMBER, 2);
        registers.set_actual(reg::CFG_SURF_REPEAT::NUMBER, 2);
        registers.set_actual(reg::CFG_SRC_LINE::STRIDE, 0x80);
        registers.set_actual(reg::CFG_SRC_SURF::STRIDE, 0x400);
        registers.set_actual(reg::CFG_DST_LINE::STRIDE, 0x60);
        registers.set_actual(reg::CFG_DST_SURF::STRIDE, 0x200);
        registers.set(reg::CFG_CMD::SRC_RAM_TYPE, 1);
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
        for field in [reg::CFG_LINE_REPEAT::NUMBER, reg::CFG_SURF_REPEAT::NUMBER] {
            let mut registers = registers();
            registers.set_actual(field, 8192);
            assert!(BdmaTransfer::decode(&registers).is_ok());
            registers.set_actual(field, 8193);
            assert_eq!(BdmaTransfer::decode(&registers).unwrap_err().field, field);
        }
    }

    fn place() -> impl Strategy<Value = Surface> {
        (any::<bool>(), 0u64..1 << 40, 0u32..1 << 27, 0u32..1 << 27).prop_map(|(ram, base, line, surface)| {
            let ram = if ram { Ram::Primary } else { Ram::Secondary };
            BdmaTransfer::place(ram, base / 32 * 32, [32 * line, 32 * surface])
        })
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            (source, destination) in (place(), place()),
            atoms in 1u32..=8192,
            (lines, surfaces) in (1u32..=8192, 1u32..=8192),
        ) {
            let transfer = BdmaTransfer { line: ATOM * atoms, lines, surfaces, source, destination };
            let group = transfer.encode(RegisterMap::Full).unwrap().group(Unit::Bdma, RegisterMap::Full).unwrap();
            prop_assert_eq!(BdmaTransfer::decode(&group).unwrap(), transfer);
        }
    }

    #[test]
    fn an_encoder_refuses_what_registers_cannot_say_and_what_the_decoder_refuses() {
        let transfer = BdmaTransfer::decode(&registers()).unwrap();
        let refused = |transfer: BdmaTransfer| transfer.encode(RegisterMap::Full).unwrap_err().to_string();
        assert_eq!(
            refused(BdmaTransfer { lines: 8193, ..transfer }),
            "BDMA.CFG_LINE_REPEAT.NUMBER = 0x2000: the unit that stores counts to 8192"
        );
        let odd = Surface { line_stride: 0x61, ..transfer.source };
        assert_eq!(
            refused(BdmaTransfer { source: odd, ..transfer }),
            "BDMA.CFG_SRC_LINE.STRIDE = 0x61: the register has no bits for it"
        );
        assert!(refused(BdmaTransfer { line: 40, ..transfer }).contains("registers cannot say"));
    }
}
