//! Feature data cubes: the reads that bring some of their lines, and lines as the buffer holds them.

use super::read::Read;
use crate::nvdla::conv::elements::Elements;
use crate::nvdla::cube::{self, Packing, Surface};
use crate::nvdla::numeric::{Converter, Precision, saturate};

/// Atoms of one read.
const READ_ATOMS: u32 = 8;

/// Cycles at the end of the surfaces that are read in turns.
const END_OF_TURNS: u64 = 1;

/// A feature data cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Place of the cube in memory.
    pub surface: Surface,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
    /// Elements of an atom.
    pub lanes: u32,
    /// Surfaces that are read in turns.
    pub surfaces_at_once: u32,
    /// Lines that are read together: more than one if they lie back to back.
    pub grain: u32,
    /// Cubes, of each of which these lines are read.
    pub cubes: u32,
    /// Bytes from a cube to the next.
    pub cube_stride: u32,
    /// Format in memory.
    pub format: Precision,
    /// In fp16, elements that are not numbers are brought as 0.
    pub nan_to_zero: bool,
    /// Conversion of each integer, if there is one.
    pub converter: Option<Converter>,
}

impl Feature {
    /// Surfaces of the cube.
    pub fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes as usize)
    }

    /// Bytes that are read for so many lines, of all cubes.
    pub fn bytes(&self, lines: u32) -> usize {
        self.cubes as usize * self.cube_bytes(lines)
    }

    /// Bytes that are read for so many lines, of one cube.
    fn cube_bytes(&self, lines: u32) -> usize {
        self.surfaces() as usize * (lines * self.width) as usize * self.surface.pixel as usize
    }

    /// Separate runs of atoms, and the atoms of a line in each.
    pub fn runs(&self) -> (u32, u32) {
        match self.surface.packing {
            Packing::Packed => (1, self.surfaces()),
            Packing::Strided => (self.surfaces(), self.width),
        }
    }

    /// Cycles in which these reads are made, and one at the end (RTL, `NV_NVDLA_CDMA_dc.v`, `req_pre_valid`).
    pub fn request_cycles(&self, reads: &[Read]) -> u64 {
        reads.last().map_or(0, |last| last.cycle + 1 + END_OF_TURNS) + 1
    }

    /// The reads of `lines` lines from `first` on: cube by cube; within a cube surface by surface, or some
    /// surfaces in turns, each read up to the next multiple of eight atoms (RTL, `NV_NVDLA_CDMA_dc.v`,
    /// `req_atm_size`, `req_batch_cnt`). A read takes a cycle; so does the turn of a surface of which all is asked for while another is not done,
    /// and the end of those that are read in turns (`cur_atm_done`, `is_req_atm_end`).
    pub fn reads(&self, first: u32, lines: u32) -> Vec<Read> {
        let mut reads = Vec::new();
        for cube in 0..self.cubes {
            self.cube_reads(cube, first, lines, &mut reads);
        }
        reads
    }

    fn cube_reads(&self, cube: u32, first: u32, lines: u32, reads: &mut Vec<Read>) {
        let atom = self.surface.pixel;
        let (surfaces, atoms) = self.runs();
        let atoms = match self.surface.packing {
            Packing::Packed => atoms,
            Packing::Strided => lines * atoms,
        };
        let offset = u64::from(cube).wrapping_mul(self.cube_stride.into());
        let begin = cube as usize * self.cube_bytes(lines);
        let mut cycle = reads.last().map_or(0, |last| last.cycle + 1 + END_OF_TURNS);
        for together in (0..surfaces).step_by(self.surfaces_at_once.max(1) as usize) {
            let turns = together..surfaces.min(together + self.surfaces_at_once.max(1));
            let mut done = vec![0; turns.len()];
            let mut left = turns.len() as u32 * atoms;
            while left > 0 {
                for (done, surface) in done.iter_mut().zip(turns.clone()) {
                    if left == 0 {
                        break;
                    }
                    if *done == atoms {
                        cycle += 1;
                        continue;
                    }
                    let start = self.surface.address(surface, 0, first).wrapping_add(offset);
                    // The start's place among eight atoms shortens the first read only.
                    let limit = match *done {
                        0 => READ_ATOMS - (start / u64::from(atom) % u64::from(READ_ATOMS)) as u32,
                        _ => READ_ATOMS,
                    };
                    let count = limit.min(atoms - *done);
                    reads.push(Read {
                        address: start.wrapping_add(u64::from(*done) * u64::from(atom)),
                        bytes: count * atom,
                        at: begin + (surface as usize * atoms as usize + *done as usize) * atom as usize,
                        cycle,
                    });
                    (*done, left, cycle) = (*done + count, left - count, cycle + 1);
                }
            }
            cycle += END_OF_TURNS;
        }
    }

    /// Line `line` of `lines` that were read together: cube after cube, pixel after pixel, all channels of each.
    pub fn line(&self, precision: Precision, line: u32, lines: u32, bytes: &[u8]) -> Elements {
        let cubes = bytes.chunks_exact(self.cube_bytes(lines).max(1));
        Elements::joined(precision, cubes.map(|bytes| self.cube_line(precision, line, lines, bytes)))
    }

    fn cube_line(&self, precision: Precision, line: u32, lines: u32, bytes: &[u8]) -> Elements {
        let (width, channels, lanes) = (self.width as usize, self.channels as usize, self.lanes as usize);
        let atoms = lines as usize * width;
        let mut elements = Elements::filled(self.format, 0, width * channels);
        let atoms_read = Elements::from_bytes(self.format, bytes);
        for surface in 0..self.surfaces() as usize {
            let count = lanes.min(channels - surface * lanes);
            for x in 0..width {
                let atom = surface * atoms + line as usize * width + x;
                elements.copy(x * channels + surface * lanes, &atoms_read, atom * lanes, count);
            }
        }
        self.brought(precision, elements)
    }

    /// Elements of this format as the buffer gets them.
    pub(super) fn brought(&self, precision: Precision, mut elements: Elements) -> Elements {
        if self.nan_to_zero {
            elements.flush();
        }
        match self.converter {
            None => elements,
            Some(converter) => {
                let converted = elements.values().map(|value| saturate(converter.apply(value as i32), 17));
                Elements::saturated(precision, converted)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::cube::Ram;

    fn cube(width: u32, channels: u32, surfaces_at_once: u32) -> Feature {
        Feature {
            surface: Surface {
                ram: Ram::Primary,
                base: 0x1010,
                line_stride: 0x100,
                surface_stride: 0x1000,
                pixel: 8,
                atom: 8,
                packing: Packing::Strided,
            },
            width,
            height: 4,
            channels,
            lanes: 8,
            surfaces_at_once,
            grain: 1,
            cubes: 1,
            cube_stride: 0,
            format: Precision::Int8,
            nan_to_zero: false,
            converter: None,
        }
    }

    fn addresses(feature: &Feature, lines: u32) -> Vec<(u64, u32)> {
        feature.reads(1, lines).iter().map(|read| (read.address, read.bytes / 8)).collect()
    }

    #[test]
    fn a_line_is_read_surface_by_surface_up_to_eight_atoms_at_once() {
        let reads = addresses(&cube(12, 16, 1), 1);
        assert_eq!(reads, [(0x1110, 6), (0x1140, 6), (0x2110, 6), (0x2140, 6)]);
    }

    #[test]
    fn surfaces_are_read_in_turns_where_the_dma_is_wide() {
        let reads = addresses(&cube(12, 24, 2), 1);
        let expected = [(0x1110, 6), (0x2110, 6), (0x1140, 6), (0x2140, 6), (0x3110, 6), (0x3140, 6)];
        assert_eq!(reads, expected);
    }

    #[test]
    fn a_surface_of_which_all_is_asked_for_keeps_its_turn() {
        let mut feature = cube(5, 16, 2);
        feature.surface.surface_stride = 0x28;
        let reads = feature.reads(0, 1);
        let expected = [(0x1010, 5, 0), (0x1038, 1, 1), (0x1040, 4, 3)];
        assert_eq!(reads.iter().map(|it| (it.address, it.bytes / 8, it.cycle)).collect::<Vec<_>>(), expected);
        assert_eq!(feature.request_cycles(&reads), 6);
    }

    #[test]
    fn lines_back_to_back_are_read_together() {
        assert_eq!(addresses(&cube(3, 8, 1), 3), [(0x1110, 6), (0x1140, 3)]);
    }

    #[test]
    fn surfaces_of_one_packed_pixel_are_one_line() {
        let mut feature = cube(1, 30, 1);
        feature.surface.packing = Packing::Packed;
        let reads: Vec<_> =
            feature.reads(0, 1).iter().map(|read| (read.address, read.bytes, read.at)).collect();
        assert_eq!(reads, [(0x1010, 32, 0)]);
    }

    #[test]
    fn a_line_has_exactly_its_channels() {
        let feature = cube(2, 10, 1);
        let bytes: Vec<u8> = (0..feature.bytes(2) as u8).collect();
        let line = feature.line(Precision::Int8, 1, 2, &bytes);
        let channels = |x: i8| [16, 17, 18, 19, 20, 21, 22, 23, 48, 49].map(|byte: i8| byte + 8 * x);
        assert_eq!(line, Elements::Int8([channels(0), channels(1)].concat()));
    }
}
