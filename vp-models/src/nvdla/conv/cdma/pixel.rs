//! Pixel formats: how the components of a pixel lie in memory.
//!
//! Whatever the format, components come out as R, G, B, A or Y, U, V, A.

use crate::nvdla::formats::Formats;
use std::ops::Range;

/// Codes of `PIXEL_FORMAT` with all components in one plane.
pub const PACKED: Range<u32> = 0..28;
/// Codes with two planes.
pub const SEMI_PLANAR: Range<u32> = 28..36;

/// Layout of the components of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// One component.
    Single,
    /// Four, and where the first, second, third and fourth lie among them.
    Interleaved([u8; 4]),
    /// Three of ten bits and one of two in a word; the lowest bit of each. They become the upper bits of 16.
    Packed([u8; 4]),
    /// The first in a plane of its own, the others in pairs in a second one; whether the pair begins with the
    /// second component.
    SemiPlanar { u_first: bool },
}

/// A pixel format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Code of the format in `PIXEL_FORMAT`.
    code: u32,
    layout: Layout,
    /// Bytes of a component, unpacked.
    element_bytes: u32,
    /// Components are codes of binary16.
    is_float: bool,
}

impl Format {
    /// The format of a code of `D_DATAIN_FORMAT.PIXEL_FORMAT`; `None` for codes that are not used.
    pub fn named(code: u32) -> Option<Format> {
        use crate::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT as P;
        let bytes = |element_bytes, layout| Some(Format { code, layout, element_bytes, is_float: false });
        let floats = |layout| Some(Format { code, layout, element_bytes: 2, is_float: true });
        let packed = |lowest| bytes(2, Layout::Packed(lowest));
        match code {
            P::T_R8 => bytes(1, Layout::Single),
            P::T_R10 | P::T_R12 | P::T_R16 | P::T_R16_I => bytes(2, Layout::Single),
            P::T_A8B8G8R8 | P::T_X8B8G8R8 => bytes(1, Layout::Interleaved([0, 1, 2, 3])),
            P::T_A8R8G8B8 | P::T_X8R8G8B8 | P::T_A8Y8U8V8 => bytes(1, Layout::Interleaved([2, 1, 0, 3])),
            P::T_B8G8R8A8 | P::T_B8G8R8X8 | P::T_V8U8Y8A8 => bytes(1, Layout::Interleaved([1, 2, 3, 0])),
            P::T_R8G8B8A8 | P::T_R8G8B8X8 => bytes(1, Layout::Interleaved([3, 2, 1, 0])),
            P::T_A16B16G16R16 | P::T_X16B16G16R16 => bytes(2, Layout::Interleaved([0, 1, 2, 3])),
            P::T_A16Y16U16V16 => bytes(2, Layout::Interleaved([2, 1, 0, 3])),
            P::T_V16U16Y16A16 => bytes(2, Layout::Interleaved([1, 2, 3, 0])),
            P::T_R16_F => floats(Layout::Single),
            P::T_A16B16G16R16_F => floats(Layout::Interleaved([0, 1, 2, 3])),
            P::T_A16Y16U16V16_F => floats(Layout::Interleaved([2, 1, 0, 3])),
            P::T_A2B10G10R10 => packed([0, 10, 20, 30]),
            P::T_A2R10G10B10 | P::T_A2Y10U10V10 => packed([20, 10, 0, 30]),
            P::T_B10G10R10A2 | P::T_V10U10Y10A2 => packed([2, 12, 22, 0]),
            P::T_R10G10B10A2 => packed([22, 12, 2, 0]),
            P::T_Y8___U8V8_N444 => bytes(1, Layout::SemiPlanar { u_first: false }),
            P::T_Y8___V8U8_N444 => bytes(1, Layout::SemiPlanar { u_first: true }),
            P::T_Y10___U10V10_N444 | P::T_Y12___U12V12_N444 | P::T_Y16___U16V16_N444 => {
                bytes(2, Layout::SemiPlanar { u_first: false })
            }
            P::T_Y10___V10U10_N444 | P::T_Y12___V12U12_N444 | P::T_Y16___V16U16_N444 => {
                bytes(2, Layout::SemiPlanar { u_first: true })
            }
            _ => None,
        }
    }

    /// Of these codes, as bits from the first on, those of the formats that hardware can read which computes in
    /// `precisions`.
    pub fn mask(codes: Range<u32>, precisions: Formats) -> u32 {
        let first = codes.start;
        let is_read = |code: &u32| Format::named(*code).is_some_and(|format| format.is_read(precisions));
        codes.filter(is_read).fold(0, |mask, code| mask | 1 << (code - first))
    }

    /// Returns true if hardware that computes in `precisions` can read this format. If that is int8 alone,
    /// `NV_NVDLA_CDMA_IMG_pack` unpacks bytes only (branch `nv_small`: it lacks what `pixel_packed_10b`
    /// selects).
    pub fn is_read(&self, precisions: Formats) -> bool {
        match (self.is_float, self.element_bytes) {
            (true, _) => precisions.fp16,
            (false, 1) => true,
            (false, _) => precisions.int16,
        }
    }

    /// Returns the format's code in `PIXEL_FORMAT`.
    pub const fn code(&self) -> u32 {
        self.code
    }

    /// Components of a pixel.
    pub const fn channels(&self) -> u32 {
        match self.layout {
            Layout::Single => 1,
            Layout::Interleaved(_) | Layout::Packed(_) => 4,
            Layout::SemiPlanar { .. } => 3,
        }
    }

