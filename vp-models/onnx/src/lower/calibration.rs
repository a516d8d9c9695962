//! Ranges of a float model's values as a file, in the form of the calibration tables of NVIDIA's compiler (`--calibtable`): a JSON object
//! with `scale`, `min`, `max` and `offset` for each name.

use super::equalised::Factors;
use super::ranges::{Distribution, RangeMethod, Ranges};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use thiserror::Error;
use vp_tensors::{Graph, ValueId};

/// Bytes of a file, at most.
const MOST_BYTES: u64 = 64 << 20;

/// Steps of a code of 8 bits from zero to the largest.
const STEPS: f32 = 127.0;

/// Ranges of values, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrationTable(BTreeMap<String, TableRow>);

/// Range of a value, and factors of its channels.
#[derive(Clone, Debug, PartialEq)]
struct TableRow {
    range: Range,
    /// Factors of its channels, by which its numbers are divided before they get codes.
    factors: Option<Vec<f32>>,
}

/// Range of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    /// Least and largest number that are to have codes.
    coded: (f32, f32),
    /// Least and largest number that occurs.
    seen: (f32, f32),
}

/// Error of a calibration table.
#[derive(Debug, Error)]
#[error("{}: {fault}", file.display())]
pub struct CalibrationError {
    /// The file.
    pub file: PathBuf,
    /// Text that says what is wrong with it.
    pub fault: CalibrationFault,
}

/// Fault of a calibration table.
#[derive(Debug, Error)]
pub enum CalibrationFault {
    /// A file that cannot be read.
    #[error("cannot read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// A file that is too large.
    #[error("larger than {} MiB", MOST_BYTES >> 20)]
    Large,
    /// No JSON, or not of such a table.
    #[error(
        "no calibration table, which has {{\"tensor\": {{\"scale\": 0.1, \"min\": 0, \"max\": 0, \"offset\": 0}}}}: {0}"
    )]
    Json(#[from] serde_json::Error),
    /// A row that gives no range.
    #[error("`{name}`: {why}")]
    Row {
        /// Name of the value.
        name: String,
        /// Text that says what would be right.
        why: String,
    },
    /// No row at all.
    #[error("no ranges in it")]
    Empty,
}

/// A row as the file has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Row {
    /// Numbers of one step of a code.
    scale: Option<f32>,
    /// Least and largest number that are to have codes; both 0, or none, where `scale` alone counts.
    min: Option<f32>,
    max: Option<f32>,
    offset: f32,
    /// Least and largest number that occurs, where those are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    lowest: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highest: Option<f32>,
    /// Factors of its channels: all other numbers are of what is divided by them.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_factors: Option<Vec<f32>>,
}

impl CalibrationTable {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is no table, or has a row without a range.
    pub fn load(path: &Path) -> Result<CalibrationTable, CalibrationError> {
        let text = || {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path)?;
            file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
            match bytes.len() as u64 > MOST_BYTES {
                true => Err(CalibrationFault::Large),
                false => Ok(bytes),
            }
        };
        let table = text().and_then(|bytes| CalibrationTable::parse(&bytes));
        table.map_err(|fault| CalibrationError { file: path.to_owned(), fault })
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// When they are no table, or have a row without a range.
    pub fn parse(bytes: &[u8]) -> Result<CalibrationTable, CalibrationFault> {
        let rows: BTreeMap<String, Row> = serde_json::from_slice(bytes)?;
        if rows.is_empty() {
            return Err(CalibrationFault::Empty);
        }
        let rows = rows.into_iter().map(|(name, row)| match TableRow::of(&row) {
            Ok(row) => Ok((name, row)),
            Err(why) => Err(CalibrationFault::Row { name, why }),
        });
        rows.collect::<Result<_, _>>().map(CalibrationTable)
    }

    /// The table as a file.
    pub fn to_json(&self) -> String {
        let rows: BTreeMap<&str, Row> =
            self.0.iter().map(|(name, row)| (name.as_str(), row.written())).collect();
        serde_json::to_string_pretty(&rows).unwrap_or_default() + "\n"
    }

