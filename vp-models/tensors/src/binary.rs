//! Functions of the elements of two or more tensors, which are broadcast.

use crate::arguments::{Tensors, Types, wrong_shape};
use crate::strides::{broadcast, zip};
use crate::{Binary, ElementType, Elements, OperatorError, Reduction, Tensor, ValueType};

/// Infers a function of two tensors.
pub(crate) fn infer(function: Binary, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let is_number = |element_type| element_type != ElementType::Bool;
    let left = match function {
        Binary::And | Binary::Or => types.of_type(0, "bool", |element_type| !is_number(element_type))?,
        Binary::Equal => types.required(0)?,
        _ => types.of_type(0, "a number", is_number)?,
    };
    let right = types.required(1)?;
    if function == Binary::Pow {
        types.of_type(1, "a number", is_number)?;
    } else {
        types.same(1, left.element_type)?;
    }
    let shape = broadcast([(0, left.shape.as_slice()), (1, &right.shape)])?;
    let element_type = match function {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Pow | Binary::Mod { .. } => {
            left.element_type
        }
        _ => ElementType::Bool,
    };
    Ok(ValueType::new(element_type, shape))
}

/// Arithmetic on numbers of a type. Integers wrap.
trait Arithmetic: Copy + PartialOrd + Default {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// Rest of a division that is cut off towards 0.
    fn rest(self, other: Self) -> Self;
    fn is_divisor(self) -> bool;
}

/// Rest of a division that is rounded down: it has the divisor's sign.
fn floored_rest<T: Arithmetic>(number: T, divisor: T) -> T {
    let (rest, zero) = (number.rest(divisor), T::default());
    match rest != zero && (rest < zero) != (divisor < zero) {
        true => rest.add(divisor),
        false => rest,
    }
}

impl Arithmetic for f32 {
    fn add(self, other: f32) -> f32 {
        self + other
    }
    fn sub(self, other: f32) -> f32 {
        self - other
    }
    fn mul(self, other: f32) -> f32 {
        self * other
    }
    fn div(self, other: f32) -> f32 {
        self / other
    }
    fn rest(self, other: f32) -> f32 {
        self % other
    }
    fn is_divisor(self) -> bool {
        true
    }
}

macro_rules! integers {
    ($($name:ty),*) => {$(
        impl Arithmetic for $name {
            fn add(self, other: $name) -> $name {
                self.wrapping_add(other)
            }
            fn sub(self, other: $name) -> $name {
                self.wrapping_sub(other)
            }
            fn mul(self, other: $name) -> $name {
                self.wrapping_mul(other)
            }
            fn div(self, other: $name) -> $name {
                self.wrapping_div(other)
            }
            fn rest(self, other: $name) -> $name {
                self.wrapping_rem(other)
            }
            fn is_divisor(self) -> bool {
                self != 0
            }
        }
    )*};
}
integers!(i64, i32, i8, u8);

/// Two tensors of the same type, as slices with their shapes.
type Pair<'a, T> = ((&'a [T], &'a [usize]), (&'a [T], &'a [usize]));

fn arithmetic<T: Arithmetic>(
    function: Binary,
    shape: &[usize],
    (left, right): Pair<'_, T>,
) -> Result<Vec<T>, OperatorError> {
    Ok(match function {
        Binary::Sub => zip(shape, left, right, T::sub),
        Binary::Mul => zip(shape, left, right, T::mul),
        Binary::Div | Binary::Mod { .. } => {
            if !right.0.iter().all(|&divisor| divisor.is_divisor()) {
                let expected = "an integer other than 0".into();
                return Err(OperatorError::Value { input: 1, found: "0".into(), expected });
            }
            match function {
                Binary::Mod { is_truncated: true } => zip(shape, left, right, T::rest),
                Binary::Mod { is_truncated: false } => zip(shape, left, right, floored_rest),
                _ => zip(shape, left, right, T::div),
            }
        }
        _ => zip(shape, left, right, T::add),
    })
}

fn comparison<T: PartialOrd + Copy>(
    function: Binary,
    shape: &[usize],
    (left, right): Pair<'_, T>,
) -> Vec<bool> {
    match function {
        Binary::Greater => zip(shape, left, right, |left, right| left > right),
        Binary::GreaterOrEqual => zip(shape, left, right, |left, right| left >= right),
        Binary::Less => zip(shape, left, right, |left, right| left < right),
        Binary::LessOrEqual => zip(shape, left, right, |left, right| left <= right),
        _ => zip(shape, left, right, |left, right| left == right),
    }
}

