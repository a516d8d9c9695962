//! Pace of input where a beat of the bus is two atoms, as on nv_full.
//!
//! What comes waits in FIFOs in front of CDMA, and the bus for nothing; here is the time from which CSC can use the lines that came together.
//! Times count in cycles since the layer begins, as CDMA's DMA port sees them (RTL, branch nvdlav1).

use super::feature::Feature;
use super::layer::Input;
use super::winograd::Winograd;

/// From the bus to CDMA's port.
const TO_PORT: u64 = 4;
/// From the last atoms of features, read out of the shared buffer, until CSC can use them; at the port (seen at cdma2sc_dat_updt).
const FEATURES_TO_USABLE: u64 = 16;
/// From the last atoms of an image's line at the port (seen at cdma2sc_dat_updt; it goes through a packer).
const IMAGES_TO_USABLE: u64 = 20;
/// From the last cube of Winograd's method in the buffer's reader (seen at cdma2sc_dat_updt).
const TILES_TO_USABLE: u64 = 18;
/// Cycles in which four columns and lines of an atom leave the shared buffer (`NV_NVDLA_CDMA_wg.v`, rd_sub_cnt).
const TILE_CYCLES: u64 = 8;
/// Number of tiles waiting there that stops what comes (`NV_NVDLA_CDMA_wg.v`, sbuf_blocking).
const TILES_WAITING: usize = 8;

/// Progress of a layer's input, in cycles since it begins.
#[derive(Default)]
pub(super) struct WidePace {
    /// Cycle from which the next lines are taken.
    free: u64,
    /// Cycle from which the reader of tiles is free.
    reader: u64,
    /// Cycles in which the last tiles left.
    left: [u64; TILES_WAITING],
    tiles: usize,
}

impl WidePace {
    /// Returns the cycle from which CSC can use `lines` lines from `first` on, whose last beat was on the bus in cycle `due`.
    pub(super) fn usable(&mut self, input: &Input, first: u32, lines: u32, due: u64) -> u64 {
        let port = due + TO_PORT;
        match input {
            Input::Feature(feature) => self.passed(port, feature_cycles(feature, lines)) + FEATURES_TO_USABLE,
            Input::Image(image) => {
                let atoms = (image.bytes() / image.atom.max(1) as usize) as u64;
                // Two atoms a cycle are packed, and a line's end takes one.
                self.passed(port, (atoms.div_ceil(2), atoms.div_ceil(2) + 1)) + IMAGES_TO_USABLE
            }
            Input::Winograd(extended) => self.tiles(extended, first, port) + TILES_TO_USABLE,
        }
    }

    /// Returns the cycle behind lines that come in so many cycles and are passed on in so many.
    fn passed(&mut self, port: u64, (come, passed): (u64, u64)) -> u64 {
        self.free = self.free.max((port + 1).saturating_sub(come)) + passed;
        self.free
    }

    /// Returns the cycle behind the last tile of four lines: columns and lines go in turns into the shared buffer, of padding as of data, and
    /// leave it tile by tile (`NV_NVDLA_CDMA_wg.v`, req_sub_h_cnt, sbuf_avl_cube).
    fn tiles(&mut self, extended: &Winograd, first: u32, port: u64) -> u64 {
        let [right, down] = extended.step;
        let Feature { width, height, .. } = extended.feature;
        let above = i64::from(extended.top);
        let pieces = [(extended.left, false), (width, true), (extended.right, false)];
        let data = |line: u32| (0..i64::from(height)).contains(&(i64::from(line) - above));
        let lines = |of_step: u32| (0..Winograd::LINES).map(move |line| (first + line) * down + of_step);
        let rows = || (0..extended.feature.surfaces()).flat_map(|_| 0..down);
        let beats = |atoms: u32| u64::from(atoms.div_ceil(2));
        // Beats of data that are still to come.
        let of_line: u64 = parts(width).map(beats).sum();
        let mut missing = rows().flat_map(lines).filter(|&line| data(line)).count() as u64 * of_line;
        for of_step in rows() {
            let (mut columns, mut whole) = (0, 0);
            for (size, is_data) in pieces {
                for part in parts(size) {
                    for line in lines(of_step) {
                        self.free += beats(part);
                        if is_data && data(line) {
                            missing -= beats(part);
                            self.free = self.free.max(port.saturating_sub(missing));
                        }
                    }
                    columns += part;
                    let tiles = columns / (4 * right) * right;
                    for _ in whole..tiles {
                        let place = self.tiles % TILES_WAITING;
                        self.free = self.free.max(self.left[place]);
                        self.reader = self.reader.max(self.free + 1) + TILE_CYCLES;
                        self.left[place] = self.reader;
                        self.tiles += 1;
                    }
                    whole = tiles;
                }
            }
        }
        self.reader
    }
}

