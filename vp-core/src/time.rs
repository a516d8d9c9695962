//! Simulated time: picoseconds in 64 bits, which last for 213 days.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in simulated time, or a span of it, in picoseconds.
///
/// Sums saturate at [`Time::MAX`], which stands for "never"; differences stop at zero.
///
/// ```
/// use vp_core::Time;
/// assert_eq!(Time::ns(2) + Time::ps(500), Time::ps(2_500));
/// assert_eq!("400 ns".parse::<Time>().unwrap(), Time::ns(400));
/// assert_eq!(Time::ns(31_204).to_string(), "31.204 µs");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The start of every simulation.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// `n` picoseconds.
    pub const fn ps(n: u64) -> Time {
        Time(n)
    }

    /// `n` nanoseconds.
    pub const fn ns(n: u64) -> Time {
        Time(n.saturating_mul(1_000))
    }

    /// `n` microseconds.
    pub const fn us(n: u64) -> Time {
        Time(n.saturating_mul(1_000_000))
    }

    /// `n` milliseconds.
    pub const fn ms(n: u64) -> Time {
        Time(n.saturating_mul(1_000_000_000))
    }

    /// `n` seconds.
    pub const fn s(n: u64) -> Time {
        Time(n.saturating_mul(1_000_000_000_000))
    }

    /// The number of picoseconds.
    ///
    /// ```
    /// use vp_core::Time;
    /// assert_eq!((Time::s(1), Time::ms(1)), (Time::ms(1_000), Time::us(1_000)));
    /// assert_eq!(Time::ns(3).as_ps(), 3_000);
    /// assert_eq!(Time::ms(250).as_secs_f64(), 0.25);
    /// ```
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The number of seconds, rounded to what a float holds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    ///
    /// ```
    /// use vp_core::Time;
    /// assert_eq!(Time::ns(5).since(Time::ns(2)), Time::ns(3));
    /// assert_eq!(Time::ns(2).since(Time::ns(5)), Time::ZERO);
    /// assert_eq!(Time::MAX + Time::ns(1), Time::MAX);
    /// ```
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// Returns the number of whole `period`s that fit in.
    ///
    /// ```
    /// use vp_core::Time;
    /// assert_eq!(Time::ns(35).cycles(Time::ns(10)), 3);
    /// ```
    ///
    /// # Panics
    /// If `period` is zero.
    pub const fn cycles(self, period: Time) -> u64 {
        self.0 / period.0
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        self.since(other)
    }
}

impl SubAssign for Time {
    fn sub_assign(&mut self, other: Time) {
        *self = *self - other;
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, n: u64) -> Time {
        Time(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Time {
    type Output = Time;
    fn div(self, n: u64) -> Time {
        Time(self.0 / n)
    }
}

/// The units that are printed and read, largest first.
const UNITS: [(&str, u64); 5] =
    [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("µs", 1_000_000), ("ns", 1_000), ("ps", 1)];

impl fmt::Display for Time {
    /// The largest unit that leaves at least 1 before the point, with what follows it exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = UNITS.into_iter().find(|&(_, size)| self.0 >= size).unwrap_or(if self.0 == 0 {
            ("s", 1)
        } else {
            ("ps", 1)
        });
        let (whole, rest) = (self.0 / size, self.0 % size);
        if rest == 0 {
            return write!(f, "{whole} {unit}");
        }
        let digits = size.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no time.
///
/// ```
/// use vp_core::{ParseTimeError, Time};
/// let error: ParseTimeError = "5 minutes".parse::<Time>().unwrap_err();
/// assert!(error.to_string().starts_with("`5 minutes` is no time"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no time: write a number and a unit (s, ms, us, ns, ps), such as `400 ns` or `2.5us`")]
pub struct ParseTimeError(String);

impl FromStr for Time {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Time, ParseTimeError> {
        let refuse = || ParseTimeError(text.to_owned());
        let trimmed = text.trim();
        let split =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = unit.trim();
        let size = match unit {
            "us" => 1_000_000,
            _ => UNITS.into_iter().find(|&(name, _)| name == unit).ok_or_else(refuse)?.1,
        };
        let number = number.replace('_', "");
        if number.matches('.').count() > 1 {
            return Err(refuse());
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let whole: u64 = whole.parse().map_err(|_| refuse())?;
        let mut ps = whole.checked_mul(size).ok_or_else(refuse)?;
        let mut place = size;
        for digit in fraction.bytes() {
            // Finer than a picosecond cannot be kept, so it is refused rather than rounded.
            if place % 10 != 0 && digit != b'0' {
                return Err(refuse());
            }
            place /= 10;
            ps = ps.checked_add(u64::from(digit - b'0') * place).ok_or_else(refuse)?;
        }
        Ok(Time(ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_largest_unit_that_fits() {
        let cases =
            [(0, "0 s"), (999, "999 ps"), (1_000, "1 ns"), (1_050, "1.05 ns"), (2_000_000_000_000, "2 s")];
        for (ps, text) in cases {
            assert_eq!(Time::ps(ps).to_string(), text);
        }
    }

    #[test]
    fn reads_what_it_prints() {
        for ps in [0, 1, 999, 1_001, 123_456_789, 987_654_321_012_345] {
            assert_eq!(Time::ps(ps).to_string().parse(), Ok(Time::ps(ps)));
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in ["", "5", "ns", "5 min", "-1 ns", "1.2.3 ns", "0.5 ps", "99999999999 s"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn never_stays_never() {
        assert_eq!(Time::MAX + Time::ns(1), Time::MAX);
        assert_eq!(Time::ns(1) - Time::ns(2), Time::ZERO);
    }
}