/// Runs a function of two tensors.
pub(crate) fn run(
    function: Binary,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    let (left, right) = (tensors.required(0)?, tensors.required(1)?);
    let shape = made.shape.as_slice();
    if function == Binary::Pow {
        return Ok(power(left, right, shape));
    }
    macro_rules! numbers {
        ($left:expr, $right:expr, $variant:ident) => {{
            let pair =
                (($left.as_slice(), left.shape.as_slice()), ($right.as_slice(), right.shape.as_slice()));
            match function {
                Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod { .. } => {
                    Elements::$variant(arithmetic(function, shape, pair)?)
                }
                _ => Elements::Bool(comparison(function, shape, pair)),
            }
        }};
    }
    Ok(match (&left.elements, &right.elements) {
        (Elements::Float(a), Elements::Float(b)) => numbers!(a, b, Float),
        (Elements::Int64(a), Elements::Int64(b)) => numbers!(a, b, Int64),
        (Elements::Int32(a), Elements::Int32(b)) => numbers!(a, b, Int32),
        (Elements::Int8(a), Elements::Int8(b)) => numbers!(a, b, Int8),
        (Elements::Uint8(a), Elements::Uint8(b)) => numbers!(a, b, Uint8),
        (Elements::Bool(a), Elements::Bool(b)) => {
            let (a, b) = ((a.as_slice(), left.shape.as_slice()), (b.as_slice(), right.shape.as_slice()));
            Elements::Bool(match function {
                Binary::And => zip(shape, a, b, |a, b| a && b),
                Binary::Or => zip(shape, a, b, |a, b| a || b),
                _ => zip(shape, a, b, |a, b| a == b),
            })
        }
        _ => {
            let found = right.element_type();
            return Err(OperatorError::Type { input: 1, found, expected: left.element_type().name() });
        }
    })
}

/// Runs `Pow`, whose exponent may have another type. Integers wrap.
fn power(left: &Tensor, right: &Tensor, shape: &[usize]) -> Elements {
    if let (Elements::Float(bases), Elements::Float(exponents)) = (&left.elements, &right.elements) {
        let squares = exponents.iter().all(|&exponent| exponent == 2.0);
        let pair =
            ((bases.as_slice(), left.shape.as_slice()), (exponents.as_slice(), right.shape.as_slice()));
        return Elements::Float(match squares {
            true => zip(shape, pair.0, pair.1, |base, _| base * base),
            false => zip(shape, pair.0, pair.1, f32::powf),
        });
    }
    let numbers = match (left.to_integers(), right.to_integers()) {
        (Some(bases), Some(exponents)) => {
            let power = |base: i64, exponent: i64| match u32::try_from(exponent) {
                Ok(exponent) => base.wrapping_pow(exponent),
                // Of integers only 1 and -1 have an integer as their inverse.
                Err(_) if base == 1 || (base == -1 && exponent % 2 == 0) => 1,
                Err(_) if base == -1 => -1,
                Err(_) => 0,
            };
            Elements::Int64(zip(shape, (&bases, &left.shape), (&exponents, &right.shape), power))
        }
        _ => {
            let (bases, exponents) = (left.to_floats(), right.to_floats());
            Elements::Float(zip(shape, (&bases, &left.shape), (&exponents, &right.shape), f32::powf))
        }
    };
    crate::unary::cast(left.element_type(), &numbers)
}

/// Infers `PRelu`.
pub(crate) fn infer_prelu(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(2)?;
    let (input, slopes) = (types.floats(0)?, types.floats(1)?);
    let shape = broadcast([(0, input.shape.as_slice()), (1, &slopes.shape)])?;
    if shape != input.shape {
        return Err(wrong_shape(1, &slopes.shape, "one that broadcasts to the input's".into()));
    }
    Ok(input.clone())
}

/// Runs `PRelu`.
pub(crate) fn run_prelu(tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    let (input, slopes) = (tensors.required(0)?, tensors.required(1)?);
    let pair = ((tensors.floats(0)?, input.shape.as_slice()), (tensors.floats(1)?, slopes.shape.as_slice()));
    Ok(Elements::Float(zip(&input.shape, pair.0, pair.1, |x, slope| if x < 0.0 { slope * x } else { x })))
}

/// Infers `Clip`.
pub(crate) fn infer_clip(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let input = types.of_type(0, "a number", |element_type| element_type != ElementType::Bool)?;
    for bound in 1..3 {
        types.same(bound, input.element_type)?;
        crate::zero_point::check_scalar(types, bound)?;
    }
    Ok(input.clone())
}

/// Runs `Clip`.
pub(crate) fn run_clip(tensors: Tensors<'_>) -> Result<Elements, OperatorError> {
    macro_rules! clip {
        ($elements:expr, $variant:ident) => {{
            let bound = |input: usize| match tensors.optional(input).map(|tensor| &tensor.elements) {
                Some(Elements::$variant(bound)) => bound.first().copied(),
                _ => None,
            };
            let (lower, upper) = (bound(1), bound(2));
            let clip = |&x: &_| {
                let x = match lower {
                    Some(lower) if x < lower => lower,
                    _ => x,
                };
                match upper {
                    Some(upper) if x > upper => upper,
                    _ => x,
                }
            };
            Elements::$variant($elements.iter().map(clip).collect())
        }};
    }
    Ok(match &tensors.required(0)?.elements {
        Elements::Float(elements) => clip!(elements, Float),
        Elements::Int64(elements) => clip!(elements, Int64),
        Elements::Int32(elements) => clip!(elements, Int32),
        Elements::Int8(elements) => clip!(elements, Int8),
        Elements::Uint8(elements) => clip!(elements, Uint8),
        Elements::Bool(elements) => Elements::Bool(elements.clone()),
    })
}

