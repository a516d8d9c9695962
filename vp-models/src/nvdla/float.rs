//! Floating point as the engines compute it: formats, their four operations, conversions.
//!
//! Called by the `compute` of each engine. Works on single codes. There are three formats: binary16 in memory, a
//! 17-bit one with a longer exponent inside PDP, CDP and lookup tables, binary32 inside SDP. Not quite IEEE 754:
//!
//! * no operation makes infinity: what is too large becomes the largest number;
//! * no operation except the last conversion to binary16 makes denormals: a result that is too small becomes
//!   zero and keeps its sign;
//! * if an operand is NaN it is the result, unchanged; the first one if both are;
//! * an adder drops bits that are further right than twice its mantissa, without a sticky bit.
//!
//! All round to nearest, ties to even.

use std::ops::{Add, Mul, Neg, Sub};

/// A code: sign, `E` bits of exponent, `M` bits of mantissa.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Float<const E: u32, const M: u32>(u32);

/// IEEE binary16: the format in memory.
pub type Fp16 = Float<5, 10>;
/// Binary16 with one more bit of exponent.
pub type Fp17 = Float<6, 10>;
/// IEEE binary32.
pub type Fp32 = Float<8, 23>;

impl<const E: u32, const M: u32> Float<E, M> {
    /// Positive zero.
    pub const ZERO: Self = Float(0);
    /// Stored exponent of 1.
    pub const BIAS: u32 = (1 << (E - 1)) - 1;
    /// Stored exponent of NaN and infinity.
    const EXPONENT_ONES: u32 = (1 << E) - 1;
    const MANTISSA_ONES: u32 = (1 << M) - 1;
    /// The bit left of the mantissa.
    const IMPLIED: u64 = 1 << M;

    /// 1.
    pub const ONE: Self = Float(Self::BIAS << M);

    /// The number of a code; bits beyond its width are dropped.
    pub const fn from_bits(bits: u32) -> Self {
        Float(bits & (u32::MAX >> (31 - E - M)))
    }

    /// The code.
    pub const fn bits(self) -> u32 {
        self.0
    }

    const fn new(negative: bool, exponent: u32, mantissa: u32) -> Self {
        Float((negative as u32) << (E + M) | exponent << M | mantissa)
    }

    /// The largest number of that sign: what overflows become.
    const fn largest(negative: bool) -> Self {
        Float::new(negative, Self::EXPONENT_ONES - 1, Self::MANTISSA_ONES)
    }

    /// Returns true if the sign bit is set.
    pub const fn is_negative(self) -> bool {
        self.0 >> (E + M) != 0
    }

    /// The stored exponent.
    pub const fn exponent(self) -> u32 {
        self.0 >> M & Self::EXPONENT_ONES
    }

    /// The stored mantissa.
    pub const fn mantissa(self) -> u32 {
        self.0 & Self::MANTISSA_ONES
    }

    /// Not a number.
    pub const fn is_nan(self) -> bool {
        self.exponent() == Self::EXPONENT_ONES && self.mantissa() != 0
    }

    /// Infinity of either sign.
    pub const fn is_infinite(self) -> bool {
        self.exponent() == Self::EXPONENT_ONES && self.mantissa() == 0
    }

    /// The largest number of either sign, in which overflows end.
    pub const fn is_largest(self) -> bool {
        self.magnitude() == Self::largest(false).0
    }

    /// Zero of either sign.
    pub const fn is_zero(self) -> bool {
        self.magnitude() == 0
    }

    /// The code without its sign: orders magnitudes.
    const fn magnitude(self) -> u32 {
        self.0 & (u32::MAX >> (32 - E - M))
    }

    /// The mantissa with its implied bit, which only zero lacks: operands are no denormals.
    const fn significand(self) -> u64 {
        if self.is_zero() { 0 } else { self.mantissa() as u64 | Self::IMPLIED }
    }

    /// Positive zero if it is not a number, where `flush` asks for that.
    #[must_use]
    pub const fn flushed(self, flush: bool) -> Self {
        if flush && self.is_nan() { Self::ZERO } else { self }
    }

