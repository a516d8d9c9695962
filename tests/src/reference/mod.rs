//! Convolution, SDP, PDP and CDP a second time, as plainly as they can be said: what tests trust.
//!
//! Scalar loops over channel, line and column, written from the description of the arithmetic alone. Nothing here
//! calls the models' own arithmetic (but for the products of fp16, see [`float`]) or address generation, and nothing
//! here is fast.

mod cdp;
mod conv;
mod cpu;
pub mod float;
mod lut;
mod network;
mod pdp;
mod sdp;
mod tiles;
mod winograd;

pub use cdp::CdpLayer;
pub use conv::{
    Batches, Compressed, ConvInput, ConvLayer, Mode, Pixels, WeightOrder, Winograd, run_convolution,
    run_convolution_to_pdp,
};
pub use lut::{Lut, LutTable};
pub use network::{run_layers, run_layers_by, run_network, run_outputs};
pub use pdp::{PdpLayer, PoolingMethod};
pub use sdp::{
    Alu, Carries, Converter, Elementwise, ElementwiseAlu, ElementwiseMultiplier, ElementwiseOperand, Operand,
    Operands, SdpLayer, Stage, StageAlu, StageMultiplier,
};

/// Some regions of memory, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    regions: Vec<(u64, Vec<u8>)>,
}

impl Image {
    /// Regions of these first addresses and contents.
    pub fn new(regions: Vec<(u64, Vec<u8>)>) -> Image {
        Image { regions }
    }

    /// First address and bytes of each region.
    pub fn regions(&self) -> &[(u64, Vec<u8>)] {
        &self.regions
    }

    fn find(&self, address: u64) -> (usize, usize) {
        let inside = |(base, bytes): &(u64, Vec<u8>)| {
            address.checked_sub(*base).filter(|offset| *offset < bytes.len() as u64)
        };
        let mut found = self.regions.iter().enumerate().filter_map(|(i, region)| Some((i, inside(region)?)));
        let (region, offset) = found.next().unwrap_or_else(|| panic!("{address:#x} is in no region"));
        (region, offset as usize)
    }

    /// A signed little-endian element of one or two bytes.
    pub fn element(&self, address: u64, bytes: u32) -> i32 {
        let byte = |at: u64| {
            let (region, offset) = self.find(at);
            self.regions[region].1[offset]
        };
        match bytes {
            1 => i32::from(byte(address) as i8),
            _ => i32::from(i16::from_le_bytes([byte(address), byte(address + 1)])),
        }
    }

    /// Stores such an element.
    pub fn store(&mut self, address: u64, bytes: u32, value: i32) {
        for (byte, at) in value.to_le_bytes().into_iter().take(bytes as usize).zip(address..) {
            let (region, offset) = self.find(at);
            self.regions[region].1[offset] = byte;
        }
    }
}

/// Layout of elements in an atom of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bytes of an atom: 8, 16 or 32.
    pub atom: u32,
    /// Bytes of an element: 1 or 2.
    pub element: u32,
}

impl Format {
    /// Elements in an atom.
    pub fn lanes(self) -> u32 {
        self.atom / self.element
    }

    /// The channels that are computed: whole atoms of them.
    pub fn whole(self, channels: u32) -> u32 {
        channels.div_ceil(self.lanes()) * self.lanes()
    }
}

/// Place of a cube. Addresses from 0x8000_0000 on are those of the primary memory, others of the secondary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubePlace {
    /// Address of the first element.
    pub base: u64,
    /// Bytes from line to line.
    pub line: u32,
    /// Bytes from surface to surface.
    pub surface: u32,
}

impl CubePlace {
    /// Address of an element.
    pub fn address(&self, format: Format, channel: u32, y: u32, x: u32) -> u64 {
        let lanes = format.lanes();
        self.base
            + u64::from(channel / lanes) * u64::from(self.surface)
            + u64::from(y) * u64::from(self.line)
            + u64::from(x) * u64::from(format.atom)
            + u64::from(channel % lanes) * u64::from(format.element)
    }

