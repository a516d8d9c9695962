//! Parameters that a study varies: lists and ranges of values, and the products of them.

use super::named_once::repetition;
use super::places::names;
use super::quantity::Quantity;
use serde::{Deserialize, Deserializer};
use std::collections::HashSet;
use toml::{Table, Value};
use vp_models::toml_text::in_plain_words;

/// Parameters and the values that they take, every combination of which is a point.
///
/// ```
/// use vp_study::Product;
/// let text = r#"
///     platform = ["nv_small", "nv_large"]
///     "dbb0.read_latency" = { from = 10, to = 1000, points = 3, scale = "log" }
///     "dbb0.read_outstanding, dbb0.write_outstanding" = [8, 64]
/// "#;
/// let product: Product = toml::from_str(text).unwrap();
/// assert_eq!(product.points().count(), 2 * 3 * 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Product {
    axes: Vec<Axis>,
}

/// Parameters that change together, and their values.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    names: Vec<String>,
    /// A value for each name.
    steps: Vec<Vec<Value>>,
}

/// A parameter and its value.
pub type Assignment = (String, Value);

/// Most values of a range: more are a slip of the pen.
const MOST: u32 = 10_000;

/// A range, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Value,
    to: Value,
    points: Option<u32>,
    step: Option<Value>,
    #[serde(default)]
    scale: Scale,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Scale {
    #[default]
    Linear,
    Log,
}

/// Error of a parameter's values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: {why}")]
pub struct SweepError {
    name: String,
    why: String,
    /// Number of the key that has it, counted from zero.
    pub(super) at: usize,
}

impl Product {
    /// The product of parameters, such as a table's. A key may name several, with commas between: they take the same values, or where
    /// a value is a list as long, one each.
    ///
    /// # Errors
    /// Names the key whose values are none, or which names a parameter for the second time.
    pub fn of(parameters: impl IntoIterator<Item = Assignment>) -> Result<Product, SweepError> {
        let parameters: Vec<Assignment> = parameters.into_iter().collect();
        if let Some(second) = repetition(parameters.iter().map(|(key, _)| key.as_str())) {
            let (at, why) = (second.at, second.why());
            return Err(SweepError { name: parameters[at].0.clone(), why, at });
        }
        let axis = |(at, (name, values)): (usize, Assignment)| {
            Axis::of(&name, values).map_err(|why| SweepError { name, why, at })
        };
        Ok(Product { axes: parameters.into_iter().enumerate().map(axis).collect::<Result<_, _>>()? })
    }

    /// The names of the parameters, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().flat_map(|axis| axis.names.iter().map(String::as_str))
    }

    /// The number of combinations; beyond all numbers the largest one.
    pub fn count(&self) -> usize {
        self.axes.iter().fold(1, |count, axis| count.saturating_mul(axis.steps.len()))
    }

    /// Every combination; the last parameter changes fastest.
    pub fn points(&self) -> impl Iterator<Item = Vec<Assignment>> + '_ {
        (0..self.count()).map(|mut rest| {
            let mut point: Vec<Assignment> = Vec::new();
            for axis in self.axes.iter().rev() {
                let step = &axis.steps[rest % axis.steps.len()];
                rest /= axis.steps.len();
                point.extend(axis.names.iter().cloned().zip(step.iter().cloned()).rev());
            }
            point.reverse();
            point
        })
    }
}

