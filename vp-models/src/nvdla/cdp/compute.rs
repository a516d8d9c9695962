//! CDP's arithmetic: local response normalisation over channels, one output atom at a time or a whole cube.
//!
//! The timed engine calls [`Datapath::atom`]. Of the input it needs the atom itself and those of the surfaces
//! before and behind. [`run`] does whole cubes with it. This module has no time, registers or addresses.

use super::counters::Counters;
use super::float;
use super::layer::CdpLayer;
use super::lut::{IndexBits, Lut, Tables};
use super::window::{Gathered, MAX_LANES, MAX_REACH};
use crate::nvdla::cube::Cube;
use crate::nvdla::float::{Fp16, SpecialCounts};
use crate::nvdla::numeric::{Converter, Precision, round_shift, saturate};

/// One layer's datapath.
pub struct Datapath<'a> {
    layer: &'a CdpLayer,
    lut: Lut<'a>,
}

impl<'a> Datapath<'a> {
    /// The datapath of a layer with these table contents.
    pub fn new(layer: &'a CdpLayer, tables: &'a Tables) -> Self {
        Datapath { layer, lut: Lut { settings: &layer.lut, tables } }
    }

    /// Computes the output atom of one pixel and surface from the input atoms of the same pixel: the surface's own
    /// and its neighbours', where there are any.
    ///
    /// Panics if an atom has another size than the layer's.
    pub fn atom(
        &self,
        surface: u32,
        before: Option<&[u8]>,
        here: &[u8],
        behind: Option<&[u8]>,
        output: &mut [u8],
    ) -> Counters {
        let atoms = [before, Some(here), behind];
        match self.layer.precision {
            Precision::Fp16 => {
                let convert = |code| Fp16::from_code(code).flushed(self.layer.nan_to_zero).widened::<6, 10>();
                let elements = self.gather(surface, atoms, convert);
                let counters = float::atom(self.layer, &self.lut, &elements, output);
                Counters { input: SpecialCounts::of(here), ..counters }
            }
            _ => self.integers(&self.gather(surface, atoms, |element| self.convert_in(element)), output),
        }
    }

    /// The surface's elements with the nearest of both neighbours, converted. What lies outside the channels, lanes of
    /// the last surface included, is 0.
    fn gather<T: Copy + Default>(
        &self,
        surface: u32,
        [before, here, behind]: [Option<&[u8]>; 3],
        convert: impl Fn(i16) -> T,
    ) -> Gathered<T> {
        let CdpLayer { precision, channels, .. } = *self.layer;
        let lanes = self.layer.lanes();
        let mut elements = [T::default(); MAX_LANES + 2 * MAX_REACH];
        let first = surface as usize * lanes;
        for (index, element) in elements[..lanes + 2 * MAX_REACH].iter_mut().enumerate() {
            let Some(channel) = (first + index).checked_sub(MAX_REACH) else { continue };
            if channel >= channels as usize {
                break;
            }
            let (atom, lane) = match index {
                ..MAX_REACH => (before, lanes + index - MAX_REACH),
                _ if index < lanes + MAX_REACH => (here, index - MAX_REACH),
                _ => (behind, index - MAX_REACH - lanes),
            };
            *element = atom.map_or(T::default(), |atom| convert(read(precision, atom, lane)));
        }
        elements
    }

    /// The output atom of integers.
    fn integers(&self, elements: &Gathered<i64>, output: &mut [u8]) -> Counters {
        let precision = self.layer.precision;
        let bits = IndexBits::of(precision);
        let mut counters = Counters::default();
        for lane in 0..self.layer.lanes() {
            let centre = elements[lane + MAX_REACH];
            let sum = if self.layer.square_sum {
                let reach = self.layer.reach as usize;
                let window = &elements[lane + MAX_REACH - reach..=lane + MAX_REACH + reach];
                window.iter().map(|element| element * element).sum()
            } else {
                centre
            };
            let factor = i64::from(self.lut.lookup(sum, bits, &mut counters.lut));
            let product = if self.layer.multiply { factor * centre } else { factor };
            let (floor, result) = self.convert_out(product);
            let clamped = saturate(result, 8 * precision.bytes() as u32);
            // What the clamp changes by no more than one is not counted (C-model, `IntShiftRightSat` of the output converter).
            counters.out_saturation += u64::from((floor - clamped).abs() > 1);
            write(precision, output, lane, clamped);
        }
        counters
    }

    /// The input converter; its result has one bit more than the input.
    fn convert_in(&self, element: i16) -> i64 {
        saturate(self.layer.input.apply(element.into()), 8 * self.layer.precision.bytes() as u32 + 1)
    }

