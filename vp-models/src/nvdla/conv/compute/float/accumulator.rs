//! The accumulator of fp16 sums: 48 bits, more than any format of memory has.

use crate::nvdla::float::{Fp16, Fp32};

/// Bits of the mantissa, sign included.
const BITS: u32 = 40;
/// Exponent of what is not a number.
const NOT_A_NUMBER: i32 = 255;

/// The sum of one step's products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepSum {
    /// `mantissa * 2^(exponent - 50)`; the mantissa has at most 38 bits.
    Number { exponent: i32, mantissa: i64 },
    /// An operand is not a number: its sign, and the ten bits of its mantissa.
    Nan { negative: bool, payload: u32 },
}

impl StepSum {
    /// Returns the sum of a step with that operand, which is not a number.
    pub(super) fn nan(operand: Fp16) -> StepSum {
        StepSum::Nan { negative: operand.is_negative(), payload: operand.mantissa() }
    }
}

/// `mantissa * 2^(exponent - 101)`. The mantissa's two upper bits differ, but after some roundings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Accumulator {
    exponent: i32,
    mantissa: i64,
}

impl Accumulator {
    /// Adds a step.
    #[inline]
    pub(super) fn add(&mut self, step: StepSum) {
        match step {
            StepSum::Number { mantissa: 0, .. } => {}
            _ if self.exponent == NOT_A_NUMBER => self.mantissa &= !0 << 29,
            StepSum::Nan { negative, payload } => {
                let sign = -i64::from(negative);
                *self =
                    Accumulator { exponent: NOT_A_NUMBER, mantissa: (sign << 39) | i64::from(payload) << 29 };
            }
            StepSum::Number { exponent, mantissa } => self.add_number(exponent, mantissa),
        }
    }

    #[inline]
    fn add_number(&mut self, exponent: i32, mantissa: i64) {
        // Its sign bits but one are no part of it.
        let places = (mantissa ^ (mantissa << 1)).leading_zeros();
        let step = Accumulator {
            exponent: exponent - (places as i32 - (63 - 37)) + 49,
            mantissa: (mantissa << places) >> (64 - BITS),
        };
        let here = Accumulator { exponent: if self.mantissa == 0 { 0 } else { self.exponent }, ..*self };
        let (larger, smaller) = if here.exponent >= step.exponent { (here, step) } else { (step, here) };
        let distance = (larger.exponent - smaller.exponent) as u32;
        // The smaller one with as many bits more as it has.
        let smaller = if distance > BITS { 0 } else { (i128::from(smaller.mantissa) << BITS) >> distance };
        *self = rounded(larger.exponent, (i128::from(larger.mantissa) << BITS) + smaller);
    }

    /// Returns the sum that is delivered: a number of 24 bits, rounded away from zero.
    #[inline]
    pub(super) fn deliver(self) -> Fp32 {
        let Accumulator { exponent, mantissa } = self;
        let negative = mantissa < 0;
        let sign = u32::from(negative) << 31;
        if exponent == NOT_A_NUMBER {
            return Fp32::from_bits(sign | 0xff << 23 | (mantissa >> 29 & 0x3ff) as u32);
        }
        if mantissa == 0 {
            return Fp32::ZERO;
        }
        let rounded = ((mantissa.unsigned_abs() >> 14) + 1) >> 1;
        // The implied bit counts up the exponent, and so does a carry beyond it.
        Fp32::from_bits(sign | (((exponent + 63) as u32) << 23).wrapping_add(rounded as u32))
    }
}

/// A sum with 40 bits below the mantissa: normalised, and rounded to nearest, ties away from zero.
///
/// What is dropped of a sum of 41 bits counts as one bit and a sticky one, as do the bits below the mantissa.
#[inline]
fn rounded(exponent: i32, sum: i128) -> Accumulator {
    if sum == 0 {
        return Accumulator::default();
    }
    // Places between the top of 80 bits and the first bit unlike the sign.
    let places = (sum ^ (sum << 1)).leading_zeros() as i32 - (127 - 79);
    let (exponent, sum, lost) = if places < 0 {
        (exponent + 1, sum >> 1, sum & 1 != 0)
    } else {
        (exponent - places, sum << places, false)
    };
    let mantissa = (sum >> BITS) as i64;
    let below = (sum as u64) & ((1 << BITS) - 1);
    let guard = below >> (BITS - 1) != 0;
    let sticky = lost || below & ((1 << (BITS - 1)) - 1) != 0;
    let mantissa = mantissa + i64::from(guard && (mantissa >= 0 || sticky));
    match mantissa {
        0 => Accumulator::default(),
        // Rounding may carry into the sign.
        _ if mantissa >> (BITS - 1) == 1 => Accumulator { exponent: exponent + 1, mantissa: mantissa >> 1 },
        _ => Accumulator { exponent, mantissa },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(steps: &[(i32, i64)]) -> Accumulator {
        let mut accumulator = Accumulator::default();
        for &(exponent, mantissa) in steps {
            accumulator.add(StepSum::Number { exponent, mantissa });
        }
        accumulator
    }

    #[test]
    fn a_product_is_delivered_as_it_is() {
        let accumulator = sum(&[(24, 0x3000 * 0x2800)]);
        assert_eq!(accumulator, Accumulator { exponent: 63, mantissa: 515_396_075_520 });
        assert_eq!(accumulator.deliver().bits(), 0x3ff0_0000);
        assert_eq!(sum(&[(24, -0x3000 * 0x2800)]).deliver().bits(), 0xbff0_0000);
    }

    #[test]
    fn what_cancels_leaves_positive_zero() {
        assert_eq!(sum(&[(24, 5), (20, -80)]).deliver(), Fp32::ZERO);
        assert_eq!(sum(&[(24, -5), (24, 5)]).deliver(), Fp32::ZERO);
    }

    #[test]
    fn a_power_of_two_below_zero_has_no_fraction() {
        let accumulator = sum(&[(24, -(1 << 30))]);
        assert_eq!(accumulator.mantissa, -(1 << 39));
        assert_eq!(f32::from_bits(accumulator.deliver().bits()), -16.0);
    }

    #[test]
    fn the_first_nan_stays() {
        let mut accumulator = sum(&[(24, 5)]);
        accumulator.add(StepSum::Nan { negative: true, payload: 0x201 });
        accumulator.add(StepSum::Number { exponent: 20, mantissa: 7 });
        accumulator.add(StepSum::Nan { negative: false, payload: 1 });
        assert_eq!(accumulator.deliver().bits(), 0xff80_0201);
    }

    #[test]
    fn what_is_delivered_is_rounded_away_from_zero() {
        // 24 bits and a half.
        let half = (1 << 24) | 1;
        for sign in [1, -1] {
            let exact = sign as f64 * half as f64 * 2f64.powi(24 - 50);
            let delivered = f64::from(f32::from_bits(sum(&[(24, sign * half)]).deliver().bits()));
            assert_eq!(delivered.abs(), exact.abs() + 2f64.powi(24 - 50), "{exact}");
        }
    }
}