    /// Returns the cube as SDP lays it when it is a single pixel: one atom a surface, back to back.
    fn packed_if(self, single_pixel: bool, atom: u32) -> CubePlace {
        if single_pixel { CubePlace { surface: atom, ..self } } else { self }
    }
}

/// Elements by channel, line and column; all lanes of the last atom included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    width: u32,
    height: u32,
    channels: u32,
    values: Vec<i32>,
}

impl Cube {
    fn of(width: u32, height: u32, channels: u32, mut value: impl FnMut(u32, u32, u32) -> i32) -> Cube {
        let mut values = Vec::new();
        for channel in 0..channels {
            for y in 0..height {
                for x in 0..width {
                    values.push(value(channel, y, x));
                }
            }
        }
        Cube { width, height, channels, values }
    }

    fn at(&self, channel: u32, y: u32, x: u32) -> i32 {
        self.values[((channel * self.height + y) * self.width + x) as usize]
    }

    fn store(&self, image: &mut Image, format: Format, place: CubePlace) {
        for channel in 0..self.channels {
            for y in 0..self.height {
                for x in 0..self.width {
                    let address = place.address(format, channel, y, x);
                    image.store(address, format.element, self.at(channel, y, x));
                }
            }
        }
    }
}

/// Runs a layer of SDP.
pub fn run_sdp(layer: &SdpLayer, lut: &Lut, image: &mut Image) {
    let results = layer.results(lut, image);
    if let Some(place) = layer.destination {
        let single = layer.width == 1 && layer.height == 1;
        results.store(image, layer.format, place.packed_if(single, layer.format.atom));
    }
}

/// Runs a layer of PDP that reads memory.
///
/// # Panics
/// When it takes its input from SDP.
pub fn run_pdp(layer: &PdpLayer, image: &mut Image) {
    let source = layer.source.expect("a layer that reads memory");
    let (format, channels) = (layer.format, layer.format.whole(layer.channels));
    let input = Cube::of(layer.width, layer.height, channels, |channel, y, x| {
        image.element(source.address(format, channel, y, x), format.element)
    });
    layer.results(&input).store(image, format, layer.destination);
}

/// Runs a layer of SDP whose output goes to a layer of PDP on the fly.
pub fn run_sdp_to_pdp(sdp: &SdpLayer, pdp: &PdpLayer, image: &mut Image) {
    let between = sdp.results(&Lut::default(), image);
    pdp.results(&between).store(image, pdp.format, pdp.destination);
}

/// Runs a layer of CDP.
pub fn run_cdp(layer: &CdpLayer, lut: &Lut, image: &mut Image) {
    layer.results(lut, image).store(image, layer.format, layer.destination);
}

/// Shifts right, to the left if negative: to the nearest, ties away from zero.
fn shift_rounding(value: i128, shift: i32) -> i128 {
    if shift <= 0 {
        return value << -shift;
    }
    if shift > 120 {
        return 0;
    }
    let magnitude = (value.abs() + (1 << (shift - 1))) >> shift;
    if value < 0 { -magnitude } else { magnitude }
}

/// The nearest signed number of that many bits.
fn saturate(value: i128, bits: u32) -> i128 {
    value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_round_ties_away_from_zero() {
        let shifted = [(5, 1), (-5, 1), (3, 2), (-2, 2), (1, 2), (-1, 2)].map(|(v, s)| shift_rounding(v, s));
        assert_eq!(shifted, [3, -3, 1, -1, 0, 0]);
    }

    #[test]
    fn a_cube_of_four_by_twenty_two_by_forty_two_lies_as_the_vendor_says() {
        let (small, place) =
            (Format { atom: 8, element: 1 }, CubePlace { base: 0, line: 0x60, surface: 0xa00 });
        assert_eq!(place.address(small, 9, 2, 3), 0xa00 + 0xc0 + 0x18 + 1);
    }
}
