//! All formats of pixels, as the description of their names says it: from the highest byte or bits of a pixel to the
//! lowest, but that some name the components of a word the other way round.

use vp_models::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT as P;

/// A format of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PixelFormat {
    /// Code of the format.
    pub(super) code: u32,
    /// Bytes of a component.
    pub(super) element: u32,
    /// Components in each plane; of packed ones those that would be as long.
    pub(super) components: [u32; 2],
    /// Plane and place of each channel.
    pub(super) channels: &'static [(usize, u32)],
    /// Of three channels with ten bits and one with two in a word, the lowest bit of each.
    pub(super) packed: Option<[u32; 4]>,
}

type Channels = &'static [(usize, u32)];

const SINGLE: Channels = &[(0, 0)];
const ABGR: Channels = &[(0, 0), (0, 1), (0, 2), (0, 3)];
const ARGB: Channels = &[(0, 2), (0, 1), (0, 0), (0, 3)];
const BGRA: Channels = &[(0, 1), (0, 2), (0, 3), (0, 0)];
const RGBA: Channels = &[(0, 3), (0, 2), (0, 1), (0, 0)];
/// The second component of a pair is U.
const UV: Channels = &[(0, 0), (1, 1), (1, 0)];
const VU: Channels = &[(0, 0), (1, 0), (1, 1)];

const fn of(code: u32, element: u32, channels: Channels) -> PixelFormat {
    let components = match channels.len() {
        1 => [1, 0],
        3 => [1, 2],
        _ => [4, 0],
    };
    PixelFormat { code, element, components, channels, packed: None }
}

const fn packed(code: u32, lowest: [u32; 4]) -> PixelFormat {
    PixelFormat { code, element: 2, components: [2, 0], channels: ABGR, packed: Some(lowest) }
}

/// Components of a byte.
pub(super) const PIXELS_8: [PixelFormat; 13] = [
    of(P::T_R8, 1, SINGLE),
    of(P::T_A8B8G8R8, 1, ABGR),
    of(P::T_X8B8G8R8, 1, ABGR),
    of(P::T_A8R8G8B8, 1, ARGB),
    of(P::T_X8R8G8B8, 1, ARGB),
    of(P::T_A8Y8U8V8, 1, ARGB),
    of(P::T_B8G8R8A8, 1, BGRA),
    of(P::T_B8G8R8X8, 1, BGRA),
    of(P::T_V8U8Y8A8, 1, BGRA),
    of(P::T_R8G8B8A8, 1, RGBA),
    of(P::T_R8G8B8X8, 1, RGBA),
    of(P::T_Y8___U8V8_N444, 1, UV),
    of(P::T_Y8___V8U8_N444, 1, VU),
];

/// Components of two bytes, or that become such.
pub(super) const PIXELS_16: [PixelFormat; 20] = [
    of(P::T_R10, 2, SINGLE),
    of(P::T_R12, 2, SINGLE),
    of(P::T_R16, 2, SINGLE),
    of(P::T_R16_I, 2, SINGLE),
    of(P::T_A16B16G16R16, 2, ABGR),
    of(P::T_X16B16G16R16, 2, ABGR),
    of(P::T_A16Y16U16V16, 2, ARGB),
    of(P::T_V16U16Y16A16, 2, BGRA),
    packed(P::T_A2B10G10R10, [0, 10, 20, 30]),
    packed(P::T_A2R10G10B10, [20, 10, 0, 30]),
    packed(P::T_A2Y10U10V10, [20, 10, 0, 30]),
    packed(P::T_B10G10R10A2, [2, 12, 22, 0]),
    packed(P::T_V10U10Y10A2, [2, 12, 22, 0]),
    packed(P::T_R10G10B10A2, [22, 12, 2, 0]),
    of(P::T_Y10___U10V10_N444, 2, UV),
    of(P::T_Y10___V10U10_N444, 2, VU),
    of(P::T_Y12___U12V12_N444, 2, UV),
    of(P::T_Y12___V12U12_N444, 2, VU),
    of(P::T_Y16___U16V16_N444, 2, UV),
    of(P::T_Y16___V16U16_N444, 2, VU),
];

/// Codes of fp16.
pub(super) const PIXELS_FLOAT: [PixelFormat; 3] =
    [of(P::T_R16_F, 2, SINGLE), of(P::T_A16B16G16R16_F, 2, ABGR), of(P::T_A16Y16U16V16_F, 2, ARGB)];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use vp_models::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT;

    #[test]
    fn no_format_is_left_out() {
        let all = PIXELS_8.into_iter().chain(PIXELS_16).chain(PIXELS_FLOAT);
        let codes: BTreeSet<u32> = all.map(|format| format.code).collect();
        let named = (0..64).filter(|&code| PIXEL_FORMAT.value_name(code).is_some());
        assert_eq!(codes, named.collect());
    }
}
