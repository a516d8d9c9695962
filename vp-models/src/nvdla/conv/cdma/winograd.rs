//! Feature data cubes for Winograd's method. CDMA pads them on all sides. Where kernels move by more than a
//! pixel, it turns the pixels of one step into channels, so that CSC finds kernels of 3 x 3 that move pixel by
//! pixel.

use super::feature::Feature;
use super::read::Read;
use crate::nvdla::conv::elements::Elements;
use crate::nvdla::numeric::Precision;

/// Atoms of one read.
const READ_ATOMS: u32 = 8;

/// A cube, padded and spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winograd {
    /// Cube that lies in memory.
    pub feature: Feature,
    /// Pixels of padding left of it.
    pub left: u32,
    /// Right of it.
    pub right: u32,
    /// Lines above it.
    pub top: u32,
    /// Below it.
    pub bottom: u32,
    /// Value that padding reads as, before it is converted as data are.
    pub padding: i16,
    /// Steps of the kernels.
    pub step: [u32; 2],
}

impl Winograd {
    /// Lines that are fetched together: those of a tile.
    pub const LINES: u32 = 4;

    /// Columns and lines with padding.
    pub fn padded(&self) -> [u32; 2] {
        let Feature { width, height, .. } = self.feature;
        [self.left + width + self.right, self.top + height + self.bottom]
    }

    /// Pixels of a line in the buffer.
    pub fn width(&self) -> u32 {
        self.padded()[0] / self.step[0]
    }

    /// Lines in the buffer.
    pub fn height(&self) -> u32 {
        self.padded()[1] / self.step[1]
    }

    /// Channels in the buffer.
    pub fn channels(&self) -> u32 {
        self.feature.channels * self.step[0] * self.step[1]
    }

    /// The lines in memory that make some of the buffer.
    fn memory_lines(&self, first: u32, lines: u32) -> std::ops::Range<u32> {
        let line = |line: u32| (line * self.step[1]).saturating_sub(self.top).min(self.feature.height);
        line(first)..line(first + lines)
    }

    /// Bytes that are read for so many lines from `first` on.
    pub fn bytes(&self, first: u32, lines: u32) -> usize {
        self.feature.bytes(self.memory_lines(first, lines).len() as u32)
    }

    /// Cycles in which what lines need is asked for, padding too, and one at the end.
    pub fn request_cycles(&self) -> u64 {
        let of_line = self.parts().count() as u64;
        u64::from(self.feature.surfaces() * self.step[1] * Self::LINES) * of_line + 1
    }

