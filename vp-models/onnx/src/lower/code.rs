//! Codes of numbers in 8 bits.

/// Code of numbers in 8 bits, `number = (code - zero) * scale`; in fp16 numbers are codes themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Code {
    pub(crate) scale: f32,
    pub(crate) zero: i32,
}

impl Code {
    pub(crate) const ONE: Code = Code { scale: 1.0, zero: 0 };

    /// Codes of the numbers between two limits, which have zero among them; with zero as the code 0 if that is asked for.
    pub(super) fn of_range((low, high): (f32, f32), is_symmetric: bool) -> Code {
        if (low, high) == (0.0, 0.0) {
            // Any scale says zero; what is added behind has its steps.
            return Code { scale: 1.0 / 128.0, zero: 0 };
        }
        let span = if is_symmetric { 2.0 * high.max(-low) / 254.0 } else { (high - low) / 255.0 };
        if !(span > f32::MIN_POSITIVE && span.is_finite()) {
            return Code::ONE;
        }
        let zero = if is_symmetric { 0.0 } else { (-128.0 - low / span).round() };
        Code { scale: span, zero: zero.clamp(-128.0, 127.0) as i32 }
    }

    pub(super) fn number(self, code: i32) -> f32 {
        (code - self.zero) as f32 * self.scale
    }

    pub(super) fn code(self, number: f32) -> i8 {
        let code = (number / self.scale).round_ties_even() + self.zero as f32;
        code.clamp(-128.0, 127.0) as i8
    }
}
