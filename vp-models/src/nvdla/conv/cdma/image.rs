//! Images: the reads that bring a line, and the line as the buffer holds it, converted and padded at both ends.

use super::layer::Read;
use super::pixel::Format;
use crate::nvdla::conv::elements::Elements;
use crate::nvdla::cube::Ram;
use crate::nvdla::numeric::{Converter, Precision, saturate};

/// Atoms of the first and of the second plane that are read in turns.
const BUNDLE: [u32; 2] = [8, 16];

/// An image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Interface it is reached by.
    pub ram: Ram,
    /// Byte addresses of its planes.
    pub bases: [u64; 2],
    /// Bytes from a line of each plane to the next.
    pub strides: [u32; 2],
    /// Bytes of a memory atom.
    pub atom: u32,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// How pixels lie.
    pub format: Format,
    /// Components are signed.
    pub signed: bool,
    /// Pixels to skip at the start of a line.
    pub x_offset: u32,
    /// Pixels of padding at the start of a line.
    pub left: u32,
    /// Pixels of padding at its end.
    pub right: u32,
    /// What padding reads as; not converted.
    pub padding: i16,
    /// What happens to each component, if anything.
    pub converters: Option<[Converter; 4]>,
}

impl Image {
    /// Pixels of a line in the buffer.
    pub fn stored_width(&self) -> u32 {
        self.left + self.width + self.right
    }

    /// Pixels to skip in each plane. The second plane's address is that of the atom with the first pixel, so that
    /// its offset counts in an atom only (RTL, `NV_NVDLA_CDMA_IMG_ctrl.v`, `pixel_planar1_x_offset`).
    fn skipped(&self) -> [u32; 2] {
        let pixels = self.atom / self.format.pixel_bytes()[1].max(1);
        [self.x_offset, self.x_offset % pixels.max(1)]
    }

    /// Atoms of a line in each plane.
    fn atoms(&self) -> [u32; 2] {
        let (pixel, skipped) = (self.format.pixel_bytes(), self.skipped());
        [0, 1].map(|plane| match pixel[plane] {
            0 => 0,
            bytes => ((skipped[plane] + self.width) * bytes).div_ceil(self.atom),
        })
    }

    /// Bytes that are read for a line.
    pub fn bytes(&self) -> usize {
        self.atoms().iter().sum::<u32>() as usize * self.atom as usize
    }

    /// The reads of a line: a run of the first plane, then what belongs to it of the second, in turns.
    pub fn reads(&self, line: u32) -> Vec<Read> {
        let atoms = self.atoms();
        let starts = [0, atoms[0] as usize * self.atom as usize];
        let mut done = [0; 2];
        let mut reads = Vec::new();
        while done != atoms {
            for plane in 0..2 {
                let count = BUNDLE[plane].min(atoms[plane] - done[plane]);
                if count > 0 {
                    let offset = u64::from(line).wrapping_mul(u64::from(self.strides[plane]));
                    let within = u64::from(done[plane]) * u64::from(self.atom);
                    reads.push(Read {
                        address: self.bases[plane].wrapping_add(offset).wrapping_add(within),
                        bytes: count * self.atom,
                        at: starts[plane] + within as usize,
                    });
                    done[plane] += count;
                }
            }
        }
        reads
    }

    /// A line from what its reads brought.
    pub fn line(&self, precision: Precision, bytes: &[u8]) -> Elements {
        let planes = bytes.split_at(self.atoms()[0] as usize * self.atom as usize);
        let (pixel, skipped) = (self.format.pixel_bytes().map(|bytes| bytes as usize), self.skipped());
        let channels = self.format.channels() as usize;
        let components = (0..self.width as usize * channels).map(|index| {
            let (x, channel) = (index / channels, index % channels);
            let at = |plane: usize| (x + skipped[plane] as usize) * pixel[plane];
            let component =
                self.format.component(channel, [&planes.0[at(0)..], &planes.1[at(1)..]], self.signed);
            match self.converters {
                None => raw(precision, component),
                Some(converters) => saturate(converters[channel].apply(component), 17),
            }
        });
        let line = Elements::saturated(precision, components);
        let mut stored = Elements::filled(precision, self.padding, self.stored_width() as usize * channels);
        stored.copy(self.left as usize * channels, &line, 0, line.len());
        stored
    }
}

/// A component that is not converted: its bits are taken as they are.
fn raw(precision: Precision, component: i32) -> i64 {
    match precision {
        Precision::Int8 => i64::from(component as i8),
        Precision::Int16 | Precision::Fp16 => i64::from(component as i16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::cdma::d_datain_format::PIXEL_FORMAT as P;

    fn image(code: u32, width: u32) -> Image {
        Image {
            ram: Ram::Primary,
            bases: [0x1000, 0x9000],
            strides: [0x100, 0x200],
            atom: 8,
            width,
            height: 4,
            format: Format::named(code).unwrap(),
            signed: false,
            x_offset: 0,
            left: 0,
            right: 0,
            padding: 0,
            converters: None,
        }
    }

    #[test]
    fn the_second_plane_is_read_in_turns_with_the_first() {
        let reads: Vec<_> = image(P::T_Y8___U8V8_N444, 70)
            .reads(1)
            .iter()
            .map(|read| (read.address, read.bytes, read.at))
            .collect();
        assert_eq!(reads, [(0x1100, 64, 0), (0x9200, 128, 72), (0x1140, 8, 64), (0x9280, 16, 200)]);
    }

    #[test]
    fn an_offset_skips_pixels_and_reads_their_atoms() {
        let image = Image { x_offset: 3, left: 1, right: 2, padding: 7, ..image(P::T_A8B8G8R8, 1) };
        assert_eq!(image.reads(0).iter().map(|read| read.bytes).sum::<u32>(), 16);
        let bytes: Vec<u8> = (0..16).collect();
        let expected = [[7; 4], [12, 13, 14, 15], [7; 4], [7; 4]].concat();
        assert_eq!(image.line(Precision::Int8, &bytes), Elements::Int8(expected));
    }

    #[test]
    fn the_mean_of_each_component_is_taken_off() {
        let converter = |offset| Converter { offset, scale: 2, shift: 0 };
        let converters = Some([10, 20, -30, 0].map(converter));
        let image = Image { converters, ..image(P::T_A8B8G8R8, 2) };
        let line = image.line(Precision::Int8, &[10, 25, 0, 3, 0, 0, 100, 255]);
        assert_eq!(line, Elements::Int8(vec![0, 10, 60, 6, -20, -40, 127, 127]));
    }
}