/// Infers `Max`, `Min`, `Sum` and `Mean` of tensors.
pub(crate) fn infer_variadic(reduction: Reduction, types: Types<'_>) -> Result<ValueType, OperatorError> {
    let first = match reduction {
        Reduction::Max | Reduction::Min => {
            types.of_type(0, "a number", |element_type| element_type != ElementType::Bool)?
        }
        Reduction::Sum | Reduction::Mean => types.floats(0)?,
        other => return Err(crate::arguments::wrong_attribute("reduction", other, "Max, Min, Sum or Mean")),
    };
    let mut shapes = Vec::new();
    for input in 0..types.types.len() {
        types.same(input, first.element_type)?;
        shapes.push((input, types.required(input)?.shape.as_slice()));
    }
    Ok(ValueType::new(first.element_type, broadcast(shapes)?))
}

/// Runs `Max`, `Min`, `Sum` and `Mean` of tensors.
pub(crate) fn run_variadic(
    reduction: Reduction,
    tensors: Tensors<'_>,
    made: &ValueType,
) -> Result<Elements, OperatorError> {
    macro_rules! fold {
        ($variant:ident, $function:expr) => {{
            let mut made_of: Option<Vec<_>> = None;
            for input in 0..tensors.0.len() {
                let tensor = tensors.required(input)?;
                let Elements::$variant(elements) = &tensor.elements else {
                    let found = tensor.element_type();
                    return Err(OperatorError::Type { input, found, expected: made.element_type.name() });
                };
                let next = (elements.as_slice(), tensor.shape.as_slice());
                made_of = Some(match &made_of {
                    None => zip(&made.shape, next, (&[()], &[]), |element, ()| element),
                    Some(so_far) => {
                        zip(&made.shape, (so_far.as_slice(), made.shape.as_slice()), next, $function)
                    }
                });
            }
            Elements::$variant(made_of.unwrap_or_default())
        }};
    }
    let is_max = reduction == Reduction::Max;
    Ok(match (reduction, made.element_type) {
        (Reduction::Sum | Reduction::Mean, _) => {
            let mut sum = fold!(Float, |a: f32, b: f32| a + b);
            if let (Reduction::Mean, Elements::Float(sum)) = (reduction, &mut sum) {
                sum.iter_mut().for_each(|element| *element /= tensors.0.len() as f32);
            }
            sum
        }
        (_, ElementType::Float) => fold!(Float, |a: f32, b: f32| match () {
            () if a.is_nan() || b.is_nan() => f32::NAN,
            () if is_max => a.max(b),
            () => a.min(b),
        }),
        (_, ElementType::Int64) => fold!(Int64, |a: i64, b: i64| if is_max { a.max(b) } else { a.min(b) }),
        (_, ElementType::Int32) => fold!(Int32, |a: i32, b: i32| if is_max { a.max(b) } else { a.min(b) }),
        (_, ElementType::Int8) => fold!(Int8, |a: i8, b: i8| if is_max { a.max(b) } else { a.min(b) }),
        (_, ElementType::Uint8) => fold!(Uint8, |a: u8, b: u8| if is_max { a.max(b) } else { a.min(b) }),
        (_, ElementType::Bool) => fold!(Bool, |a: bool, b: bool| if is_max { a || b } else { a && b }),
    })
}

/// Infers `Where`.
pub(crate) fn infer_where(types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(3)?;
    let condition = types.of_type(0, "bool", |element_type| element_type == ElementType::Bool)?;
    let (yes, no) = (types.required(1)?, types.required(2)?);
    types.same(2, yes.element_type)?;
    let shape = broadcast([(0, condition.shape.as_slice()), (1, &yes.shape), (2, &no.shape)])?;
    Ok(ValueType::new(yes.element_type, shape))
}

/// Runs `Where`.
pub(crate) fn run_where(tensors: Tensors<'_>, made: &ValueType) -> Result<Elements, OperatorError> {
    let (condition, yes, no) = (tensors.required(0)?, tensors.required(1)?, tensors.required(2)?);
    let Elements::Bool(conditions) = &condition.elements else {
        return Err(OperatorError::Type { input: 0, found: condition.element_type(), expected: "bool" });
    };
    let shape = &made.shape;
    macro_rules! choose {
        ($($variant:ident),*) => {
            match (&yes.elements, &no.elements) {
                $((Elements::$variant(yeses), Elements::$variant(noes)) => {
                    let choices = zip(shape, (yeses, &yes.shape), (noes, &no.shape), |yes, no| (yes, no));
                    let choose = |yes, (a, b)| if yes { a } else { b };
                    Elements::$variant(zip(shape, (conditions, &condition.shape), (&choices, shape), choose))
                })*
                _ => {
                    let found = no.element_type();
                    return Err(OperatorError::Type { input: 2, found, expected: yes.element_type().name() });
                }
            }
        };
    }
    Ok(choose!(Float, Int64, Int32, Int8, Uint8, Bool))
}