    /// The parts of a padded line, up to eight atoms each of padding or of data: the atoms, and for data the first pixel.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u32, Option<u32>)> + use<> {
        let pieces = [(self.left, false), (self.feature.width, true), (self.right, false)];
        pieces.into_iter().flat_map(|(size, is_data)| {
            let starts = (0..size).step_by(READ_ATOMS as usize);
            starts.map(move |at| ((size - at).min(READ_ATOMS), is_data.then_some(at)))
        })
    }

    /// Returns the line in memory of a padded one, if it is none of padding.
    pub(super) fn data_line(&self, padded: u32) -> Option<u32> {
        padded.checked_sub(self.top).filter(|line| *line < self.feature.height)
    }

    /// The reads of `lines` lines from `first` on: surface by surface; within a surface, lines are grouped by
    /// their position within the kernels' step; of each group, four lines in turns, eight atoms of each (RTL,
    /// branch nvdlav1, `NV_NVDLA_CDMA_wg.v`, `req_surf_cnt`, `req_y_std_cnt`, `req_sub_h_cnt`, `req_sub_w_cur`). Padding is asked for as data is, a part
    /// a cycle (`dma_rsp_dummy`).
    pub fn reads(&self, first: u32, lines: u32) -> Vec<Read> {
        let Feature { surface, width, .. } = self.feature;
        let (there, atom) = (self.memory_lines(first, lines), surface.pixel);
        let (mut reads, mut cycle) = (Vec::new(), 0);
        for plane in 0..self.feature.surfaces() {
            for of_step in 0..self.step[1] {
                for (atoms, pixel) in self.parts() {
                    for line in first..first + lines {
                        let line = self.data_line(line * self.step[1] + of_step);
                        if let (Some(line), Some(pixel)) = (line, pixel) {
                            let before = plane as usize * there.len() + (line - there.start) as usize;
                            reads.push(Read {
                                address: surface.address(plane, pixel, line),
                                bytes: atoms * atom,
                                at: (before * width as usize + pixel as usize) * atom as usize,
                                cycle,
                            });
                        }
                        cycle += 1;
                    }
                }
            }
        }
        reads
    }

    /// A pixel of padding in the buffer. CDMA puts it in place of what a read brings, in front of the converter (RTL, branch nvdlav1,
    /// `NV_NVDLA_CDMA_wg.v`, dma_pad_data).
    fn padding_pixel(&self, precision: Precision) -> Elements {
        let Feature { format, channels, .. } = self.feature;
        let repeated = &self.padding.to_le_bytes()[..precision.bytes()];
        let bytes: Vec<u8> =
            repeated.iter().copied().cycle().take(channels as usize * format.bytes()).collect();
        self.feature.brought(precision, Elements::from_bytes(format, &bytes))
    }

    /// Returns `lines` lines for the buffer from `first` on, from the data of their reads. The channels
    /// of a pixel are those of each position in the step, with lines slowest.
    pub fn lines(&self, precision: Precision, first: u32, lines: u32, bytes: &[u8]) -> Vec<Elements> {
        let there = self.memory_lines(first, lines);
        let count = there.len() as u32;
        let of_memory: Vec<Elements> =
            (0..count).map(|line| self.feature.line(precision, line, count, bytes)).collect();
        let (channels, [right, down]) = (self.feature.channels as usize, self.step);
        let (padding, length) = (self.padding_pixel(precision), (self.width() * self.channels()) as usize);
        let line = |line: u32| {
            let mut all = Elements::filled(precision, 0, length);
            (0..length).step_by(channels).for_each(|place| all.copy(place, &padding, 0, channels));
            for of_step in 0..down {
                let padded = line * down + of_step;
                let Some(source) = padded
                    .checked_sub(self.top)
                    .filter(|line| there.contains(line))
                    .map(|line| &of_memory[(line - there.start) as usize])
                else {
                    continue;
                };
                for x in 0..self.feature.width {
                    let (pixel, step) = ((x + self.left) / right, (x + self.left) % right);
                    let place = (pixel * right * down + of_step * right + step) as usize * channels;
                    all.copy(place, source, x as usize * channels, channels);
                }
            }
            all
        };
        (first..first + lines).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::numeric::Converter;

    fn cube(step: [u32; 2]) -> Winograd {
        let feature = Feature {
            surface: Surface {
                ram: Ram::Primary,
                base: 0x1000,
                line_stride: 0x100,
                surface_stride: 0x1000,
                pixel: 1,
                atom: 1,
                packing: Packing::Strided,
            },
            width: 3,
            height: 3,
            channels: 1,
            lanes: 1,
            surfaces_at_once: 1,
            grain: 1,
            cubes: 1,
            cube_stride: 0,
            format: Precision::Int8,
            nan_to_zero: false,
            converter: None,
        };
        Winograd { feature, left: 1, right: 4, top: 1, bottom: 4, padding: 9, step }
    }

    #[test]
    fn a_cube_is_padded_on_all_sides() {
        let cube = cube([1, 1]);
        assert_eq!((cube.width(), cube.height(), cube.channels()), (8, 8, 1));
        let bytes: Vec<u8> = (0..9).collect();
        assert_eq!(cube.bytes(0, 4), 9);
        let lines = cube.lines(Precision::Int8, 0, 4, &bytes);
        let padding = Elements::Int8(vec![9; 8]);
        let line = |first: i8| Elements::Int8(vec![9, first, first + 1, first + 2, 9, 9, 9, 9]);
        assert_eq!(lines, [padding.clone(), line(0), line(3), line(6)]);
        assert_eq!((cube.bytes(4, 4), cube.lines(Precision::Int8, 4, 4, &[])), (0, vec![padding; 4]));
    }

    #[test]
    fn padding_is_converted_as_data_are() {
        let mut cube = cube([1, 1]);
        cube.feature.converter = Some(Converter { offset: 1, scale: 2, shift: 0 });
        let lines = cube.lines(Precision::Int8, 4, 1, &[]);
        assert_eq!(lines, [Elements::Int8(vec![16; 8])]);
    }

    #[test]
    fn what_kernels_step_over_becomes_channels() {
        let cube = cube([2, 2]);
        assert_eq!((cube.width(), cube.height(), cube.channels()), (4, 4, 4));
        let bytes: Vec<u8> = (0..9).collect();
        let lines = cube.lines(Precision::Int8, 0, 2, &bytes);
        // Pixels (0, 0) and (1, 0): each the upper line's two, then the lower line's.
        let first = [9, 9, 9, 0, 9, 9, 1, 2];
        assert_eq!(lines[0], Elements::Int8([&first[..], &[9; 8]].concat()));
        assert_eq!(lines[1], Elements::Int8([&[9, 3, 9, 6, 4, 5, 7, 8][..], &[9; 8]].concat()));
    }

    #[test]
    fn lines_of_one_step_are_read_together() {
        let lines: Vec<_> = cube([2, 2]).reads(0, 4).iter().map(|read| (read.address, read.at)).collect();
        // Lines 1 and 3 of the padded cube are 0 and 2 of memory.
        assert_eq!(lines, [(0x1100, 3), (0x1000, 0), (0x1200, 6)]);
    }
}
