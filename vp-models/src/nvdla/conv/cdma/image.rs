//! Images: the reads that bring a line, and the line as the buffer holds it, converted and padded at both ends.

use super::pixel::Format;
use super::read::Read;
use crate::nvdla::conv::elements::Elements;
use crate::nvdla::cube::Ram;
use crate::nvdla::float::SpecialCounts;
use crate::nvdla::numeric::{Converter, Precision, saturate};

/// Atoms of the first and of the second plane that are read in turns (RTL, `NV_NVDLA_CDMA_IMG_sg.v`, `bundle_limit`).
const BUNDLE: [u32; 2] = [8, 16];

/// Modulus in which the atoms of padding behind a line of each plane are counted (`pixel_planar0_rp_burst_w[3:0]`,
/// `pixel_planar1_rp_burst_w[2:0]`).
const RIGHT_ATOMS: [u32; 2] = [16, 8];

/// A run of atoms of a line, all read or all only padding, for which CDMA makes one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Atoms.
    pub atoms: u32,
    /// True if the atoms are read; else they are padding.
    pub reads: bool,
    /// True if the run is the line's first of its plane.
    pub first: bool,
    /// Plane of the run.
    pub plane: usize,
    /// With it everything is there that is packed together.
    pub ends_bundle: bool,
}

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
    /// Format of the pixels.
    pub format: Format,
    /// Components are signed.
    pub signed: bool,
    /// Pixels to skip at the start of a line.
    pub x_offset: u32,
    /// Pixels of padding at the start of a line.
    pub left: u32,
    /// Pixels of padding at its end.
    pub right: u32,
    /// Value that padding reads as; not converted.
    pub padding: i16,
    /// Components that are floating-point and not numbers are brought as 0.
    pub nan_to_zero: bool,
    /// Conversion of each component that is an integer, if there is one.
    pub converters: Option<[Converter; 4]>,
}

impl Image {
    /// Pixels of a line in the buffer.
    pub fn stored_width(&self) -> u32 {
        self.left + self.width + self.right
    }

    /// Pixels that a memory atom holds of each plane.
    fn pixels_of_atom(&self) -> [u32; 2] {
        self.format.pixel_bytes().map(|bytes| (self.atom / bytes.max(1)).max(1))
    }

    /// Pixels to skip in each plane, by the register. The second plane's address is that of the atom with the first pixel, so that
    /// its offset counts in an atom only (RTL, `NV_NVDLA_CDMA_IMG_ctrl.v`, `pixel_planar1_x_offset`).
    fn skipped(&self) -> [u32; 2] {
        [self.x_offset, self.x_offset % self.pixels_of_atom()[1]]
    }

    /// Pixels in front of the first one that is taken. Shifts are made within an atom, so that of an offset beyond one only what
    /// the padding's atoms make up for counts (RTL, `NV_NVDLA_CDMA_IMG_ctrl.v`, `pixel_element_sft_w` and `lp_burst_w`).
    fn passed(&self) -> [u32; 2] {
        let (skipped, pixels) = (self.skipped(), self.pixels_of_atom());
        [0, 1].map(|plane| {
            let padded = self.left % pixels[plane];
            let beyond = skipped[plane].checked_sub(padded);
            beyond.map_or(skipped[plane], |beyond| padded + beyond % pixels[plane])
        })
    }

