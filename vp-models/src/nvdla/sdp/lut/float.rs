//! The tables in fp16: inputs, starts and ends are codes of binary32, entries and slopes of binary16; the answer is
//! computed in 17 bits. Slopes have no shift.

use super::{Chosen, Counters, FRACTION_BITS, LO_INTERVALS, LeIndex, Lut, RangePosition};
use crate::nvdla::float::{Fp17, Fp32};
use crate::nvdla::lut::float::{linear, widened};
use crate::nvdla::registers::Table;

impl Lut<'_> {
    /// Looks up one element, and counts it.
    pub fn lookup_float(&self, x: Fp32, counters: &mut Counters) -> Fp32 {
        let settings = self.settings;
        let distance = |start: i32| x - Fp32::from_bits(start.cast_unsigned());
        let le_place = settings.le_index.place_float(distance(settings.le.start), FRACTION_BITS);
        let lo_place = linear(distance(settings.lo.start), settings.lo_select, LO_INTERVALS, FRACTION_BITS);
        let Chosen { table, place, range, entries } = self.chosen(le_place, lo_place, counters);
        let (bound, slope, entry) = match place {
            RangePosition::Inside { index, fraction } => {
                return interpolate(entries[index], entries[index + 1], fraction).widened();
            }
            RangePosition::Below => (range.start, range.underflow, entries[0]),
            RangePosition::Above => (range.end, range.overflow, entries[entries.len() - 1]),
        };
        let bias = match (table, place, settings.le_index) {
            (Table::Le, RangePosition::Below, LeIndex::Exponent { offset }) => Fp32::power_of_two(offset),
            _ => Fp32::ZERO,
        };
        let bound = Fp32::from_bits(bound.cast_unsigned()) + bias;
        let rise = (x - bound).to_fp17() * widened(slope.scale);
        (widened(entry) + rise).widened()
    }
}

/// Interpolates between two entries. Both weights are rounded to 17 bits, each by itself.
fn interpolate(here: i16, next: i16, fraction: u64) -> Fp17 {
    let of_here = match fraction {
        0 => Fp17::ONE,
        _ => Fp17::from_fraction((1 << FRACTION_BITS) - fraction, FRACTION_BITS),
    };
    of_here * widened(here) + Fp17::from_fraction(fraction, FRACTION_BITS) * widened(next)
}
