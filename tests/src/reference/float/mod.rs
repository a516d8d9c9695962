//! fp16 a second time: numbers are kept as the processor's own of double precision, which hold all that the engines'
//! formats hold, and are rounded by division.
//!
//! The layers are those of the integer references; what lies in memory and in registers of 16 bits are codes of
//! binary16, in wider registers codes of the format that the register's stage computes in.

mod layers;
mod lut;
mod network;

pub use layers::{FloatAverage, run_cdp, run_convolution, run_pdp, run_sdp, run_sdp_to_pdp};
pub(super) use network::run_layer_of_floats;

/// A floating-point format: bits of its exponent and of its mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    exponent: u32,
    mantissa: u32,
}

/// In memory.
pub const FP16: Shape = Shape { exponent: 5, mantissa: 10 };
/// In PDP, CDP and tables.
pub const FP17: Shape = Shape { exponent: 6, mantissa: 10 };
/// In SDP.
pub const FP32: Shape = Shape { exponent: 8, mantissa: 23 };

/// A number, or none: what a NaN is by its sign and its mantissa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Real {
    Nan(bool, u32),
    Number(f64),
}

use Real::{Nan, Number};

impl Shape {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn largest(self) -> f64 {
        2f64.powi(self.bias()) * (2.0 - 2f64.powi(-(self.mantissa as i32)))
    }

    fn smallest(self) -> f64 {
        2f64.powi(1 - self.bias())
    }

    /// Value of a code. Infinity is one step beyond the largest number.
    pub(super) fn decode(self, code: u32) -> Real {
        let Shape { exponent: e, mantissa: m } = self;
        let (exponent, mantissa) = (code >> m & ((1 << e) - 1), code & ((1 << m) - 1));
        let negative = code >> (e + m) & 1 == 1;
        if exponent == (1 << e) - 1 && mantissa != 0 {
            return Nan(negative, mantissa);
        }
        let magnitude = match exponent {
            0 => f64::from(mantissa) * self.smallest(),
            _ => f64::from(mantissa | 1 << m) * 2f64.powi(exponent as i32 - self.bias()),
        } * 2f64.powi(-(m as i32));
        Number(if negative { -magnitude } else { magnitude })
    }

    /// A code of a number that the format has exactly.
    fn encode(self, value: Real) -> u32 {
        let Shape { exponent: e, mantissa: m } = self;
        match value {
            Nan(negative, payload) => u32::from(negative) << (e + m) | ((1 << e) - 1) << m | payload,
            Number(value) => {
                let magnitude = value.abs();
                let code = if magnitude < self.smallest() {
                    magnitude / self.smallest() * 2f64.powi(m as i32)
                } else {
                    let exponent = exponent(magnitude);
                    let above = f64::from(exponent + self.bias() - 1) + magnitude * 2f64.powi(-exponent);
                    above * 2f64.powi(m as i32)
                };
                u32::from(value.is_sign_negative()) << (e + m) | code as u32
            }
        }
    }

    /// The nearest number of the format, never below its smallest normal one but 0.
    fn nearest(self, value: f64) -> f64 {
        if value == 0.0 {
            return value;
        }
        let unit = 2f64.powi(exponent(value.abs()) - self.mantissa as i32);
        let rounded = (value / unit).round_ties_even() * unit;
        if rounded.abs() < self.smallest() {
            return 0f64.copysign(value);
        }
        rounded.clamp(-self.largest(), self.largest())
    }

    /// Another format's number in this one, which is no longer; with denormals or without.
    pub(super) fn narrow(self, value: Real, denormals: bool) -> Real {
        let Number(value) = value else { return value };
        let lowest = 1 - self.bias();
        let unit = 2f64.powi(exponent(value.abs()).max(lowest) - self.mantissa as i32);
        let rounded = (value / unit).round_ties_even() * unit;
        if rounded.abs() < self.smallest() && !denormals {
            return Number(0f64.copysign(value));
        }
        Number(rounded.clamp(-self.largest(), self.largest()))
    }

