//! One product of fp16 mantissas, aligned to a common exponent as the hardware's multiplier does it.
//!
//! The multiplier recodes one mantissa to radix 4 (Booth), and gives the product as two words whose sum, except
//! for a constant, is the product. Both words are shifted before they are added. So a shifted product may
//! differ by one, in either direction, from the exact one rounded down; the words determine which.

use crate::nvdla::float::Fp16;

/// Digits of a recoded mantissa.
const DIGITS: usize = 8;

/// Shifts from here on leave nothing of a product.
pub(super) const NOTHING_LEFT: u32 = 32;

/// A number as the multiplier takes it: `mantissa * 2^(4 * scale)`, but for a constant factor, with a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Factor {
    /// At most 14 bits; 0 for zero alone.
    pub(super) mantissa: u32,
    /// The exponent's upper three bits.
    pub(super) scale: u32,
    pub(super) negative: bool,
}

impl Factor {
    /// Of a number; infinity is the next after the largest one.
    pub(super) fn of(number: Fp16) -> Factor {
        let exponent = number.exponent();
        let mantissa = match exponent {
            0 => number.mantissa() << 1,
            _ => (number.mantissa() | 0x400) << (exponent & 3),
        };
        Factor { mantissa, scale: exponent >> 2, negative: number.is_negative() }
    }
}

/// A digit of a recoded mantissa: how many times the other one, -2 to 2.
///
/// It looks at three bits, of which neighbours share one.
fn digit(mantissa: u32, index: usize) -> i32 {
    match (mantissa << 1) >> (2 * index) & 7 {
        0b000 | 0b111 => 0,
        0b001 | 0b010 => 1,
        0b011 => 2,
        0b100 => -2,
        _ => -1,
    }
}

/// All digits of a mantissa, negated if `negative`, three bits each: whether it is 1 or -1, whether 2 or -2, whether it
/// is negative. And, two bits from digit to digit, which are negative, in the lower half, and positive, in the upper.
pub(super) fn recoded(mantissa: u32, negative: bool) -> (u32, u32) {
    // Bit 2i of each is the lowest, middle and highest of the three bits of digit i.
    const EVEN: u32 = 0x5555;
    let [lowest, middle, highest] = [mantissa << 1, mantissa, mantissa >> 1].map(|bits| bits & EVEN);
    let once = lowest ^ middle;
    let twice = (middle ^ highest) & !once;
    let minus = (once | twice) & if negative { !highest } else { highest };
    let plus = (once | twice) ^ minus;
    (spread(once | twice << 1) | spread(minus) << 2, minus | plus << 16)
}

/// Fields of two bits move apart to every third: half of them by four bits, half of each half by two, and so on.
fn spread(fields: u32) -> u32 {
    let halves = (fields & 0x00ff) | (fields & 0xff00) << 4;
    let quarters = (halves & 0xf00f) | (halves & 0xf_00f0) << 2;
    (quarters & 0xc_30c3) | (quarters & 0x30_c30c) << 1
}

/// A partial product: a word of 17 bits with its sign bit inverted, and the bit that completes a negation.
fn partial(digit: i32, other: u32) -> (u32, u32) {
    match digit {
        0 => (0x10000, 0),
        1.. => ((other * digit.unsigned_abs()) | 0x10000, 0),
        _ => (!(other * digit.unsigned_abs()) & 0xffff, 1),
    }
}

/// Three words become two of the same sum.
fn carry_save(a: u32, b: u32, c: u32) -> [u32; 2] {
    [a ^ b ^ c, ((a & b) | (b & c) | (c & a)) << 1]
}

/// Words become two of the same sum: each further one is added to the two of those before it.
fn reduce([a, b]: [u32; 2], further: &[u32]) -> [u32; 2] {
    further.iter().fold([a, b], |[sum, carry], &word| carry_save(sum, carry, word))
}

/// Returns the sum of the inverted sign bits of all partial products, shifted and negated.
pub(super) const fn sign_constant(shift: u32) -> u32 {
    (0x5555_0000u32 >> shift).wrapping_neg()
}

/// The product of two mantissas, negated if `negative`, shifted right by a multiple of four.
pub(super) fn aligned(weight: u32, data: u32, negative: bool, shift: u32) -> i32 {
    if shift >= NOTHING_LEFT {
        return 0;
    }
    let [mut p, mut c] = [[0; DIGITS]; 2];
    for index in 0..DIGITS {
        let digit = digit(weight, index);
        (p[index], c[index]) = partial(if negative { -digit } else { digit }, data);
    }
    let [low_sum, low_carry] =
        reduce([p[0], p[1] << 2 | c[0]], &[p[2] << 4 | c[1] << 2, p[3] << 6 | c[2] << 4, c[3] << 6]);
    let high = reduce(
        [p[4] << 8, p[5] << 10 | c[4] << 8],
        &[p[6] << 12 | c[5] << 10, p[7] << 14 | c[6] << 12, c[7] << 14],
    );
    let [sum, carry] = reduce([low_sum, low_carry], &high);
    (sum >> shift).wrapping_add(carry >> shift).wrapping_add(sign_constant(shift)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_recoded_together_as_one_by_one() {
        for (mantissa, negative) in (0..1 << 14).flat_map(|mantissa| [(mantissa, false), (mantissa, true)]) {
            let (digits, signs) = recoded(mantissa, negative);
            for index in 0..DIGITS {
                let digit = digit(mantissa, index) * if negative { -1 } else { 1 };
                let code = match digit {
                    -2 => 0b110,
                    -1 => 0b101,
                    positive => positive.unsigned_abs(),
                };
                assert_eq!(digits >> (3 * index) & 7, code, "digit {index} of {mantissa:#x}");
                let sign = [signs >> (2 * index) & 1, signs >> (16 + 2 * index) & 1];
                assert_eq!(sign, [digit < 0, digit > 0].map(u32::from), "digit {index} of {mantissa:#x}");
            }
            let value: i64 = (0..DIGITS).map(|index| i64::from(digit(mantissa, index)) << (2 * index)).sum();
            assert_eq!(value, i64::from(mantissa));
        }
    }
}
