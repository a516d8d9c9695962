//! Places of floating-point inputs in the tables.

use super::{LE_INTERVALS, LeIndex, RangePosition};
use crate::nvdla::float::{Fp16, Fp17, Fp32};

impl LeIndex {
    /// Returns the place of an input in LE that is `distance` above its start.
    pub(crate) fn place_float(self, distance: Fp32, fraction_bits: u32) -> RangePosition {
        match self {
            LeIndex::Exponent { offset } => exponential(distance, offset, fraction_bits),
            LeIndex::Linear { select } => linear(distance, select, LE_INTERVALS, fraction_bits),
        }
    }
}

/// An entry or a slope.
pub(crate) fn widened(code: i16) -> Fp17 {
    Fp16::from_code(code).widened()
}

/// The start itself lies below the table, and so does what is not a number.
fn is_below(distance: Fp32) -> bool {
    distance.is_negative() || distance.is_zero() || distance.is_nan()
}

/// Position `distance * 2^-select` in a table of `intervals`.
pub(crate) fn linear(distance: Fp32, select: i8, intervals: u64, fraction_bits: u32) -> RangePosition {
    if is_below(distance) {
        return RangePosition::Below;
    }
    let places = distance.exponent() as i32 - 127 - 23 - i32::from(select);
    let significand = u64::from(distance.mantissa()) | 1 << 23;
    // Longer than its 24 bits no table is.
    let Ok(right) = u32::try_from(-places) else { return RangePosition::Above };
    let scaled = (significand << fraction_bits).checked_shr(right).unwrap_or(0);
    let (index, fraction) = (scaled >> fraction_bits, scaled & ((1 << fraction_bits) - 1));
    if index >= intervals {
        RangePosition::Above
    } else {
        RangePosition::Inside { index: index as usize, fraction }
    }
}

/// The exponent of `distance` above `offset`; the fraction is the mantissa.
fn exponential(distance: Fp32, offset: i8, fraction_bits: u32) -> RangePosition {
    if is_below(distance) {
        return RangePosition::Below;
    }
    let exponent = distance.exponent() as i32 - 127;
    match u64::try_from(exponent - i32::from(offset)) {
        Err(_) => RangePosition::Below,
        Ok(index) if index >= LE_INTERVALS => RangePosition::Above,
        Ok(index) => {
            let fraction = (u64::from(distance.mantissa()) << fraction_bits) >> 23;
            RangePosition::Inside { index: index as usize, fraction }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fp32(value: f32) -> Fp32 {
        Fp32::from_bits(value.to_bits())
    }

    #[test]
    fn what_is_not_above_the_start_underflows() {
        for distance in [0.0, -0.0, -1.0, f32::NAN] {
            assert_eq!(linear(fp32(distance), 0, 64, 16), RangePosition::Below);
            assert_eq!(exponential(fp32(distance), -100, 16), RangePosition::Below);
        }
    }

    #[test]
    fn the_exponential_table_begins_with_its_offset() {
        let place = |distance| exponential(fp32(distance), -2, 35);
        assert_eq!(place(0.249), RangePosition::Below);
        assert_eq!(place(0.375), RangePosition::Inside { index: 0, fraction: 1 << 34 });
        assert_eq!(place(2f32.powi(61)), RangePosition::Inside { index: 63, fraction: 0 });
        assert_eq!(place(2f32.powi(62)), RangePosition::Above);
    }

    proptest! {
        #[test]
        fn linear_positions_are_cut_and_not_rounded(
            mantissa in 0u32..1 << 23,
            exponent in 1u32..255,
            select in -128i8..=127,
            fraction_bits in prop::sample::select(vec![16u32, 35]),
        ) {
            let distance = f32::from_bits(exponent << 23 | mantissa);
            let position = f64::from(distance) * 2f64.powi(-i32::from(select));
            let expected = if position >= 256.0 {
                RangePosition::Above
            } else {
                let fraction = (position.fract() * 2f64.powi(fraction_bits as i32)) as u64;
                RangePosition::Inside { index: position as usize, fraction }
            };
            prop_assert_eq!(linear(fp32(distance), select, 256, fraction_bits), expected);
        }
    }
}