/// The pieces of eight atoms, and the rest, in which so many are asked for.
fn parts(atoms: u32) -> impl Iterator<Item = u32> {
    (0..atoms).step_by(8).map(move |at| (atoms - at).min(8))
}

/// Cycles in which so many lines of features come at best, and in which they are read out of the shared buffer: two atoms of a surface, or one
/// of each of two. A read of another number stops what comes for a cycle (`NV_NVDLA_CDMA_dc.v`, rsp_ch0_rd_one, is_blocking).
fn feature_cycles(feature: &Feature, lines: u32) -> (u64, u64) {
    let (surfaces, width) = feature.runs();
    let width = u64::from(width);
    let of_pair = |first: u32| match (surfaces - first, first & 2) {
        (1, 0) => width.div_ceil(2) + width % 2,
        (1, _) => width,
        _ => (3 * width).div_ceil(2),
    };
    let lines = u64::from(lines) * u64::from(feature.cubes);
    let passed: u64 = (0..surfaces).step_by(2).map(of_pair).sum();
    (lines * u64::from(surfaces) * width.div_ceil(2), lines * passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::numeric::Precision;

    fn feature(width: u32, height: u32, surfaces: u32) -> Feature {
        let surface = Surface {
            ram: Ram::Primary,
            base: 0,
            line_stride: 0x400,
            surface_stride: 0x4000,
            pixel: 32,
            atom: 32,
            packing: Packing::Strided,
        };
        Feature {
            surface,
            width,
            height,
            channels: 16 * surfaces,
            lanes: 16,
            surfaces_at_once: 2,
            grain: 1,
            cubes: 1,
            cube_stride: 0,
            format: Precision::Fp16,
            nan_to_zero: false,
            converter: None,
        }
    }

    /// On the RTL lines of seven atoms that came without a gap, in cycles 336 to 355, could be used from 360, 366, 371, 377 and 381 on.
    #[test]
    fn lines_that_have_come_are_passed_on_without_waiting_for_each_other() {
        let (mut pace, input) = (WidePace::default(), Input::Feature(feature(7, 5, 1)));
        let usable = [339, 343, 347, 351, 355].map(|due| pace.usable(&input, 0, 1, due));
        assert_eq!(usable, [360 + 1, 366, 371, 376, 381]);
    }

    #[test]
    fn surfaces_in_pairs_and_a_third_one_come_slower() {
        assert_eq!(feature_cycles(&feature(8, 1, 1), 1), (4, 4));
        assert_eq!(feature_cycles(&feature(8, 1, 2), 1), (8, 12));
        assert_eq!(feature_cycles(&feature(8, 1, 3), 2), (24, 40));
    }

    /// On the RTL a cube of five columns and a line, padded to sixteen and eight, could be used from 414 and 450 on where its last beat was
    /// on the bus in cycle 345.
    #[test]
    fn tiles_leave_one_behind_the_other_those_of_padding_too() {
        let feature = Feature { lanes: 32, channels: 32, ..feature(5, 1, 1) };
        let extended = Winograd { feature, left: 0, right: 11, top: 1, bottom: 6, padding: 0, step: [1, 1] };
        let (mut pace, input) =
            (WidePace { free: 300, reader: 300, ..WidePace::default() }, Input::Winograd(extended));
        let usable = [pace.usable(&input, 0, 4, 345), pace.usable(&input, 4, 4, 0)];
        assert_eq!(usable, [414, 450]);
    }
}
