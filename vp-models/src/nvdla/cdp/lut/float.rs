//! The tables in fp16: inputs, starts and ends are codes of binary32 (the low words of their registers), entries and
//! slopes of binary16; the answer is computed in 17 bits. Slopes have no shift.

use super::{Chosen, Counters, FRACTION_BITS, LO_INTERVALS, LeIndex, Lut, RangePosition};
use crate::nvdla::float::{Fp16, Fp17, Fp32};
use crate::nvdla::lut::float::{linear, widened};
use crate::nvdla::registers::Table;

impl Lut<'_> {
    /// Looks up one input, and counts it.
    pub fn lookup_float(&self, x: Fp32, counters: &mut Counters) -> Fp17 {
        let settings = self.settings;
        let bound = |register: i64| Fp32::from_bits(register as u32);
        let le_place = settings.le_index.place_float(x - bound(settings.le.start), FRACTION_BITS);
        let lo_distance = x - bound(settings.lo.start);
        let lo_place = linear(lo_distance, settings.lo_select, LO_INTERVALS, FRACTION_BITS);
        let Chosen { table, place, range, entries } = self.chosen(le_place, lo_place, counters);
        let (bound, slope, entry) = match place {
            RangePosition::Inside { index, fraction } => {
                return interpolate(entries[index], entries[index + 1], fraction);
            }
            RangePosition::Above => (bound(range.end), range.overflow, entries[entries.len() - 1]),
            RangePosition::Below => {
                let start = match (table, settings.le_index) {
                    // 2 to the power of -127 and less counts as nothing.
                    (Table::Le, LeIndex::Exponent { offset: ..=-127 }) => bound(range.start) + Fp32::ZERO,
                    (Table::Le, LeIndex::Exponent { offset }) => {
                        bound(range.start) + Fp32::power_of_two(offset)
                    }
                    _ => bound(range.start),
                };
                (start, range.underflow, entries[0])
            }
        };
        (x - bound).to_fp17() * widened(slope.scale) + widened(entry)
    }
}

/// The rise from entry to entry is taken in binary32, and rounded before it is multiplied.
fn interpolate(here: i16, next: i16, fraction: u64) -> Fp17 {
    let wide = |code| -> Fp32 { Fp16::from_code(code).widened() };
    (wide(next) - wide(here)).to_fp17() * Fp17::from_fraction(fraction, FRACTION_BITS) + widened(here)
}