    /// The table of ranges that were seen in samples. Values that the graph does not have are steps of quantising it.
    pub(super) fn of(
        graph: &Graph,
        ranges: &Ranges,
        method: RangeMethod,
        factors: &Factors,
    ) -> CalibrationTable {
        let mut table: BTreeMap<String, TableRow> = BTreeMap::new();
        let known = ranges.iter().filter_map(|(id, seen)| Some((graph.values.get(id.0)?, seen)));
        for (value, distribution) in known {
            let range = Range { coded: distribution.limits(method), seen: distribution.seen() };
            table
                .entry(value.name.clone())
                .and_modify(|known| known.range = known.range.with(range))
                .or_insert_with(|| TableRow { range, factors: factors.get(&value.name).cloned() });
        }
        CalibrationTable(table)
    }

    /// Ranges of those values of a graph that it has.
    pub(super) fn ranges(&self, graph: &Graph) -> Ranges {
        let known = graph.values.iter().enumerate().filter_map(|(at, value)| {
            let Range { coded, seen } = self.0.get(&value.name)?.range;
            Some((ValueId(at), Distribution::of_limits(coded, seen)))
        });
        known.collect()
    }

    /// Factors of channels.
    pub(super) fn factors(&self) -> Factors {
        let rows = self.0.iter().filter_map(|(name, row)| Some((name.clone(), row.factors.clone()?)));
        rows.collect()
    }
}

impl TableRow {
    fn of(row: &Row) -> Result<TableRow, String> {
        let is_power = |factor: &f32| factor.is_normal() && *factor > 0.0 && factor.log2().fract() == 0.0;
        match &row.channel_factors {
            Some(factors) if !factors.iter().all(is_power) => {
                Err("`channel_factors` are powers of two".to_owned())
            }
            factors => Ok(TableRow { factors: factors.clone(), range: Range::of(row)? }),
        }
    }

    fn written(&self) -> Row {
        Row { channel_factors: self.factors.clone(), ..self.range.row() }
    }
}

impl Range {
    fn of(row: &Row) -> Result<Range, String> {
        let &Row { scale, min, max, offset, lowest, highest, .. } = row;
        let numbers = [scale, min, max, Some(offset), lowest, highest];
        if numbers.into_iter().flatten().any(|number| !number.is_finite()) {
            return Err("a number is not finite".to_owned());
        }
        if scale.is_some_and(|scale| scale < 0.0) {
            return Err("`scale` is below 0".to_owned());
        }
        let coded = match (min, max) {
            (Some(_), None) => return Err("`min` wants `max` beside it".to_owned()),
            (None, Some(_)) => return Err("`max` wants `min` beside it".to_owned()),
            (Some(min), Some(max)) if min > max => return Err("`min` is larger than `max`".to_owned()),
            (Some(min), Some(max)) if (min, max) != (0.0, 0.0) => {
                let range = (min.min(0.0), max.max(0.0));
                scale.map_or(Ok(()), |scale| agree(scale, range))?;
                range
            }
            _ if offset != 0.0 => return Err("an `offset` wants `min` and `max` beside it".to_owned()),
            _ => match scale {
                None => return Err("it needs `scale`, or `min` and `max`".to_owned()),
                Some(scale) => (-STEPS * scale, STEPS * scale),
            },
        };
        let seen = (lowest.unwrap_or(coded.0).min(coded.0), highest.unwrap_or(coded.1).max(coded.1));
        Ok(Range { coded, seen })
    }

    fn row(self) -> Row {
        let ((min, max), (lowest, highest)) = (self.coded, self.seen);
        let differs = |one: f32, other: f32| (one != other).then_some(other);
        Row {
            scale: Some(max.max(-min) / STEPS),
            min: Some(min),
            max: Some(max),
            offset: 0.0,
            lowest: differs(min, lowest),
            highest: differs(max, highest),
            channel_factors: None,
        }
    }