    /// A number of memory in this format.
    pub(super) fn widen(self, code: i32, nan_to_zero: bool) -> Real {
        match FP16.decode(code as u32 & 0xffff) {
            Nan(..) if nan_to_zero => Number(0.0),
            // Infinity.
            Number(value) if value.abs() > FP16.largest() => Number(self.largest().copysign(value)),
            other => other,
        }
    }

    /// The sum: of the smaller operand only what lies within twice the mantissa counts.
    pub(super) fn add(self, a: Real, b: Real) -> Real {
        let (Number(a), Number(b)) = (a, b) else { return first_nan(a, b) };
        let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
        if large == 0.0 {
            return Number(large);
        }
        let unit = 2f64.powi(exponent(large.abs()) - 2 * self.mantissa as i32 - 2);
        let sum = large + (small / unit).trunc() * unit;
        if sum == 0.0 || sum.abs() < self.smallest() {
            return Number(0f64.copysign(large));
        }
        Number(self.nearest(sum))
    }

    pub(super) fn subtract(self, a: Real, b: Real) -> Real {
        let negated = match b {
            Nan(negative, payload) => Nan(!negative, payload),
            Number(value) => Number(-value),
        };
        self.add(a, negated)
    }

    pub(super) fn multiply(self, a: Real, b: Real) -> Real {
        match (a, b) {
            (Number(a), Number(b)) => Number(self.nearest(a * b)),
            _ => first_nan(a, b),
        }
    }

    /// The code of the nearest number, as a register holds it.
    pub fn code(self, value: f64) -> u32 {
        self.encode(Number(self.nearest(value)))
    }
}

/// The nearest integer of 16 bits to what a code of memory says, ties away from zero; the lowest of what is none.
pub fn to_integer(code: i32) -> i32 {
    match FP16.decode(code as u32 & 0xffff) {
        Nan(..) => -32768,
        Number(value) => value.round().clamp(-32768.0, 32767.0) as i32,
    }
}

fn first_nan(a: Real, b: Real) -> Real {
    if matches!(a, Nan(..)) { a } else { b }
}

/// Of a positive number that is not too small for it.
fn exponent(magnitude: f64) -> i32 {
    (magnitude.to_bits() >> 52) as i32 - 1023
}

/// The larger, or the smaller; of the zeros the positive one is larger.
pub(super) fn pick(larger: bool, a: Real, b: Real) -> Real {
    let (Number(x), Number(y)) = (a, b) else { return first_nan(a, b) };
    if (x.total_cmp(&y) == std::cmp::Ordering::Greater) == larger { a } else { b }
}

/// As memory holds it.
pub(super) fn store(value: Real) -> i32 {
    FP16.encode(FP16.narrow(value, true)) as i32
}

/// The code of an integer of 17 bits, as memory holds it.
pub fn from_integer(value: i32) -> i32 {
    FP16.encode(Number(FP16.nearest(value.into()))) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_description() {
        assert_eq!([2049, 2051, 70000].map(from_integer), [0x6800, 0x6802, 0x7bff]);
        let stored = [0x477f_f000, 0x3300_0001, 0x3300_0000, 0x387f_e000, 0x3f80_1000, 0x3f80_3000];
        assert_eq!(stored.map(|code| store(FP32.decode(code))), [0x7bff, 1, 0, 0x400, 0x3c00, 0x3c02]);
        assert_eq!([1.0, 2.0, 1.0 / 3.0].map(|value| FP17.code(value)), [0x7c00, 0x8000, 0x7555]);
        let widened = [0x7c00, 0x7e01, 1, 0x3ff].map(|code| FP32.encode(FP32.widen(code, false)));
        assert_eq!(widened, [0x7f7f_ffff, 0x7f80_0201, 0x3380_0000, 0x387f_c000]);
    }

    #[test]
    fn zeros_of_a_sum_have_the_first_operands_sign() {
        let sign = |value: Real| matches!(value, Number(zero) if zero == 0.0 && zero.is_sign_negative());
        assert!(!sign(FP32.add(Number(1.0), Number(-1.0))) && sign(FP32.add(Number(-1.0), Number(1.0))));
    }
}
