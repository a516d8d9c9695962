//! Halves as the vendor's emulator rounds them.

use half::f16;

/// Bits of a significand of single precision behind its first.
const FRACTION: u32 = 23;
/// Exponents, as single precision has them, of a half's smallest normal number and of infinity, and of half its smallest number.
const NORMAL: u32 = 113;
const INFINITE: u32 = 143;
const ROUNDED_UP: u32 = 102;
/// Exponent of what is no number.
const SPECIAL: u32 = 255;

/// The half that is nearest to a number; of two that are as near, the one farther from zero.
///
/// That is how the emulator's library is built (`half.h`: `HALF_ROUND_TIES_TO_EVEN` 0); hardware rounds to the even one.
pub(super) fn half(value: f32) -> f16 {
    let bits = value.to_bits();
    let (sign, exponent) = (bits >> 31 << 15, bits >> FRACTION & SPECIAL);
    let fraction = bits & ((1 << FRACTION) - 1);
    // The upper bits of the fraction, and the first of those that are lost.
    let upper = |significand: u32, lost: u32| (significand >> lost) + (significand >> (lost - 1) & 1);
    let magnitude = match exponent {
        SPECIAL => 0x7c00 | fraction >> 13,
        INFINITE.. => 0x7c00,
        NORMAL.. => ((exponent - NORMAL + 1) << 10) + upper(fraction, 13),
        ROUNDED_UP.. => upper(fraction | 1 << FRACTION, NORMAL + 13 - exponent),
        _ => 0,
    };
    f16::from_bits((sign | magnitude) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midway_between_two_halves_is_the_one_farther_from_zero() {
        for bits in 0..f16::INFINITY.to_bits() {
            let [low, high] = [bits, bits + 1].map(f16::from_bits);
            let above = if high.is_infinite() { 65536.0 } else { high.to_f32() };
            let midway = (low.to_f32() + above) / 2.0;
            assert_eq!(half(midway), high, "{midway}");
            assert_eq!(half(-midway), -high, "{midway}");
            assert_eq!(half(midway.next_down()), low, "below {midway}");
            assert_eq!(half(low.to_f32()), low);
        }
        // To the even one, every second of them is another.
        assert_eq!(
            (half(1.0 + 1.0 / 2048.0), f16::from_f32(1.0 + 1.0 / 2048.0)),
            (f16::from_bits(0x3c01), f16::ONE)
        );
    }

    #[test]
    fn what_is_no_half_stays_what_it_is() {
        assert_eq!((half(f32::INFINITY), half(-1e30)), (f16::INFINITY, f16::NEG_INFINITY));
        assert_eq!(
            (half(1e-30).to_bits(), half(-1e-30).to_bits(), half(-0.0).to_bits()),
            (0, 0x8000, 0x8000)
        );
        assert!(half(f32::NAN).is_nan());
    }
}
