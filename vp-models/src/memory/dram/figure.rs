//! Figures of a DRAM's timing as data sheets give them: clocks, times, or the greater of several.

use vp_core::Time;

/// Largest figure, in clocks (of tCK: in picoseconds).
pub(super) const MOST: u64 = 10_000_000;

/// Rule by which a time becomes whole clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Down: for intervals that are not to be exceeded.
    Down,
    /// Up (`RU`).
    Up,
    /// DDR4's: an excess of less than 2.6 % over a whole clock does not count (JESD79-4, "Rounding algorithms").
    Ddr4,
    /// DDR5's: a time counts 0.3 % less, and is rounded up (JESD79-5, "Rounding definitions and algorithms").
    Ddr5,
}

impl Rounding {
    /// Returns the whole clocks in a time, both in picoseconds.
    pub const fn clocks(self, time: u64, clock: u64) -> u64 {
        let (scale, add) = match self {
            Rounding::Down => (1000, 0),
            Rounding::Up => (1000, 999),
            Rounding::Ddr4 => (1000, 974),
            Rounding::Ddr5 => (997, 1000),
        };
        (time.saturating_mul(scale) / clock + add) / 1000
    }
}

/// Returns the clocks that a value of a table stands for: `16`, `"13.75 ns"`, or the greatest of a list of both (JEDEC's
/// "max(4 nCK, 7.5 ns)"). None if it is neither.
pub(super) fn clocks(value: &toml::Value, clock: u64, rounding: Rounding) -> Option<u64> {
    let clocks = match value {
        toml::Value::Integer(clocks) => u64::try_from(*clocks).ok(),
        toml::Value::String(text) => Some(rounding.clocks(text.parse::<Time>().ok()?.as_ps(), clock)),
        toml::Value::Array(several) if !several.is_empty() => {
            let each = several.iter().map(|one| clocks(one, clock, rounding));
            each.collect::<Option<Vec<_>>>()?.into_iter().max()
        }
        _ => None,
    };
    clocks.filter(|&clocks| clocks <= MOST)
}

/// Returns the picoseconds of a clock's period: `833`, or `"0.833 ns"`.
pub(super) fn period(value: &toml::Value) -> Option<u64> {
    let period = match value {
        toml::Value::Integer(picoseconds) => u64::try_from(*picoseconds).ok(),
        toml::Value::String(text) => Some(text.parse::<Time>().ok()?.as_ps()),
        _ => None,
    };
    period.filter(|&period| period <= MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_clocks_or_a_time_or_the_greatest_of_several() {
        let of = |text: &str| {
            let table: toml::Table = format!("x = {text}").parse().unwrap();
            clocks(&table["x"], 833, Rounding::Ddr4)
        };
        // 13.32, 32, 3.3, 4.9 and 350 ns of DDR4-2400R.
        assert_eq!(
            ["16", "\"13.32 ns\"", "\"32 ns\"", "[4, \"3.3 ns\"]", "[4, \"4.9 ns\"]"].map(of),
            [16, 16, 39, 4, 6].map(Some)
        );
        assert_eq!(of("\"350 ns\""), Some(421));
        assert_eq!(["-1", "1.5", "\"fast\"", "[]", "[4, true]", "20_000_000"].map(of), [None; 6]);
        // 2.6 % over a clock do not count by DDR4's rule.
        let rules = [Rounding::Ddr4, Rounding::Ddr5, Rounding::Up, Rounding::Down];
        assert_eq!(rules.map(|rule| rule.clocks(1020, 1000)), [1, 2, 2, 1]);
        assert_eq!(rules.map(|rule| rule.clocks(2000, 1000)), [2, 2, 2, 2]);
    }
}