    /// If the offset is beyond a line's first atom: the pixels of an atom, and those in front of the first one
    /// that is taken.
    pub fn offset_beyond_an_atom(&self) -> Option<[u32; 2]> {
        let pixels = self.pixels_of_atom()[0];
        (self.x_offset >= pixels).then(|| [pixels, self.passed()[0]])
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

    /// Returns true if pixels lie in two planes.
    fn two_planes(&self) -> bool {
        self.format.pixel_bytes()[1] > 0
    }

    /// Atoms of a line in one plane: padding, pixels, padding (RTL, `NV_NVDLA_CDMA_IMG_ctrl.v`, `lp_burst`,
    /// `w_burst`, `rp_burst`).
    fn sections(&self, plane: usize) -> [u32; 3] {
        let pixels = self.pixels_of_atom()[plane];
        let skipped = self.skipped()[plane];
        let left = self.left / pixels + u32::from(skipped < self.left % pixels);
        let all = (self.left + self.width - 1 + self.right) / pixels + 2;
        let read = self.atoms()[plane];
        // Behind an offset beyond an atom more is read than is needed, and the rest wraps.
        let right = all.wrapping_sub(left + read) % RIGHT_ATOMS[plane];
        [left, read, right]
    }

    /// The slots of one plane of a line, by bundles: an atom more in the first.
    fn bundles(&self, plane: usize) -> Vec<Vec<Slot>> {
        let mut bundles = vec![Vec::new()];
        let (mut room, mut first) = (BUNDLE[plane] + 1, true);
        for (section, mut left) in self.sections(plane).into_iter().enumerate() {
            while left > 0 {
                if room == 0 {
                    room = BUNDLE[plane];
                    bundles.push(Vec::new());
                }
                let atoms = left.min(room);
                if let Some(bundle) = bundles.last_mut() {
                    bundle.push(Slot { atoms, reads: section == 1, first, plane, ends_bundle: false });
                }
                (left, room, first) = (left - atoms, room - atoms, false);
            }
        }
        bundles
    }

    /// The slots of a line: a bundle of the first plane, then the matching one of the second, in turns.
    pub fn slots(&self) -> Vec<Slot> {
        let planes = if self.two_planes() { 2 } else { 1 };
        let mut planes: Vec<_> = (0..planes).map(|plane| self.bundles(plane).into_iter()).collect();
        let mut slots = Vec::<Slot>::new();
        loop {
            let before = slots.len();
            slots.extend(planes.iter_mut().filter_map(Iterator::next).flatten());
            if slots.len() == before {
                return slots;
            }
            if let Some(last) = slots.last_mut() {
                last.ends_bundle = true;
            }
        }
    }

    /// Returns true if a line of two planes is complete in the buffer a cycle later than one of one plane, where beats have `of_beat` atoms: each
    /// beat waits a cycle for the second plane, but for a last one that needs nothing more of it (RTL, `NV_NVDLA_CDMA_IMG_ctrl.v`,
    /// `pixel_early_end_w`; `_IMG_pack.v`, `pk_rsp_vld_d1_w`).
    pub fn is_packed_later(&self, of_beat: u32) -> bool {
        // The RTL counts the line's pixels in a beat's bytes, and three components of each.
        let beat = self.atom * of_beat;
        let pixels = self.stored_width() % beat;
        let tail = (pixels * 3 * self.format.pixel_bytes()[0]).div_ceil(beat);
        let ends_early = match (tail, of_beat) {
            (1 | 4, _) => true,
            (2, 1) => 2 * pixels > beat,
            // Branch nvdlav1: by the parity of the second plane's last pair of atoms (`pixel_planar1_total_burst_w`).
            (2 | 5, 2) => ((self.stored_width() - 1) / self.pixels_of_atom()[1] + 2) & 2 == 0,
            _ => false,
        };
        self.two_planes() && !ends_early
    }

    /// Cycles in which the requests of a line are made: one each, and one at the end.
    pub fn request_cycles(&self) -> u64 {
        self.slots().len() as u64 + 1
    }

    /// The reads of a line.
    pub fn reads(&self, line: u32) -> Vec<Read> {
        let starts = [0, self.atoms()[0] as usize * self.atom as usize];
        let mut done = [0; 2];
        let mut reads = Vec::new();
        for (cycle, Slot { atoms, plane, .. }) in (0..).zip(self.slots()).filter(|(_, slot)| slot.reads) {
            let offset = u64::from(line).wrapping_mul(u64::from(self.strides[plane]));
            let within = u64::from(done[plane]) * u64::from(self.atom);
            reads.push(Read {
                // The bus takes whole atoms, also where address and stride have lower bits (RTL, `NV_NVDLA_CDMA_IMG_sg`, req_addr).
                address: self.bases[plane].wrapping_add(offset).wrapping_add(within)
                    & !(u64::from(self.atom) - 1),
                bytes: atoms * self.atom,
                at: starts[plane] + within as usize,
                cycle,
            });
            done[plane] += atoms;
        }
        reads
    }

    /// The number of components of a line that are not finite numbers: of all that is read from the first pixel
    /// on.
    pub fn specials(&self, bytes: &[u8]) -> SpecialCounts {
        if !self.format.is_float() {
            return SpecialCounts::default();
        }
        let skipped = (self.passed()[0] * self.format.pixel_bytes()[0]) as usize;
        SpecialCounts::of(bytes.get(skipped..).unwrap_or_default())
    }

    /// A line from what its reads brought.
    pub fn line(&self, precision: Precision, bytes: &[u8]) -> Elements {
        let planes = bytes.split_at(self.atoms()[0] as usize * self.atom as usize);
        let (pixel, skipped) = (self.format.pixel_bytes().map(|bytes| bytes as usize), self.passed());
        let channels = self.format.channels() as usize;
        let mut stored = Elements::filled(precision, self.padding, self.stored_width() as usize * channels);
        if let (Elements::Int8(stored), None, Some(places)) =
            (&mut stored, &self.converters, self.format.bytes_of_pixel())
        {
            // A byte each, taken as they are: only their order changes.
            let start = skipped[0] as usize * pixel[0];
            let pixels = planes.0[start..].chunks_exact(pixel[0]).take(self.width as usize);
            let places = &places[..channels];
            let left = self.left as usize * channels;
            for (stored, pixel) in stored[left..].chunks_exact_mut(channels).zip(pixels) {
                for (stored, &place) in stored.iter_mut().zip(places) {
                    *stored = pixel[place as usize].cast_signed();
                }
            }
            return Elements::Int8(std::mem::take(stored));
        }
        let components = (0..self.width as usize).flat_map(|x| {
            let at = |plane: usize| (x + skipped[plane] as usize) * pixel[plane];
            let pixel = [&planes.0[at(0)..], &planes.1[at(1)..]];
            (0..channels).map(move |channel| (channel, self.format.component(channel, pixel, self.signed)))
        });
        let mut line = match &self.converters {
            // Bits are taken as they are.
            None => Elements::raw(precision, components.map(|(_, component)| component)),
            Some(converters) => {
                let convert =
                    |(channel, component): (usize, i32)| saturate(converters[channel].apply(component), 17);
                Elements::saturated(precision, components.map(convert))
            }
        };
        if self.nan_to_zero && self.format.is_float() {
            line.flush();
        }
        stored.copy(self.left as usize * channels, &line, 0, line.len());
        stored
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT as P;

    /// Pixels of this format in lines of this many, at an atom of 8 bytes.
    pub(in super::super) fn image(code: u32, width: u32) -> Image {
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
            nan_to_zero: false,
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
        assert_eq!(reads, [(0x1100, 72, 0), (0x9200, 136, 72), (0x9288, 8, 208)]);
    }

    #[test]
    fn padding_takes_requests_as_well() {
        let image = Image { x_offset: 1, left: 3, right: 28, ..image(P::T_A8B8G8R8, 10) };
        let slots: Vec<_> =
            image.slots().iter().map(|slot| (slot.atoms, slot.reads, slot.ends_bundle)).collect();
        // Two pixels an atom: one atom and a bit before the first pixel.
        assert_eq!(
            slots,
            [(1, false, false), (6, true, false), (2, false, true), (8, false, true), (5, false, true)]
        );
        assert_eq!(image.reads(0).iter().map(|read| read.cycle).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn an_offset_skips_pixels_and_reads_their_atoms() {
        let image = Image { x_offset: 1, left: 1, right: 2, padding: 7, ..image(P::T_A8B8G8R8, 2) };
        assert_eq!(image.reads(0).iter().map(|read| read.bytes).sum::<u32>(), 16);
        let bytes: Vec<u8> = (0..16).collect();
        let expected = [[7; 4], [4, 5, 6, 7], [8, 9, 10, 11], [7; 4], [7; 4]].concat();
        assert_eq!(image.line(Precision::Int8, &bytes), Elements::Int8(expected));
    }

    /// As img_nv_small_2019 (offset 2 behind 3 pixels of padding is 2) and 2033 (9 without padding is 1) on the RTL.
    #[test]
    fn an_offset_beyond_an_atom_counts_within_the_atom_and_the_padding() {
        let first = |x_offset, left, code| {
            let image = Image { x_offset, left, ..image(code, 4) };
            (image.passed()[0], image.offset_beyond_an_atom())
        };
        assert_eq!(first(2, 3, P::T_A8B8G8R8), (2, Some([2, 2])));
        assert_eq!(first(9, 0, P::T_A8B8G8R8), (1, Some([2, 1])));
        assert_eq!(first(7, 3, P::T_R8), (7, None));
        assert_eq!(first(22, 0, P::T_R8), (6, Some([8, 6])));
        // All of the atoms up to the offset are read all the same; what is left of the line's padding wraps.
        let far = Image { x_offset: 22, ..image(P::T_R8, 7) };
        assert_eq!(far.sections(0), [0, 4, 14]);
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