    /// The larger. Of equal ones either: they are one code.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        first_nan(self, other).unwrap_or(if self.is_above(other) { self } else { other })
    }

    /// The smaller.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        first_nan(self, other).unwrap_or(if self.is_above(other) { other } else { self })
    }

    /// Positive zero lies above negative zero.
    fn is_above(self, other: Self) -> bool {
        match (self.is_negative(), other.is_negative()) {
            (false, false) => self.magnitude() > other.magnitude(),
            (true, true) => self.magnitude() < other.magnitude(),
            (false, true) => true,
            (true, false) => false,
        }
    }

    /// 0 for all whose sign bit is set but NaN.
    #[must_use]
    pub fn relu(self) -> Self {
        if self.is_negative() && !self.is_nan() { Self::ZERO } else { self }
    }

    /// Converts to a format that is as long or longer: denormals become normal numbers, infinity the largest
    /// number. A NaN keeps its mantissa as a number, in the low bits.
    #[must_use]
    pub fn widened<const E2: u32, const M2: u32>(self) -> Float<E2, M2> {
        let negative = self.is_negative();
        if self.is_zero() {
            return Float::new(negative, 0, 0);
        }
        if self.is_nan() {
            return Float::new(negative, Float::<E2, M2>::EXPONENT_ONES, self.mantissa());
        }
        if self.is_infinite() {
            return Float::largest(negative);
        }
        let rebias = Float::<E2, M2>::BIAS - Self::BIAS;
        if self.exponent() > 0 {
            return Float::new(negative, self.exponent() + rebias, self.mantissa() << (M2 - M));
        }
        // The leading one becomes the implied bit.
        let places = M + 1 - (32 - self.mantissa().leading_zeros());
        let mantissa = self.mantissa() << places & Self::MANTISSA_ONES;
        Float::new(negative, rebias + 1 - places, mantissa << (M2 - M))
    }

    /// In a format that is as short or shorter. What would be a denormal there is one, or becomes zero.
    fn narrowed<const E2: u32, const M2: u32>(self, denormals: bool) -> Float<E2, M2> {
        let negative = self.is_negative();
        if self.is_nan() {
            let mantissa = self.mantissa() & Float::<E2, M2>::MANTISSA_ONES;
            return Float::new(negative, Float::<E2, M2>::EXPONENT_ONES, mantissa);
        }
        let rebias = Self::BIAS - Float::<E2, M2>::BIAS;
        let exponent = self.exponent();
        if exponent + M2 < rebias {
            return Float::new(negative, 0, 0);
        }
        let significand = u64::from(self.mantissa()) | Self::IMPLIED;
        if exponent <= rebias {
            // The exponent 1 has the weight of denormals.
            let mantissa = round_even(significand, M - M2 + rebias + 1 - exponent) as u32;
            let becomes_normal = mantissa >> M2 != 0;
            return match denormals || becomes_normal {
                // The carry goes into the exponent.
                true => Float::from_bits(u32::from(negative) << (E2 + M2) | mantissa),
                false => Float::new(negative, 0, 0),
            };
        }
        let rounded = round_even(significand, M - M2) as u32;
        let (exponent, mantissa) = match rounded >> (M2 + 1) {
            0 => (exponent - rebias, rounded & Float::<E2, M2>::MANTISSA_ONES),
            _ => (exponent - rebias + 1, 0),
        };
        if exponent >= Float::<E2, M2>::EXPONENT_ONES {
            return Float::largest(negative);
        }
        Float::new(negative, exponent, mantissa)
    }
}

/// Numbers of elements that are no finite numbers: what statistics registers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecialCounts {
    /// Not numbers.
    pub nan: u64,
    /// Infinite.
    pub infinite: u64,
}

impl SpecialCounts {
    /// Counts the elements in some bytes of memory that are no finite numbers.
    pub fn of(bytes: &[u8]) -> SpecialCounts {
        let mut specials = SpecialCounts::default();
        for &pair in bytes.as_chunks().0 {
            let element = Fp16::from_bytes(pair);
            specials.nan += u64::from(element.is_nan());
            specials.infinite += u64::from(element.is_infinite());
        }
        specials
    }
}

impl std::ops::AddAssign for SpecialCounts {
    fn add_assign(&mut self, other: Self) {
        self.nan += other.nan;
        self.infinite += other.infinite;
    }
}

/// The operand that is no number, the first of two.
fn first_nan<const E: u32, const M: u32>(a: Float<E, M>, b: Float<E, M>) -> Option<Float<E, M>> {
    [a, b].into_iter().find(|operand| operand.is_nan())
}

/// Drops that many low bits, fewer than 64, and rounds to nearest, ties to even.
const fn round_even(value: u64, drop: u32) -> u64 {
    if drop == 0 {
        return value;
    }
    let kept = value >> drop;
    let half = 1 << (drop - 1);
    let dropped = value & ((half << 1) - 1);
    kept + (dropped > half || (dropped == half && kept & 1 == 1)) as u64
}

impl<const E: u32, const M: u32> Neg for Float<E, M> {
    type Output = Self;

    fn neg(self) -> Self {
        Float(self.0 ^ 1 << (E + M))
    }
}

impl<const E: u32, const M: u32> Add for Float<E, M> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if let Some(nan) = first_nan(self, other) {
            return nan;
        }
        let (larger, smaller) =
            if self.magnitude() >= other.magnitude() { (self, other) } else { (other, self) };
        // Bits right of the mantissa in which the smaller one is kept.
        let more = M + 2;
        let distance = larger.exponent() - smaller.exponent();
        let large = larger.significand() << more;
        let small = (smaller.significand() << more).checked_shr(distance).unwrap_or(0);
        let sum = if larger.is_negative() == smaller.is_negative() { large + small } else { large - small };
        let negative = larger.is_negative();
        let mut exponent = larger.exponent();
        let top = M + more;
        let sum = if sum >> (top + 1) != 0 {
            if exponent + 1 >= Self::EXPONENT_ONES {
                return Float::largest(negative);
            }
            exponent += 1;
            sum >> 1
        } else {
            let missing = (top + 1).saturating_sub(64 - sum.leading_zeros());
            if sum == 0 || exponent <= missing {
                return Float::new(negative, 0, 0);
            }
            exponent -= missing;
            sum << missing
        };
        let mut rounded = round_even(sum, more) as u32;
        if rounded >> (M + 1) != 0 {
            if exponent + 1 >= Self::EXPONENT_ONES {
                return Float::largest(negative);
            }
            exponent += 1;
            rounded = 0;
        }
        Float::new(negative, exponent, rounded & Self::MANTISSA_ONES)
    }
}

