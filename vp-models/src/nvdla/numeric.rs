//! The few number rules every NVDLA engine shares: rounding, saturation, widths.
//!
//! Called by the `compute` file of each engine. It works on single values, never on cubes or registers.
//!
//! The hardware has one integer rounding rule: [`round_shift`], nearest with ties away from zero. Every
//! converter, truncation and average uses it, and then saturates to a width (or, where documented, is cut to
//! it).

use crate::suggestion::UnknownWord;
use strum::{Display, EnumString, VariantNames};

/// Number format of a feature element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = Precision::unknown)]
pub enum Precision {
    /// 8-bit two's complement.
    #[default]
    Int8,
    /// 16-bit two's complement.
    Int16,
    /// IEEE binary16.
    Fp16,
}

impl Precision {
    fn unknown(word: &str) -> UnknownWord {
        UnknownWord::of::<Precision>("precision", word)
    }

    /// Size of one element in memory, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Precision::Int8 => 1,
            Precision::Int16 | Precision::Fp16 => 2,
        }
    }

    /// Returns the format's code in registers.
    pub const fn code(self) -> u32 {
        match self {
            Precision::Int8 => 0,
            Precision::Int16 => 1,
            Precision::Fp16 => 2,
        }
    }

    /// The one of a code.
    pub const fn of_code(code: u32) -> Option<Precision> {
        match code {
            0 => Some(Precision::Int8),
            1 => Some(Precision::Int16),
            2 => Some(Precision::Fp16),
            _ => None,
        }
    }
}

/// Shifts right and rounds to nearest, ties away from zero: the one rule of every integer shifter and converter.
///
/// Exact for all inputs; shifts of 64 and more give what the exact quotient rounds to (0, but for `i64::MIN >> 64`).
///
/// ```
/// use vp_models::nvdla::numeric::round_shift;
/// assert_eq!(round_shift(5, 1), 3);
/// assert_eq!(round_shift(-5, 1), -3);
/// assert_eq!(round_shift(-1, 2), 0);
/// ```
#[inline]
pub const fn round_shift(value: i64, shift: u32) -> i64 {
    match shift {
        0 => value,
        1..=63 => {
            // One less for negative values turns "half up" into "half away from zero".
            let value = value.saturating_sub((value < 0) as i64);
            (value >> shift) + ((value >> (shift - 1)) & 1)
        }
        64 => -((value == i64::MIN) as i64),
        _ => 0,
    }
}

/// Like [`round_shift`], but a negative shift goes left. The result saturates to 64 bits.
#[inline]
pub fn round_shift_either(value: i64, shift: i32) -> i64 {
    if shift >= 0 {
        round_shift(value, shift.unsigned_abs())
    } else {
        shift_left(value, shift.unsigned_abs())
    }
}

/// Shifts left, saturating to 64 bits.
#[inline]
pub fn shift_left(value: i64, shift: u32) -> i64 {
    let limit = if value < 0 { i64::MIN } else { i64::MAX };
    match shift {
        0..=63 if (value << shift) >> shift == value => value << shift,
        _ if value == 0 => 0,
        _ => limit,
    }
}

/// Clamps to a signed number of `bits` (1 to 64) bits.
#[inline]
pub fn saturate(value: i64, bits: u32) -> i64 {
    let max = i64::MAX >> (64 - bits);
    value.clamp(!max, max)
}

/// Clamps to 32 bits.
#[inline]
pub fn saturate_32(value: i64) -> i32 {
    value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Keeps the low `bits` (1 to 64) bits and reads them as a signed number, like a register of that width.
#[inline]
pub const fn wrap(value: i64, bits: u32) -> i64 {
    (value << (64 - bits)) >> (64 - bits)
}

/// An integer converter: subtract, scale, shift. Every one in the chip has these three registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Converter {
    /// Subtracted first.
    pub offset: i32,
    /// Multiplied next.
    pub scale: i16,
    /// Right shift, rounded as [`round_shift`].
    pub shift: u8,
}

impl Converter {
    /// The converter that changes nothing.
    pub const IDENTITY: Converter = Converter { offset: 0, scale: 1, shift: 0 };

    /// `round_shift((value - offset) * scale, shift)`, exact: at most 49 bits. The caller saturates.
    #[inline]
    pub const fn apply(self, value: i32) -> i64 {
        round_shift(self.scaled(value), self.shift as u32)
    }

    /// `(value - offset) * scale`, before the shift.
    #[inline]
    pub const fn scaled(self, value: i32) -> i64 {
        (value as i64 - self.offset as i64) * self.scale as i64
    }
}

impl Default for Converter {
    fn default() -> Self {
        Self::IDENTITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formats_are_read_by_their_names() {
        for (name, precision) in
            [("int8", Precision::Int8), ("int16", Precision::Int16), ("fp16", Precision::Fp16)]
        {
            assert_eq!((name.parse(), precision.to_string()), (Ok(precision), name.to_owned()));
        }
        let refused = "int61".parse::<Precision>().unwrap_err().to_string();
        assert_eq!(refused, "`int61` is no precision: int8, int16 or fp16; nearest: int16");
    }

    /// The definition: quotient towards zero, and one further when the remainder is at least a half.
    fn round_shift_by_definition(value: i64, shift: u32) -> i64 {
        let divisor = 1i128 << shift;
        let magnitude = i128::from(value).abs();
        let rounded = magnitude / divisor + i128::from(magnitude % divisor * 2 >= divisor);
        (if value < 0 { -rounded } else { rounded }) as i64
    }

    #[test]
    fn rounds_ties_away_from_zero() {
        for (value, shift, rounded) in [
            (5, 1, 3),
            (-5, 1, -3),
            (3, 2, 1),
            (-2, 2, -1),
            (1, 2, 0),
            (-1, 2, 0),
            (-42, 2, -11),
            (6664, 3, 833),
        ] {
            assert_eq!(round_shift(value, shift), rounded, "{value} >> {shift}");
        }
    }

    #[test]
    fn a_converter_subtracts_its_offset() {
        assert_eq!(Converter { offset: 5, scale: 3, shift: 2 }.apply(10), 4);
    }

    proptest! {
        #[test]
        fn round_shift_is_its_definition(value: i64, shift in 0u32..100) {
            prop_assert_eq!(round_shift(value, shift), round_shift_by_definition(value, shift));
        }

        #[test]
        fn round_shift_is_its_definition_near_zero_and_the_limits(near in -40i64..40, shift in 0u32..70) {
            for value in [near, i64::MAX.saturating_add(near), i64::MIN.saturating_add(near)] {
                prop_assert_eq!(round_shift(value, shift), round_shift_by_definition(value, shift));
            }
        }

        #[test]
        fn left_shifts_saturate(value: i64, shift in 0u32..70) {
            let exact = if shift < 64 { i128::from(value) << shift } else { i128::from(value.signum()) << 100 };
            let expected = exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            prop_assert_eq!(round_shift_either(value, -(shift as i32)), expected);
        }

        #[test]
        fn saturation_and_wrapping_keep_what_fits(value: i64, bits in 1u32..=64) {
            let fits = wrap(value, bits) == value;
            prop_assert_eq!(saturate(value, bits) == value, fits);
            prop_assert_eq!(wrap(wrap(value, bits), bits), wrap(value, bits));
            prop_assert_eq!(saturate(value, bits).signum() * value.signum() >= 0, true);
        }
    }
}