impl<'de> Deserialize<'de> for Product {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Product, D::Error> {
        Product::of(Table::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Axis {
    fn of(key: &str, values: Value) -> Result<Axis, String> {
        let names: Vec<String> = names(key).map(str::to_owned).collect();
        if names.iter().any(String::is_empty) {
            return Err("a parameter's name, or several with commas between".to_owned());
        }
        let values = match values {
            Value::Array(list) => list,
            Value::Table(range) if range.contains_key("from") => {
                let range: Range = range
                    .try_into()
                    .map_err(|error: toml::de::Error| in_plain_words(error.message(), &[]))?;
                range.values()?
            }
            single => vec![single],
        };
        if values.is_empty() {
            return Err("there is no value in the list".to_owned());
        }
        let each = |value: Value| match value {
            Value::Array(list) if names.len() > 1 => match list.len() == names.len() {
                true => Ok(list),
                false => Err(format!("{} values for {} parameters", list.len(), names.len())),
            },
            value => Ok(vec![value; names.len()]),
        };
        let mut steps = values.into_iter().map(each).collect::<Result<Vec<_>, _>>()?;
        // A value that stands twice makes no further points.
        let mut known = HashSet::new();
        steps.retain(|step| known.insert(step.iter().map(Value::to_string).collect::<Vec<_>>()));
        Ok(Axis { names, steps })
    }
}

impl Range {
    /// The values, both ends included. Ends that are whole numbers make whole numbers, none of them twice; ends may be times, rates and
    /// sizes. A step is of the kind of the ends (bytes are whole numbers); on a logarithmic scale it is a factor, and of no kind.
    fn values(&self) -> Result<Vec<Value>, String> {
        let ends = (Quantity::of(&self.from), Quantity::of(&self.to));
        let (Some(from), Some(to)) = ends else {
            return Err(
                "`from` and `to` are numbers, times such as \"400 ns\", rates such as \"10 GB/s\", or sizes such as \"256 KiB\""
                    .to_owned(),
            );
        };
        let kind =
            from.common(to).ok_or("`from` and `to` are of one kind: numbers, times, rates or sizes")?;
        let is_of_kind = |step: &Quantity| step.common(from).is_some();
        let (from, to) = (from.number, to.number);
        let numbers: Vec<f64> = match (self.points, &self.step, self.scale) {
            (Some(points), None, scale) => spaced(from, to, points, scale)?,
            (None, Some(step), Scale::Linear) => {
                let step = Quantity::of(step).filter(|step| step.number > 0.0).filter(is_of_kind);
                let step = step.ok_or("`step` is above zero, and of the kind of `from`")?.number;
                let count = ((to - from) / step + 1e-9).floor();
                if !(0.0..f64::from(MOST)).contains(&count) {
                    return Err(format!("from 1 to {MOST} values, `to` not below `from`"));
                }
                (0..=count as u32).map(|at| from + step * f64::from(at)).collect()
            }
            (None, Some(step), Scale::Log) => {
                let step = step.as_float().or(step.as_integer().map(|factor| factor as f64));
                let step = step.filter(|step| *step > 1.0 && step.is_finite());
                let step = step.ok_or("`step` is a factor above one")?;
                if from <= 0.0 {
                    return Err("a logarithmic range lies above zero".to_owned());
                }
                let up_to = to * (1.0 + 1e-9);
                let all = std::iter::successors(Some(from), |at| Some(at * step)).take(MOST as usize);
                all.take_while(|at| *at <= up_to).collect()
            }
            _ => return Err("a range has either `points` or `step`".to_owned()),
        };
        if numbers.is_empty() {
            return Err("`to` is not below `from`".to_owned());
        }
        let mut values: Vec<Value> = numbers.into_iter().map(|number| kind.value(number)).collect();
        values.dedup();
        Ok(values)
    }
}

fn spaced(from: f64, to: f64, points: u32, scale: Scale) -> Result<Vec<f64>, String> {
    if !(1..=MOST).contains(&points) {
        return Err(format!("`points` is from 1 to {MOST}"));
    }
    if scale == Scale::Log && !(from > 0.0 && to > 0.0) {
        return Err("a logarithmic range lies above zero".to_owned());
    }
    let share = |at: u32| f64::from(at) / f64::from((points - 1).max(1));
    let at = |at: u32| match scale {
        Scale::Linear => from + (to - from) * share(at),
        Scale::Log => from * (to / from).powf(share(at)),
    };
    Ok((0..points).map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(text: &str) -> Result<Product, String> {
        Product::of(toml::from_str::<Table>(text).unwrap()).map_err(|error| error.to_string())
    }

    fn values(range: &str) -> Vec<String> {
        let product = product(&format!("x = {range}")).unwrap();
        product.points().map(|point| point[0].1.to_string()).collect()
    }

    #[test]
    fn the_last_parameter_changes_fastest() {
        let product = product("a = [1, 2]\nb = ['x', 'y']").unwrap();
        let points: Vec<String> =
            product.points().map(|point| format!("{}{}", point[0].1, point[1].1)).collect();
        assert_eq!(points, ["1\"x\"", "1\"y\"", "2\"x\"", "2\"y\""]);
    }

    #[test]
    fn ranges_have_both_ends() {
        assert_eq!(values("{ from = 10, to = 1000, points = 3, scale = 'log' }"), ["10", "100", "1000"]);
        assert_eq!(values("{ from = 0, to = 1, points = 5 }"), ["0", "1"]);
        assert_eq!(values("{ from = 0.0, to = 1.0, points = 3 }"), ["0.0", "0.5", "1.0"]);
        assert_eq!(values("{ from = 1, to = 8, step = 3 }"), ["1", "4", "7"]);
        assert_eq!(values("{ from = 1, to = 256, step = 4, scale = 'log' }"), ["1", "4", "16", "64", "256"]);
        assert_eq!(values("7"), ["7"]);
        let times = values("{ from = '10 ns', to = '1 us', points = 3, scale = 'log' }");
        assert_eq!(times, ["\"10 ns\"", "\"100 ns\"", "\"1 µs\""]);
        assert_eq!(
            values("{ from = '64 KiB', to = '1 MiB', step = 4, scale = 'log' }"),
            ["65536", "262144", "1048576"]
        );
        assert_eq!(
            values("{ from = '1 GB/s', to = '2 GB/s', step = '500 MB/s' }"),
            ["1000000000", "1500000000", "2000000000"]
        );
    }

    #[test]
    fn names_with_commas_change_together() {
        let product = product("'r, w' = [8, [16, 4]]").unwrap();
        let points: Vec<Vec<Assignment>> = product.points().collect();
        let all: Vec<String> =
            points.iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(all, ["r=8", "w=8", "r=16", "w=4"]);
        assert_eq!(product.names().collect::<Vec<_>>(), ["r", "w"]);
    }

    #[test]
    fn refusals_name_the_parameter() {
        let refusal = |text: &str| product(text).unwrap_err();
        assert_eq!(refusal("a = []"), "`a`: there is no value in the list");
        assert_eq!(refusal("'a,b' = [[1, 2, 3]]"), "`a,b`: 3 values for 2 parameters");
        assert_eq!(refusal("a = { from = 1, to = 2 }"), "`a`: a range has either `points` or `step`");
        assert_eq!(
            refusal("a = { from = 0, to = 2, points = 3, scale = 'log' }"),
            "`a`: a logarithmic range lies above zero"
        );
        assert_eq!(
            refusal("a = { from = 2, to = 1, step = 2, scale = 'log' }"),
            "`a`: `to` is not below `from`"
        );
        assert_eq!(
            refusal("a = { from = 0, to = 9, step = 1e-9 }"),
            "`a`: from 1 to 10000 values, `to` not below `from`"
        );
        assert!(refusal("a = { from = 0, to = 9, pts = 1 }").contains("pts"));
        assert_eq!(refusal("a = { from = 0, points = 3 }"), "`a`: `to` is missing");
        assert_eq!(
            refusal("a = { from = 0, to = '9 ns', points = 3 }"),
            "`a`: `from` and `to` are of one kind: numbers, times, rates or sizes"
        );
    }

    #[test]
    fn a_step_is_of_the_kind_of_the_ends() {
        let refusal = |range: &str| product(&format!("a = {range}")).unwrap_err();
        for range in [
            "{ from = '64 KiB', to = '1 MiB', step = '1 ns' }",
            "{ from = '10 ns', to = '1 us', step = 100 }",
            "{ from = 1, to = 9, step = '1 GB/s' }",
        ] {
            assert_eq!(refusal(range), "`a`: `step` is above zero, and of the kind of `from`");
        }
        for step in ["'1 ns'", "'4 KiB'", "'1 GB/s'", "'many'", "1", "inf"] {
            let range = format!("{{ from = 1, to = 9, step = {step}, scale = 'log' }}");
            assert_eq!(refusal(&range), "`a`: `step` is a factor above one");
        }
        assert_eq!(values("{ from = '1 KiB', to = 2048, step = 512 }"), ["1024", "1536", "2048"]);
        assert_eq!(values("{ from = 4, to = 9, step = 1.5, scale = 'log' }"), ["4", "6", "9"]);
    }

    #[test]
    fn a_parameter_is_named_once() {
        assert_eq!(product("'x, x' = [[1, 2]]").unwrap_err(), "`x, x`: it names x twice: name it once");
        // Two keys that are spelt alike once they are written with dots.
        let twice =
            [("a", 1), ("dbb0.x", 2), ("dbb0.x", 3)].map(|(key, value)| (key.to_owned(), value.into()));
        let error = Product::of(twice).unwrap_err();
        assert_eq!(error.to_string(), "`dbb0.x`: dbb0.x has values in another key: name it once");
        assert_eq!(error.at, 2);
    }
}