    fn with(self, other: Range) -> Range {
        let widest = |one: (f32, f32), other: (f32, f32)| (one.0.min(other.0), one.1.max(other.1));
        Range { coded: widest(self.coded, other.coded), seen: widest(self.seen, other.seen) }
    }
}

/// Share by which a scale may differ from the one that a range gives: tables have 127 or 128 steps to a side, or 255 in all.
const SCALE_TOLERANCE: f32 = 0.02;

/// Refuses a scale that is not the range's: neither that of codes around zero nor that of codes from its one end to the other.
fn agree(scale: f32, (min, max): (f32, f32)) -> Result<(), String> {
    let of_range = [max.max(-min) / STEPS, (max - min) / (2.0 * STEPS + 1.0)];
    match of_range.iter().any(|of| (scale - of).abs() <= SCALE_TOLERANCE * of) {
        true => Ok(()),
        false => Err(format!(
            "`scale` {scale} and `min` and `max` contradict each other: of these, {} is the scale; leave out what is not meant",
            of_range[0]
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_nvidias_compiler_are_read() {
        let text = br#"{"data": {"scale": 0.5, "min": 0, "max": 0, "offset": 0}, "b": {"scale": 0.1}, "c": {"min": -1, "max": 2},
            "affine": {"scale": 0.01, "min": -1.0, "max": 1.55, "offset": -28}, "conv1": {"scale": 0.0433, "min": -3, "max": 5.5, "offset": 0}}"#;
        let table = CalibrationTable::parse(text).unwrap();
        let coded: Vec<_> = table.0.iter().map(|(name, row)| (name.as_str(), row.range.coded)).collect();
        assert_eq!(
            coded,
            [
                ("affine", (-1.0, 1.55)),
                ("b", (-12.7, 12.7)),
                ("c", (-1.0, 2.0)),
                ("conv1", (-3.0, 5.5)),
                ("data", (-63.5, 63.5)),
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let range = Range { coded: (-0.1, 1.3), seen: (-0.1, 17.7) };
        let plain = Range { coded: (0.0, f32::MIN_POSITIVE), seen: (0.0, f32::MIN_POSITIVE) };
        let plain = TableRow { range: plain, factors: None };
        let scaled = TableRow { range, factors: Some(vec![1.0, 0.25]) };
        let table = CalibrationTable([("a".to_owned(), scaled), ("b".to_owned(), plain)].into());
        assert_eq!(CalibrationTable::parse(table.to_json().as_bytes()).unwrap(), table);
    }

    #[test]
    fn rows_without_a_range_are_refused() {
        for (row, why) in [
            (r#""min": 2, "max": 1"#, "`x`: `min` is larger than `max`"),
            (r#""scale": -1"#, "`x`: `scale` is below 0"),
            (r#""scale": -1, "min": -4, "max": 3"#, "`x`: `scale` is below 0"),
            (
                r#""scale": 0, "min": -4, "max": 3"#,
                "`x`: `scale` 0 and `min` and `max` contradict each other",
            ),
            (r#""scale": 1.76, "min": -4.48, "max": 3.67"#, "of these, 0.0352"),
            (r#""scale": 0.03, "max": 3.67"#, "`x`: `max` wants `min` beside it"),
            (r#""min": -3.67"#, "`x`: `min` wants `max` beside it"),
            (r#""scale": 1, "offset": 3"#, "`x`: an `offset` wants `min` and `max` beside it"),
            (r#""scale": 1e39"#, "`x`: a number is not finite"),
            (r#""scal": 1"#, "unknown field `scal`"),
            ("", "`x`: it needs `scale`, or `min` and `max`"),
            (r#""channel_factors": [1, 3]"#, "`x`: `channel_factors` are powers of two"),
        ] {
            let error = CalibrationTable::parse(format!("{{\"x\": {{{row}}}}}").as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        assert_eq!(CalibrationTable::parse(b"{}").unwrap_err().to_string(), "no ranges in it");
    }
}
