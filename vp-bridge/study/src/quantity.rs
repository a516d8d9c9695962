//! Values that lie on a scale: numbers, times, rates and sizes.

use toml::Value;
use vp_core::Time;
use vp_models::units::{parse_rate, parse_size};

/// Unit in which a quantity is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuantityKind {
    /// Whole numbers, and bytes of sizes.
    Whole,
    /// Any numbers.
    Number,
    /// Picoseconds.
    Time,
    /// Bytes a second.
    Rate,
}

/// A number and what it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) number: f64,
    pub(super) kind: QuantityKind,
}

impl Quantity {
    /// Returns the quantity of a value, if it lies on a scale.
    pub(super) fn of(value: &Value) -> Option<Quantity> {
        let of = |number: f64, kind| number.is_finite().then_some(Quantity { number, kind });
        match value {
            Value::Integer(number) => of(*number as f64, QuantityKind::Whole),
            Value::Float(number) => of(*number, QuantityKind::Number),
            Value::String(text) => match (text.parse::<Time>(), parse_rate(text)) {
                (Ok(time), _) => of(time.as_ps() as f64, QuantityKind::Time),
                // Digits alone are a text.
                (_, Ok(rate)) if text.contains("/s") => of(rate as f64, QuantityKind::Rate),
                _ => size(text).and_then(|bytes| of(bytes as f64, QuantityKind::Whole)),
            },
            _ => None,
        }
    }

    /// Returns the kind that two quantities have in common.
    pub(super) fn common(self, other: Quantity) -> Option<QuantityKind> {
        match (self.kind, other.kind) {
            (one, same) if one == same => Some(one),
            (QuantityKind::Whole | QuantityKind::Number, QuantityKind::Whole | QuantityKind::Number) => {
                Some(QuantityKind::Number)
            }
            _ => None,
        }
    }
}

/// Returns a time and a number among the values of one parameter, if there are both: a number there counts clock cycles.
pub(super) fn time_and_number<'a>(
    values: impl IntoIterator<Item = &'a Value>,
) -> Option<(&'a Value, &'a Value)> {
    let (mut time, mut number) = (None, None);
    for value in values {
        match Quantity::of(value).map(|quantity| quantity.kind) {
            Some(QuantityKind::Time) => time = time.or(Some(value)),
            Some(_) => number = number.or(Some(value)),
            None => {}
        }
    }
    time.zip(number)
}

/// Bytes of a size with a unit.
pub(super) fn size(text: &str) -> Option<u64> {
    let has_unit = text.contains(|it: char| it.is_ascii_alphabetic());
    has_unit.then(|| parse_size(text).ok()).flatten()
}

impl QuantityKind {
    /// A number of this kind as a value.
    pub(super) fn value(self, number: f64) -> Value {
        match self {
            QuantityKind::Whole | QuantityKind::Rate => Value::Integer(number.round() as i64),
            QuantityKind::Number => Value::Float(number),
            QuantityKind::Time => Value::String(Time::ps(number.round().max(0.0) as u64).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_rates_and_sizes_lie_on_scales_and_words_do_not() {
        let of = |value: Value| Quantity::of(&value).map(|it| (it.number, it.kind));
        assert_eq!(of(7.into()), Some((7.0, QuantityKind::Whole)));
        assert_eq!(of("400 ns".into()), Some((400_000.0, QuantityKind::Time)));
        assert_eq!(of("10 GB/s".into()), Some((1e10, QuantityKind::Rate)));
        assert_eq!(
            (of("64 KiB".into()), of("1M".into())),
            (Some((65536.0, QuantityKind::Whole)), Some((1048576.0, QuantityKind::Whole)))
        );
        assert_eq!((of("nv_small".into()), of("12".into()), of(true.into())), (None, None, None));
        assert_eq!(QuantityKind::Time.value(2_500.0), Value::String("2.5 ns".into()));
    }
}
