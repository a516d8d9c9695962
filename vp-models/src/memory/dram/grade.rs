//! Speed grades: a table in a file, with a row for each standard and one for each grade of it.
//!
//! [`grades.toml`](https://toml.io) beside this file has the figures as the standards write them, each row with its source. A user's
//! own grade is the row of a standard, with all figures said by the user.

use super::figure::Rounding;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use strum::{EnumString, IntoStaticStr};

/// Kind of DRAM, whose rules its grades share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, Deserialize)]
#[strum(serialize_all = "UPPERCASE")]
#[serde(rename_all = "UPPERCASE")]
pub enum Standard {
    /// JESD79-4.
    Ddr4,
    /// JESD79-5.
    Ddr5,
    /// JESD209-4.
    Lpddr4,
    /// JESD209-5, with LPDDR5X.
    Lpddr5,
    /// JESD235.
    Hbm2,
    /// JESD238.
    Hbm3,
    /// JESD250.
    Gddr6,
}

impl Standard {
    /// Returns the rule by which its times become clocks.
    pub const fn rounding(self) -> Rounding {
        match self {
            Standard::Ddr4 => Rounding::Ddr4,
            Standard::Ddr5 => Rounding::Ddr5,
            _ => Rounding::Up,
        }
    }

    /// Returns the bits that a line of the data bus transfers in a period of the command clock. LPDDR5's WCK has four times the
    /// frequency of CK; HBM3's data two, GDDR6's four times.
    pub const fn beats(self) -> u32 {
        match self {
            Standard::Ddr4 | Standard::Ddr5 | Standard::Lpddr4 | Standard::Hbm2 => 2,
            Standard::Hbm3 => 4,
            Standard::Lpddr5 | Standard::Gddr6 => 8,
        }
    }

    /// Returns the most ranks of a channel: by the chip selects of a module (DDR4, DDR5) or a package (LPDDR4, LPDDR5). HBM's and GDDR6's
    /// channels have one.
    pub const fn most_ranks(self) -> u32 {
        match self {
            Standard::Ddr4 | Standard::Ddr5 => 4,
            Standard::Lpddr4 | Standard::Lpddr5 => 2,
            Standard::Hbm2 | Standard::Hbm3 | Standard::Gddr6 => 1,
        }
    }

    /// Returns the most pseudo channels of a channel.
    pub const fn most_pseudo_channels(self) -> u32 {
        match self {
            Standard::Hbm2 | Standard::Hbm3 => 2,
            _ => 1,
        }
    }

    /// Returns the burst lengths that there are.
    pub const fn burst_lengths(self) -> &'static [u32] {
        match self {
            Standard::Hbm2 => &[4],
            Standard::Ddr4 | Standard::Hbm3 => &[8],
            Standard::Ddr5 | Standard::Lpddr4 | Standard::Gddr6 => &[16],
            Standard::Lpddr5 => &[16, 32],
        }
    }

    /// Returns true if column commands have a bus of their own (JESD235, "Command truth tables": row and column commands).
    pub const fn has_column_bus(self) -> bool {
        matches!(self, Standard::Hbm2 | Standard::Hbm3)
    }

    /// Returns the number of refreshes of banks that refresh a rank of so many groups and banks in a group. DDR5's REFsb refreshes the bank of
    /// that number in each group (JESD79-5, "Same bank refresh"); LPDDR5's REFpb, with 16 banks, the banks of that number and eight more.
    pub const fn bank_refreshes(self, groups: u32, banks: u32) -> u32 {
        match self {
            Standard::Ddr5 => banks,
            Standard::Lpddr5 if groups * banks > 8 => 8,
            _ => groups * banks,
        }
    }

    /// Returns the number of rounds of refreshes of banks in a tREFI. DDR5 has REFsb in its mode of finer granularity only, in which tREFI is
    /// half (JESD79-5, "Fine granularity refresh").
    pub const fn bank_refresh_rounds(self) -> u64 {
        match self {
            Standard::Ddr5 => 2,
            _ => 1,
        }
    }

    /// Returns true if a refresh of a bank refreshes the bank of that number in each group (REFsb).
    pub const fn refreshes_same_bank(self) -> bool {
        matches!(self, Standard::Ddr5)
    }

    /// Returns true if banks can be refreshed one at a time.
    pub const fn refreshes_banks(self) -> bool {
        !matches!(self, Standard::Ddr4)
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.into())
    }
}

/// A row of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    standard: Standard,
    /// Document and table from which the figures are.
    source: String,
    #[serde(flatten)]
    parts: Parts,
    #[serde(default)]
    timing: toml::Table,
}