impl<const E: u32, const M: u32> Sub for Float<E, M> {
    type Output = Self;

    /// The sum with the other's sign changed, also that of a NaN.
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<const E: u32, const M: u32> Mul for Float<E, M> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        if let Some(nan) = first_nan(self, other) {
            return nan;
        }
        let negative = self.is_negative() != other.is_negative();
        let exponents = self.exponent() + other.exponent();
        if self.is_zero() || other.is_zero() || exponents < Self::BIAS {
            return Float::new(negative, 0, 0);
        }
        let product = self.significand() * other.significand();
        let carry = (product >> (2 * M + 1)) as u32;
        let rounded = round_even(product, M + carry) as u32;
        let overflow = rounded >> (M + 1);
        let exponent = exponents - Self::BIAS + carry + overflow;
        if exponent >= Self::EXPONENT_ONES {
            return Float::largest(negative);
        }
        if exponent == 0 {
            return Float::new(negative, 0, 0);
        }
        Float::new(negative, exponent, if overflow > 0 { 0 } else { rounded & Self::MANTISSA_ONES })
    }
}

impl Fp16 {
    /// The number in two bytes of memory.
    pub const fn from_bytes(bytes: [u8; 2]) -> Fp16 {
        Float(u16::from_le_bytes(bytes) as u32)
    }

    /// Returns the number's bytes in memory.
    pub const fn to_bytes(self) -> [u8; 2] {
        (self.0 as u16).to_le_bytes()
    }

    /// The number whose code stands in a register.
    pub const fn from_code(code: i16) -> Fp16 {
        Float(code.cast_unsigned() as u32)
    }

    /// An integer of at most 17 bits.
    pub fn from_integer(value: i32) -> Fp16 {
        let magnitude = value.unsigned_abs();
        if magnitude == 0 {
            return Fp16::ZERO;
        }
        let places = magnitude.ilog2();
        // With 20 bits below the leading one nothing is lost before rounding.
        let rounded = round_even(u64::from(magnitude) << (20 - places), 10) as u32;
        let overflow = rounded >> 11;
        let exponent = Fp16::BIAS + places + overflow;
        if exponent >= Fp16::EXPONENT_ONES {
            return Fp16::largest(value < 0);
        }
        let mantissa = if overflow > 0 { 0 } else { rounded & Fp16::MANTISSA_ONES };
        Fp16::new(value < 0, exponent, mantissa)
    }

    /// The nearest integer, ties away from zero, clamped to 16 bits. A NaN is the lowest.
    pub fn to_int16(self) -> i16 {
        if self.is_nan() {
            return i16::MIN;
        }
        // In units of 2^-25: the largest code, infinity's, has 42 bits.
        let significand = self.significand() << self.exponent();
        let magnitude = ((significand + (1 << 24)) >> 25) as i64;
        let value = if self.is_negative() { -magnitude } else { magnitude };
        value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
    }
}

impl Fp17 {
    /// In the format of memory.
    pub fn to_fp16(self) -> Fp16 {
        self.narrowed(true)
    }

    /// `fraction / 2^bits`, less than 1.
    pub fn from_fraction(fraction: u64, bits: u32) -> Fp17 {
        if fraction == 0 {
            return Fp17::ZERO;
        }
        let places = fraction.ilog2();
        // Room below the leading one to round in.
        let rounded = round_even(fraction << (bits - places), bits - 10) as u32;
        let overflow = rounded >> 11;
        // Of a value 2^-k it is the bias less k.
        let Some(exponent) = (Fp17::BIAS + places + overflow).checked_sub(bits).filter(|&it| it > 0) else {
            return Fp17::ZERO;
        };
        Fp17::new(false, exponent, if overflow > 0 { 0 } else { rounded & Fp17::MANTISSA_ONES })
    }
}

impl Fp32 {
    /// In the format of memory.
    pub fn to_fp16(self) -> Fp16 {
        self.narrowed(true)
    }

    /// In 17 bits; no denormals.
    pub fn to_fp17(self) -> Fp17 {
        self.narrowed(false)
    }

    /// The code of 2 to that power, which may be a denormal.
    pub const fn power_of_two(exponent: i8) -> Fp32 {
        match exponent as i32 + Fp32::BIAS as i32 {
            stored @ 1.. => Float((stored as u32) << 23),
            below => Float(1 << (22 + below)),
        }
    }
}

#[cfg(test)]
mod tests;
