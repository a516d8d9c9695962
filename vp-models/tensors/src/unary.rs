//! Functions of each element.

use crate::arguments::{Tensors, Types};
use crate::{ElementType, Elements, OperatorError, Unary, ValueType};

impl Unary {
    /// The function, of a float.
    pub fn of(self, x: f32) -> f32 {
        match self {
            Unary::Relu => {
                if x < 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Unary::LeakyRelu { alpha } => {
                if x < 0.0 {
                    alpha * x
                } else {
                    x
                }
            }
            Unary::ThresholdedRelu { alpha } => {
                if x > alpha {
                    x
                } else {
                    0.0
                }
            }
            Unary::Elu { alpha } => {
                if x < 0.0 {
                    alpha * x.exp_m1()
                } else {
                    x
                }
            }
            Unary::Selu { alpha, gamma } => gamma * if x > 0.0 { x } else { alpha * x.exp_m1() },
            Unary::Celu { alpha } => {
                if x < 0.0 {
                    alpha * (x / alpha).exp_m1()
                } else {
                    x
                }
            }
            Unary::Sigmoid => sigmoid(x),
            Unary::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Unary::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
            Unary::Swish { alpha } => x * sigmoid(alpha * x),
            Unary::Tanh => x.tanh(),
            Unary::Gelu { is_approximate: false } => {
                (f64::from(x) * 0.5 * (1.0 + erf(f64::from(x) * std::f64::consts::FRAC_1_SQRT_2))) as f32
            }
            Unary::Gelu { is_approximate: true } => {
                let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
                0.5 * x * (1.0 + inner.tanh())
            }
            Unary::Mish => x * softplus(x).tanh(),
            Unary::Softplus => softplus(x),
            Unary::Softsign => x / (1.0 + x.abs()),
            Unary::Exp => x.exp(),
            Unary::Log => x.ln(),
            Unary::Sqrt => x.sqrt(),
            Unary::Reciprocal => 1.0 / x,
            Unary::Abs => x.abs(),
            Unary::Neg => -x,
            Unary::Sign => {
                if x == 0.0 || x.is_nan() {
                    x
                } else {
                    x.signum()
                }
            }
            Unary::Floor => x.floor(),
            Unary::Ceil => x.ceil(),
            Unary::Round => x.round_ties_even(),
            Unary::Erf => erf(x.into()) as f32,
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Not => f32::from(x == 0.0),
        }
    }

    fn takes(self, element_type: ElementType) -> bool {
        match self {
            Unary::Not => element_type == ElementType::Bool,
            Unary::Relu | Unary::Abs | Unary::Neg | Unary::Sign => element_type != ElementType::Bool,
            _ => element_type == ElementType::Float,
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The error function, by the series of positive terms 2^n x^(2n+1) / (2n+1)!!, which loses no digits.
fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    // Beyond, the distance to 1 is less than a float's.
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut factor) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        factor += 2.0;
        term *= 2.0 * x * x / factor;
        sum += term;
    }
    sum * (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI
}

/// Infers a function of each element.
pub(crate) fn infer(function: Unary, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    let expected = match function {
        Unary::Not => "bool",
        Unary::Relu | Unary::Abs | Unary::Neg | Unary::Sign => "a number",
        _ => "float",
    };
    Ok(types.of_type(0, expected, |element_type| function.takes(element_type))?.clone())
}

/// Runs a function of each element.
pub(crate) fn run(function: Unary, tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    macro_rules! integers {
        ($elements:expr, $variant:ident) => {
            Elements::$variant(match function {
                Unary::Relu => $elements.iter().map(|&x| x.max(0)).collect(),
                Unary::Neg => $elements.iter().map(|&x| x.wrapping_neg()).collect(),
                Unary::Sign => $elements.iter().map(|&x| x.signum()).collect(),
                _ => $elements.iter().map(|&x| x.wrapping_abs()).collect(),
            })
        };
    }
    Ok(match &input.elements {
        Elements::Float(elements) => Elements::Float(elements.iter().map(|&x| function.of(x)).collect()),
        Elements::Int64(elements) => integers!(elements, Int64),
        Elements::Int32(elements) => integers!(elements, Int32),
        Elements::Int8(elements) => integers!(elements, Int8),
        Elements::Uint8(elements) => match function {
            Unary::Neg => Elements::Uint8(elements.iter().map(|&x| x.wrapping_neg()).collect()),
            Unary::Sign => Elements::Uint8(elements.iter().map(|&x| x.min(1)).collect()),
            _ => Elements::Uint8(elements.clone()),
        },
        Elements::Bool(elements) => Elements::Bool(elements.iter().map(|&x| !x).collect()),
    })
}

/// Infers `Cast`.
pub(crate) fn infer_cast(to: ElementType, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(1)?;
    Ok(ValueType::new(to, types.required(0)?.shape.clone()))
}

/// Returns elements as another type. Floats are cut off towards 0 and saturate; integers wrap.
pub(crate) fn cast(to: ElementType, from: &Elements) -> Elements {
    macro_rules! cast {
        ($elements:expr, $zero:expr) => {{
            let elements = $elements.iter().copied();
            match to {
                ElementType::Float => Elements::Float(elements.map(|x| x as f32).collect()),
                ElementType::Int64 => Elements::Int64(elements.map(|x| x as i64).collect()),
                ElementType::Int32 => Elements::Int32(elements.map(|x| x as i32).collect()),
                ElementType::Int8 => Elements::Int8(elements.map(|x| x as i8).collect()),
                ElementType::Uint8 => Elements::Uint8(elements.map(|x| x as u8).collect()),
                ElementType::Bool => Elements::Bool(elements.map(|x| x != $zero).collect()),
            }
        }};
    }
    match from {
        Elements::Float(elements) => cast!(elements, 0.0),
        Elements::Int64(elements) => cast!(elements, 0),
        Elements::Int32(elements) => cast!(elements, 0),
        Elements::Int8(elements) => cast!(elements, 0),
        Elements::Uint8(elements) => cast!(elements, 0),
        Elements::Bool(elements) => {
            let elements: Vec<u8> = elements.iter().map(|&x| x.into()).collect();
            cast!(elements, 0)
        }
    }
}
