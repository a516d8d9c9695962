//! Distribution of the model's errors against the RTL over many rows, and bounds on it.

use super::RtlError;
use std::fmt;
use std::path::Path;
use vp_observers::WholeFile;

/// A row's error in parts per million of the RTL's cycles, rounded up.
#[must_use]
pub fn error_ppm(model: u64, rtl: u64) -> u64 {
    (model.abs_diff(rtl) * 1_000_000).div_ceil(rtl.max(1))
}

/// The errors of a set of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Number of rows.
    pub rows: usize,
    /// Number of runs whose cycles are equal.
    pub exact: usize,
    /// The median error, in parts per million.
    pub median: u64,
    /// Error that 95 % of the rows do not exceed, in parts per million.
    pub percentile_95: u64,
    /// The largest.
    pub max: u64,
}

impl Distribution {
    /// The distribution of errors in parts per million.
    #[must_use]
    pub fn of(errors: impl IntoIterator<Item = u64>) -> Distribution {
        let mut errors: Vec<u64> = errors.into_iter().collect();
        errors.sort_unstable();
        // The nearest rank: the smallest error that so many percent of the rows do not exceed.
        let rank = |percent: usize| (errors.len() * percent).div_ceil(100).max(1) - 1;
        let at = |percent| errors.get(rank(percent)).copied().unwrap_or(0);
        Distribution {
            rows: errors.len(),
            exact: errors.iter().filter(|error| **error == 0).count(),
            median: at(50),
            percentile_95: at(95),
            max: at(100),
        }
    }

    /// Figures in which it is worse than an earlier one of the same rows.
    #[must_use]
    pub fn worse_than(&self, earlier: &Distribution) -> Vec<String> {
        let fewer = [("rows", self.rows, earlier.rows), ("exact rows", self.exact, earlier.exact)];
        let farther = [
            ("median", self.median, earlier.median),
            ("95th percentile", self.percentile_95, earlier.percentile_95),
            ("largest error", self.max, earlier.max),
        ];
        let fewer = fewer.into_iter().filter(|(_, now, then)| now < then);
        let farther = farther.into_iter().filter(|(_, now, then)| now > then);
        let fewer = fewer.map(|(what, now, then)| format!("{what}: {now}, {then} before"));
        fewer.chain(farther.map(|(what, now, then)| format!("{what}: {now} ppm, {then} before"))).collect()
    }
}

/// Bounds on how far the model may be from the RTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Fewer cycles apart than this count as none.
    pub cycles: u64,
    /// The median, in parts per million.
    pub median: u64,
    /// The 95th percentile.
    pub percentile_95: u64,
    /// The largest.
    pub max: u64,
}

impl Bounds {
    /// Bounds that are asked for: median 3 %, 95 % of the rows 10 %, none over 20 %, under 60 cycles not counted.
    pub const ASKED: Bounds = Bounds { cycles: 60, median: 30_000, percentile_95: 100_000, max: 200_000 };

    /// A row's error as it counts here.
    #[must_use]
    pub fn error(&self, model: u64, rtl: u64) -> u64 {
        if model.abs_diff(rtl) < self.cycles { 0 } else { error_ppm(model, rtl) }
    }

    /// Returns true if errors, each as [`error`](Bounds::error) counts it, are within.
    #[must_use]
    pub fn hold(&self, errors: &Distribution) -> bool {
        errors.median <= self.median && errors.percentile_95 <= self.percentile_95 && errors.max <= self.max
    }
}

/// A distribution as it is kept in a file: whose, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDistribution {
    /// The table of measurements.
    pub table: String,
    /// Rows of the table: `all`, or those of a memory.
    pub group: String,
    /// Distribution of the errors.
    pub distribution: Distribution,
}

const HEADER: [&str; 7] = ["table", "memory", "rows", "exact", "median_ppm", "percentile_95_ppm", "max_ppm"];