    /// The output converter, before it rounds and before it clamps.
    fn convert_out(&self, value: i64) -> (i64, i64) {
        let Converter { offset, scale, shift } = self.layer.output;
        let scaled = (value - i64::from(offset)) * i64::from(scale);
        (scaled >> shift, round_shift(scaled, shift.into()))
    }
}

fn read(precision: Precision, atom: &[u8], lane: usize) -> i16 {
    match precision {
        Precision::Int8 => i16::from(atom[lane].cast_signed()),
        Precision::Int16 | Precision::Fp16 => i16::from_le_bytes([atom[2 * lane], atom[2 * lane + 1]]),
    }
}

fn write(precision: Precision, atom: &mut [u8], lane: usize, value: i64) {
    match precision {
        Precision::Int8 => atom[lane] = value as u8,
        _ => atom[2 * lane..2 * lane + 2].copy_from_slice(&(value as i16).to_le_bytes()),
    }
}

/// Runs a whole layer.
///
/// Panics if the input's shape is not the layer's.
pub fn run(layer: &CdpLayer, tables: &Tables, input: &Cube) -> (Cube, Counters) {
    let datapath = Datapath::new(layer, tables);
    let mut output = Cube::new(layer.width, layer.height, layer.surfaces(), layer.atom);
    let mut counters = Counters::default();
    for (surface, x, y) in output.coordinates() {
        let neighbour = |surface: u32| (surface < layer.surfaces()).then(|| input.atom(surface, x, y));
        counters += datapath.atom(
            surface,
            surface.checked_sub(1).and_then(neighbour),
            input.atom(surface, x, y),
            neighbour(surface + 1),
            output.atom_mut(surface, x, y),
        );
    }
    (output, counters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lut::{self, LeIndex, Priorities, Range, Settings};
    use super::*;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::registers::Table;

    const NOWHERE: Surface = Surface {
        ram: Ram::Primary,
        base: 0,
        line_stride: 0,
        surface_stride: 0,
        pixel: 8,
        atom: 8,
        packing: Packing::Strided,
    };

    /// LRN over three channels; LE answers `entries[(x - start) >> select]`, LO never hits.
    fn layer(channels: u32) -> CdpLayer {
        CdpLayer {
            atom: 8,
            width: 1,
            height: 1,
            channels,
            precision: Precision::Int8,
            nan_to_zero: false,
            reach: 1,
            square_sum: true,
            multiply: true,
            input: Converter::IDENTITY,
            output: Converter::IDENTITY,
            lut: Settings {
                le_index: LeIndex::Linear { select: 0 },
                lo_select: 0,
                le: Range { start: -1, end: 63, ..Range::default() },
                lo: Range { start: 1 << 20, ..Range::default() },
                priorities: Priorities { underflow: Table::Le, overflow: Table::Le, hybrid: Table::Le },
            },
            source: NOWHERE,
            destination: NOWHERE,
        }
    }

    fn ramp() -> Tables {
        Tables { le: std::array::from_fn(|index| index as i16 - 1), ..Tables::default() }
    }

    fn pixel(layer: &CdpLayer, tables: &Tables, bytes: &[u8]) -> (Vec<u8>, Counters) {
        let mut input = Cube::new(1, 1, layer.surfaces(), layer.atom);
        input.as_bytes_mut().copy_from_slice(bytes);
        let (output, counters) = run(layer, tables, &input);
        (output.as_bytes().to_vec(), counters)
    }

    #[test]
    fn a_window_crosses_the_border_of_two_surfaces() {
        let (output, _) = pixel(&layer(16), &ramp(), &[0, 0, 0, 0, 0, 0, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0]);
        // Square sums 4, 5, 14, 10, 9; each times its centre.
        assert_eq!(output[5..11], [0, 10, 14, 30, 0, 0]);
    }

    #[test]
    fn lanes_beyond_the_channels_count_as_nothing() {
        let (output, counters) = pixel(&layer(7), &ramp(), &[0, 0, 0, 0, 0, 2, 1, 100]);
        assert_eq!(output, [0, 0, 0, 0, 0, 10, 5, 0]);
        assert_eq!(counters.lut.le_hit, 8);
    }

    #[test]
    fn an_offset_does_not_reach_neighbours_outside() {
        let mut layer = layer(1);
        layer.input.offset = 2;
        // (5 - 2) squared, and nothing from its neighbours.
        assert_eq!(pixel(&layer, &ramp(), &[5, 9, 9, 9, 9, 9, 9, 9]).0[..2], [27, 0]);
    }

    #[test]
    fn without_square_sum_the_centre_is_looked_up_and_without_multiplier_the_answer_is_it() {
        let mut layer = layer(8);
        (layer.square_sum, layer.multiply) = (false, false);
        layer.output.offset = 1;
        assert_eq!(pixel(&layer, &ramp(), &[9, 7, 0, 1, 2, 3, 4, 5]).0, [8, 6, 255, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn clamped_results_are_counted() {
        let mut layer = layer(8);
        layer.output.scale = 20;
        let (output, counters) = pixel(&layer, &ramp(), &[2, 0, 0, 1, 0, 0, 0, 0]);
        // 8 * 20 does not fit, 1 * 20 does.
        assert_eq!(output, [127, 0, 0, 20, 0, 0, 0, 0]);
        assert_eq!(counters.out_saturation, 1);
    }

    #[test]
    fn a_clamp_by_one_is_not_counted() {
        let mut layer = layer(8);
        for (scale, counted) in [(128, 0), (129, 1), (-129, 0), (-130, 1)] {
            layer.output.scale = scale;
            let (_, counters) = pixel(&layer, &ramp(), &[1, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(counters.out_saturation, counted, "{scale}");
        }
    }

    /// One element, straight from the arithmetic notes.
    fn obvious(layer: &CdpLayer, tables: &Tables, input: &Cube, at: (u32, u32, u32), lane: usize) -> i64 {
        let (surface, x, y) = at;
        let bits = 8 * layer.precision.bytes() as u32;
        let element = |channel: i64| {
            let (surface, lane) = (channel / layer.lanes() as i64, channel % layer.lanes() as i64);
            if !(0..i64::from(layer.channels)).contains(&channel) {
                return 0;
            }
            let raw = i64::from(read(layer.precision, input.atom(surface as u32, x, y), lane as usize));
            let scaled = (raw - i64::from(layer.input.offset)) * i64::from(layer.input.scale);
            saturate(round_shift(scaled, layer.input.shift.into()), bits + 1)
        };
        let channel = i64::from(surface) * layer.lanes() as i64 + lane as i64;
        let centre = element(channel);
        let reach = i64::from(layer.reach);
        let sum = match layer.square_sum {
            true => (channel - reach..=channel + reach).map(|channel| element(channel).pow(2)).sum(),
            false => centre,
        };
        let factor = Lut { settings: &layer.lut, tables }.lookup(
            sum,
            IndexBits::of(layer.precision),
            &mut lut::Counters::default(),
        );
        let product = if layer.multiply { i64::from(factor) * centre } else { factor.into() };
        let scaled = (product - i64::from(layer.output.offset)) * i64::from(layer.output.scale);
        saturate(round_shift(scaled, layer.output.shift.into()), bits)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_element_is_that_of_its_window(
            atom in prop_oneof![Just(8usize), Just(16), Just(32)],
            precision in prop_oneof![2 => Just(Precision::Int8), 1 => Just(Precision::Int16)],
            (width, height, channels) in (1u32..4, 1u32..3, 1u32..70),
            reach in 1u32..=4,
            (square_sum, multiply) in any::<(bool, bool)>(),
            (input, output) in (converter(), converter()),
            (start, select) in (-200i64..5000, 0i8..12),
            seed: u64,
        ) {
            use rand::{Rng, RngCore, SeedableRng};
            let mut random = rand::rngs::SmallRng::seed_from_u64(seed);
            let mut layer = CdpLayer {
                atom, precision, width, height, channels, reach, square_sum, multiply, input, output, ..layer(1)
            };
            layer.lut.le_index = LeIndex::Linear { select };
            layer.lut.le.start = start;
            layer.lut.lo = Range { start, ..Range::default() };
            let tables = Tables {
                le: std::array::from_fn(|_| random.random()),
                lo: std::array::from_fn(|_| random.random()),
            };
            let mut input = Cube::new(width, height, layer.surfaces(), atom);
            random.fill_bytes(input.as_bytes_mut());
            let (output, counters) = run(&layer, &tables, &input);
            let mut elements = 0;
            for (surface, x, y) in output.coordinates() {
                for lane in 0..layer.lanes() {
                    let expected = obvious(&layer, &tables, &input, (surface, x, y), lane);
                    let element = read(precision, output.atom(surface, x, y), lane);
                    prop_assert_eq!(i64::from(element), expected, "({}, {}, {}) lane {}", surface, x, y, lane);
                    elements += 1;
                }
            }
            let lut::Counters { underflow, overflow, hybrid, le_hit, lo_hit } = counters.lut;
            prop_assert_eq!(underflow + overflow + hybrid + le_hit + lo_hit, elements);
        }
    }

    prop_compose! {
        fn converter()(offset in -300i32..300, scale in -300i16..300, shift in 0u8..12) -> Converter {
            Converter { offset, scale, shift }
        }
    }
}