/// Numbers of parts, as far as a row or a user says them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Parts {
    pub(super) channels: Option<u32>,
    pub(super) pseudo_channels: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) data_bits: Option<u32>,
    pub(super) groups: Option<u32>,
    pub(super) banks: Option<u32>,
    pub(super) rows: Option<u32>,
    pub(super) columns: Option<u32>,
    pub(super) burst_length: Option<u32>,
}

impl Parts {
    /// Returns these, and from `other` what these do not say.
    pub(super) fn or(self, other: Parts) -> Parts {
        Parts {
            channels: self.channels.or(other.channels),
            pseudo_channels: self.pseudo_channels.or(other.pseudo_channels),
            ranks: self.ranks.or(other.ranks),
            data_bits: self.data_bits.or(other.data_bits),
            groups: self.groups.or(other.groups),
            banks: self.banks.or(other.banks),
            rows: self.rows.or(other.rows),
            columns: self.columns.or(other.columns),
            burst_length: self.burst_length.or(other.burst_length),
        }
    }
}

static TABLE: LazyLock<Vec<(String, Row)>> = LazyLock::new(|| {
    let rows: toml::Table = include_str!("grades.toml").parse().unwrap_or_default();
    let row = |(name, row): (String, toml::Value)| Some((name, row.try_into().ok()?));
    rows.into_iter().filter_map(row).collect()
});

/// A row of the table of grades: a grade such as `DDR4-2400R`, or a standard such as `DDR4`, which has no figures.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Grade(&'static (String, Row));

impl Grade {
    /// Returns all grades, without the standards.
    pub fn all() -> impl Iterator<Item = Grade> {
        TABLE.iter().map(Grade).filter(|grade| !grade.is_standard())
    }

    /// Returns the grade's name, such as `DDR4-2400R`.
    pub fn name(self) -> &'static str {
        &self.0.0
    }

    /// Returns the standard that it belongs to.
    pub fn standard(self) -> Standard {
        self.0.1.standard
    }

    /// Returns the document and table from which its figures are.
    pub fn source(self) -> &'static str {
        &self.0.1.source
    }

    /// Returns true for a row that is a standard's: the figures are the user's.
    pub fn is_standard(self) -> bool {
        self.name() == self.standard().to_string()
    }

    fn standard_row(self) -> Option<&'static Row> {
        let name = self.standard().to_string();
        TABLE.iter().find(|(row, _)| *row == name).map(|(_, row)| row)
    }

    /// Returns the parts that the grade and its standard say.
    pub(super) fn parts(self) -> Parts {
        let of_standard = self.standard_row().map_or(Parts::default(), |row| row.parts);
        self.0.1.parts.or(of_standard)
    }

    /// Returns a figure of the grade's or its standard's.
    pub(super) fn figure(self, name: &str) -> Option<&'static toml::Value> {
        self.0.1.timing.get(name).or_else(|| self.standard_row()?.timing.get(name))
    }
}

impl PartialEq for Grade {
    fn eq(&self, other: &Grade) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Grade {}

impl fmt::Debug for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Grade").field(&self.name()).finish()
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Grade> for String {
    fn from(grade: Grade) -> String {
        grade.name().to_owned()
    }
}

/// A name that no grade has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no DRAM `{0}`: there are {all}; for a grade of your own take the nearest one and set the figures that differ, such as \
     dbb0.dram.timing.tRCD, or take a standard, such as DDR5, and set all",
    all = Grade::all().map(Grade::name).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownGrade(pub String);

impl FromStr for Grade {
    type Err = UnknownGrade;

    fn from_str(name: &str) -> Result<Grade, UnknownGrade> {
        let row = TABLE.iter().find(|(row, _)| row.eq_ignore_ascii_case(name));
        row.map(Grade).ok_or_else(|| UnknownGrade(name.to_owned()))
    }
}

impl TryFrom<String> for Grade {
    type Error = UnknownGrade;

    fn try_from(name: String) -> Result<Grade, UnknownGrade> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::super::DramConfig;
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read_and_makes_a_dram() {
        let rows: toml::Table = include_str!("grades.toml").parse().unwrap();
        for (name, row) in &rows {
            row.clone().try_into::<Row>().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(rows.len(), TABLE.len());
        assert_eq!(Grade::all().count(), TABLE.len() - 7);
        for grade in Grade::all() {
            assert_eq!(DramConfig::of(grade).check(), Ok(()), "{grade}");
            assert!(!grade.source().is_empty(), "{grade}");
            assert_eq!(grade.name().to_lowercase().parse(), Ok(grade));
        }
    }

    #[test]
    fn an_unknown_grade_is_told_which_there_are() {
        let error = "DDR4-2400".parse::<Grade>().unwrap_err().to_string();
        assert!(error.starts_with("no DRAM `DDR4-2400`: there are DDR4-1600K, DDR4-2400R"), "{error}");
        assert!(error.contains("a grade of your own") && error.contains("dbb0.dram.timing.tRCD"), "{error}");
    }
}
