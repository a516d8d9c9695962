//! Functions of an element, and how far tables of 257 entries with straight lines between and outside of them go for these.

use super::Code;
use vp_tensors::Unary;

/// Function of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    Unary(Unary),
    /// Limits, which may be infinite.
    Clip(f32, f32),
    /// A number times this function of it, which has a code.
    Gated(Unary, Code),
}

/// Places where a function is no straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bends {
    /// Between two numbers alone.
    Within(f64, f64),
    /// All over.
    Everywhere,
    /// All over, with jumps, or with places where it is no number.
    Jumps,
}

/// The logarithm of fp16's largest number.
const LARGEST_EXPONENT: f64 = 11.09;

/// Numbers beyond which `Exp` is less than fp16 tells from zero beside others.
const LEAST_EXPONENT: f64 = -20.0;

impl Function {
    /// Value at a number.
    pub(crate) fn of(self, number: f32) -> f32 {
        match self {
            // As ONNX has it: if the limits are the wrong way round, all numbers become the upper one. What is no number is no limit.
            Function::Clip(low, high) => number.max(low).min(high),
            Function::Unary(unary) => unary.of(number),
            Function::Gated(gate, code) => number * code.number(code.code(gate.of(number)).into()),
        }
    }

    /// Places where it is no straight line, as near as codes of 8 bits and fp16 tell.
    pub(crate) fn bends(self) -> Bends {
        let around_zero = |bound: f32| match bound.abs() {
            bound if bound > 0.0 && bound.is_finite() => Bends::Within(-f64::from(bound), bound.into()),
            _ => Bends::Within(-1.0, 1.0),
        };
        match self {
            Function::Gated(..) => Bends::Jumps,
            Function::Clip(low, high) => {
                let [low, high] = [low, high].map(f64::from);
                match (low.is_finite(), high.is_finite()) {
                    (true, true) if low < high => Bends::Within(low, high),
                    (true, false) => Bends::Within(low, low + 1.0),
                    (_, true) => Bends::Within(high - 1.0, high),
                    (false, false) => Bends::Within(-1.0, 1.0),
                }
            }
            Function::Unary(unary) => match unary {
                Unary::Relu
                | Unary::LeakyRelu { .. }
                | Unary::Elu { .. }
                | Unary::Selu { .. }
                | Unary::Sigmoid
                | Unary::Tanh
                | Unary::Gelu { .. }
                | Unary::Mish
                | Unary::Softplus
                | Unary::Abs
                | Unary::Neg
                | Unary::Erf => around_zero(8.0),
                Unary::HardSwish => around_zero(4.0),
                Unary::Celu { alpha } => around_zero(8.0 * alpha),
                Unary::Swish { alpha } => around_zero(8.0 / alpha),
                Unary::HardSigmoid { alpha, beta } => {
                    let ends = [-beta, 1.0 - beta].map(|end| f64::from(end / alpha));
                    let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                    match low < high && (high - low).is_finite() {
                        true => Bends::Within(low, high),
                        false => Bends::Within(-1.0, 1.0),
                    }
                }
                Unary::Exp | Unary::Sqrt | Unary::Softsign | Unary::Sin | Unary::Cos => Bends::Everywhere,
                Unary::ThresholdedRelu { .. }
                | Unary::Log
                | Unary::Reciprocal
                | Unary::Sign
                | Unary::Floor
                | Unary::Ceil
                | Unary::Round
                | Unary::Not => Bends::Jumps,
            },
        }
    }

    /// The numbers that a table of fp16 is over, in which any number may come; none if it cannot be right for all of them.
    pub(crate) fn table_of_halves(self) -> Option<(f64, f64)> {
        match self.bends() {
            Bends::Within(low, high) => Some((low, high)),
            _ if self == Function::Unary(Unary::Exp) => Some((LEAST_EXPONENT, LARGEST_EXPONENT)),
            Bends::Everywhere | Bends::Jumps => None,
        }
    }

    /// The numbers that a table of sums is over, of which the least and the largest are known if there were samples.
    pub(crate) fn table_of_sums(self, seen: Option<(f32, f32)>) -> (f64, f64) {
        let (least, most) =
            seen.map_or((f64::NEG_INFINITY, f64::INFINITY), |(low, high)| (low.into(), high.into()));
        let (low, high) = match self.bends() {
            Bends::Within(low, high) => (low, high),
            Bends::Everywhere | Bends::Jumps if least < most && (most - least).is_finite() => (least, most),
            Bends::Everywhere | Bends::Jumps => (-8.0, 8.0),
        };
        // Numbers on one side of where it bends are a line's.
        match (low.max(least), high.min(most)) {
            (least, most) if least < most => (least, most),
            _ => (low, high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_the_wrong_way_round_make_all_numbers_the_upper_one() {
        let clip = Function::Clip(2.0, -2.0);
        assert_eq!([-5.0, 0.0, 5.0].map(|number| clip.of(number)), [-2.0; 3]);
        assert_eq!(clip.bends(), Bends::Within(-3.0, -2.0));
        let open = Function::Clip(f32::NAN, 1.0);
        assert_eq!([-5.0, 5.0].map(|number| open.of(number)), [-5.0, 1.0]);
    }

    #[test]
    fn a_table_of_halves_is_right_for_all_numbers_or_there_is_none() {
        assert_eq!(Function::Unary(Unary::Sqrt).table_of_halves(), None);
        assert_eq!(Function::Unary(Unary::Floor).table_of_halves(), None);
        let hard = Function::Unary(Unary::HardSigmoid { alpha: 0.25, beta: 0.5 });
        assert_eq!(hard.table_of_halves(), Some((-2.0, 2.0)));
        assert_eq!(Function::Unary(Unary::Swish { alpha: 0.0 }).table_of_halves(), Some((-1.0, 1.0)));
    }

    #[test]
    fn a_table_of_sums_is_over_what_was_seen() {
        let sin = Function::Unary(Unary::Sin);
        assert_eq!(sin.table_of_sums(Some((-30.0, 20.0))), (-30.0, 20.0));
        let tanh = Function::Unary(Unary::Tanh);
        assert_eq!(tanh.table_of_sums(Some((-30.0, 2.0))), (-8.0, 2.0));
        assert_eq!(tanh.table_of_sums(Some((9.0, 30.0))), (-8.0, 8.0));
        assert_eq!(tanh.table_of_sums(None), (-8.0, 8.0));
    }
}