    /// Bytes of a component as it goes to the converter.
    pub const fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    /// Returns true if components are floating-point.
    pub const fn is_float(&self) -> bool {
        self.is_float
    }

    /// Bytes of a pixel in the first and the second plane; 0 if there is none.
    pub const fn pixel_bytes(&self) -> [u32; 2] {
        match self.layout {
            Layout::Single => [self.element_bytes, 0],
            Layout::Interleaved(_) => [4 * self.element_bytes, 0],
            Layout::Packed(_) => [4, 0],
            Layout::SemiPlanar { .. } => [self.element_bytes, 2 * self.element_bytes],
        }
    }

    /// Returns the place of each component among the bytes of a pixel, if each is a byte of one plane.
    pub const fn bytes_of_pixel(&self) -> Option<[u8; 4]> {
        match (self.layout, self.element_bytes) {
            (Layout::Single, 1) => Some([0; 4]),
            (Layout::Interleaved(places), 1) => Some(places),
            _ => None,
        }
    }

    /// Component `channel` of a pixel whose bytes in each plane are given. Panics if they are too few.
    pub fn component(&self, channel: usize, planes: [&[u8]; 2], signed: bool) -> i32 {
        let element = |plane: &[u8], index: usize| match self.element_bytes {
            1 => u16::from(plane[index]),
            _ => u16::from_le_bytes([plane[2 * index], plane[2 * index + 1]]),
        };
        let raw = match self.layout {
            Layout::Single => element(planes[0], 0),
            Layout::Interleaved(places) => element(planes[0], places[channel] as usize),
            Layout::Packed(lowest) => {
                let word = planes[0][..4].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
                let shift = if channel == 3 { 14 } else { 6 };
                // Bits above the component fall out at the top.
                ((word >> lowest[channel]) << shift) as u16
            }
            Layout::SemiPlanar { .. } if channel == 0 => element(planes[0], 0),
            Layout::SemiPlanar { u_first } => element(planes[1], usize::from((channel == 1) != u_first)),
        };
        match (signed, self.element_bytes) {
            (false, _) => i32::from(raw),
            (true, 1) => i32::from(raw as u8 as i8),
            (true, _) => i32::from(raw as i16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT as P;

    fn components(code: u32, first: &[u8], second: &[u8]) -> Vec<i32> {
        let format = Format::named(code).expect("a format");
        (0..format.channels() as usize)
            .map(|channel| format.component(channel, [first, second], false))
            .collect()
    }

    #[test]
    fn hardware_with_int8_alone_reads_bytes_alone() {
        let int8 = Format::mask(PACKED, Formats::INT8);
        assert_eq!(int8, 0xc0f_f001);
        assert_eq!(int8 & 1 << P::T_A2B10G10R10, 0);
        assert_eq!(Format::mask(SEMI_PLANAR, Formats::INT8), 3);
        let all = Format::mask(PACKED, Formats::ALL);
        assert!([P::T_A2B10G10R10, P::T_R16_F, P::T_R16].iter().all(|code| all & 1 << code != 0));
        assert_eq!(Format::mask(SEMI_PLANAR, Formats::ALL), 0xff);
    }

    #[test]
    fn names_read_from_the_highest_byte_to_the_lowest_but_for_those_that_read_the_other_way() {
        let bytes = [1, 2, 3, 4];
        assert_eq!(components(P::T_A8B8G8R8, &bytes, &[]), [1, 2, 3, 4]);
        assert_eq!(components(P::T_A8R8G8B8, &bytes, &[]), [3, 2, 1, 4]);
        assert_eq!(components(P::T_B8G8R8A8, &bytes, &[]), [2, 3, 4, 1]);
        assert_eq!(components(P::T_R8G8B8A8, &bytes, &[]), [4, 3, 2, 1]);
    }

    #[test]
    fn ten_bits_become_the_upper_ones_of_sixteen() {
        let word = (2 << 30 | 0x111 << 20 | 0x222 << 10 | 0x333u32).to_le_bytes();
        let wide = |ten: i32| ten << 6;
        assert_eq!(
            components(P::T_A2B10G10R10, &word, &[]),
            [wide(0x333), wide(0x222), wide(0x111), 2 << 14]
        );
    }

    #[test]
    fn chroma_comes_from_the_second_plane() {
        assert_eq!(components(P::T_Y8___U8V8_N444, &[1], &[2, 3]), [1, 3, 2]);
        assert_eq!(components(P::T_Y8___V8U8_N444, &[1], &[2, 3]), [1, 2, 3]);
    }

    #[test]
    fn signs_are_those_of_the_component() {
        let eight = Format::named(P::T_R8).unwrap();
        assert_eq!([false, true].map(|signed| eight.component(0, [&[0x80], &[]], signed)), [0x80, -0x80]);
        let sixteen = Format::named(P::T_R16).unwrap();
        assert_eq!(
            [false, true].map(|signed| sixteen.component(0, [&[0, 0x80], &[]], signed)),
            [0x8000, -0x8000]
        );
    }

    #[test]
    fn floats_are_told_apart_and_codes_without_a_format_are_none() {
        let is_float = |code| Format::named(code).map(|format| (format.is_float(), format.channels()));
        assert_eq!([P::T_R16_F, P::T_A16B16G16R16_F].map(is_float), [Some((true, 1)), Some((true, 4))]);
        assert_eq!([P::T_R16, 63].map(is_float), [Some((false, 1)), None]);
    }
}