/// Reads distributions that [`write()`] wrote.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub fn read(path: &Path) -> Result<Vec<TableDistribution>, RtlError> {
    let mut reader = super::csv_of(path)?;
    let mut kept = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| RtlError::new(path, error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let numbers: Option<Vec<u64>> = record.iter().skip(2).map(|cell| cell.parse().ok()).collect();
        let Some([rows, exact, median, percentile_95, max]) = numbers.as_deref() else {
            return Err(RtlError::new(
                path,
                format!("line {line}: not {} columns with numbers", HEADER.len()),
            ));
        };
        let distribution = Distribution {
            rows: *rows as usize,
            exact: *exact as usize,
            median: *median,
            percentile_95: *percentile_95,
            max: *max,
        };
        kept.push(TableDistribution {
            table: record[0].to_owned(),
            group: record[1].to_owned(),
            distribution,
        });
    }
    Ok(kept)
}

/// Writes distributions to a file.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, kept: &[TableDistribution]) -> Result<(), RtlError> {
    let wrong = |error: csv::Error| RtlError::new(path, error);
    let file = WholeFile::create(path).map_err(|error| RtlError::new(path, error))?;
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(HEADER).map_err(wrong)?;
    for TableDistribution { table, group, distribution } in kept {
        let Distribution { rows, exact, median, percentile_95, max } = *distribution;
        let numbers =
            [rows as u64, exact as u64, median, percentile_95, max].map(|number| number.to_string());
        let texts = [table.clone(), group.clone()];
        writer.write_record(texts.iter().chain(&numbers)).map_err(wrong)?;
    }
    let file = writer.into_inner().map_err(|error| RtlError::new(path, error.into_error()))?;
    file.keep().map_err(|error| RtlError::new(path, error))
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Distribution { rows, exact, median, percentile_95, max } = *self;
        let percent = |ppm: u64| ppm as f64 / 10_000.0;
        write!(f, "{exact} of {rows} rows exact, median {:.2} %, ", percent(median))?;
        write!(f, "95 % within {:.2} %, all within {:.2} %", percent(percentile_95), percent(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_errors_that_occur() {
        let errors = (1..=20).rev().map(|percent| percent * 10_000);
        let distribution = Distribution::of(errors);
        assert_eq!((distribution.rows, distribution.exact), (20, 0));
        assert_eq!(
            (distribution.median, distribution.percentile_95, distribution.max),
            (100_000, 190_000, 200_000)
        );
        assert_eq!(Distribution::of([]), Distribution::default());
        assert_eq!(Distribution::of([0, 5]).median, 0);
    }

    #[test]
    fn a_difference_of_few_cycles_counts_as_none() {
        assert_eq!(Bounds::ASKED.error(159, 100), 0);
        assert_eq!(Bounds::ASKED.error(160, 100), 600_000);
    }

    #[test]
    fn one_row_too_far_breaks_the_bounds() {
        let near = Distribution::of([0; 99]);
        assert!(Bounds::ASKED.hold(&near));
        assert!(!Bounds::ASKED.hold(&Distribution { max: 200_001, ..near }));
        assert!(!Bounds::ASKED.hold(&Distribution { percentile_95: 100_001, ..near }));
        assert!(!Bounds::ASKED.hold(&Distribution { median: 30_001, ..near }));
    }

    #[test]
    fn fewer_exact_rows_and_larger_errors_are_worse() {
        let earlier = Distribution { rows: 10, exact: 9, median: 0, percentile_95: 500, max: 500 };
        assert!(earlier.worse_than(&earlier).is_empty());
        let later = Distribution { exact: 8, max: 600, ..earlier };
        assert_eq!(
            later.worse_than(&earlier),
            ["exact rows: 8, 9 before", "largest error: 600 ppm, 500 before"]
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.csv");
        let kept = vec![TableDistribution {
            table: "nv_small".to_owned(),
            group: "read 50, write 1, limit 256".to_owned(),
            distribution: Distribution { rows: 4, exact: 3, median: 0, percentile_95: 7, max: 7 },
        }];
        write(&path, &kept).unwrap();
        assert_eq!(read(&path).unwrap(), kept);
    }
}
