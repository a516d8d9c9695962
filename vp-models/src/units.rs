//! Latencies, rates and sizes with units: `400 ns` becomes cycles of the platform's clock, `10 GB/s` bytes a second, `256 KiB` bytes. Numbers as
//! people read them.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt;
use std::marker::PhantomData;
use toml::Value;
use vp_core::Time;

/// Latest time that a party outside may give, about 53 days. It is far from the largest possible time, so that there is time left to
/// work in, whatever time the platform is moved to.
pub const HORIZON: Time = Time::ps(1 << 62);

/// A value of a description in which numbers of cycles may be times. What it is follows from the clock's period, which its
/// description says elsewhere.
#[derive(Debug)]
pub(crate) struct Timed<T> {
    value: Value,
    kind: PhantomData<T>,
}

impl<T: DeserializeOwned> Timed<T> {
    /// The value for a clock of this period. Times are rounded up to whole cycles, but for means and deviations, which need not be
    /// whole.
    pub(crate) fn resolve(self, period: Time) -> Result<T, toml::de::Error> {
        in_cycles(self.value, period, false).try_into()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Timed<T> {
    /// Refuses where the file has it what is wrong with it whatever the period.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timed<T>, D::Error> {
        let timed = Timed { value: Value::deserialize(deserializer)?, kind: PhantomData };
        match timed.clone().resolve(Time::ns(1)) {
            Ok(_) => Ok(timed),
            Err(error) => Err(D::Error::custom(error.message())),
        }
    }
}

impl<T> Clone for Timed<T> {
    fn clone(&self) -> Timed<T> {
        Timed { value: self.value.clone(), kind: PhantomData }
    }
}

/// The cycles of a clock of this period that a time takes, rounded up to whole ones.
///
/// ```
/// use vp_core::Time;
/// assert_eq!(vp_models::units::cycles(Time::ns(400), Time::ns(3)), 134);
/// ```
pub fn cycles(time: Time, period: Time) -> u64 {
    time.as_ps().div_ceil(period.as_ps().max(1))
}

/// Returns the value with all times in it as cycles of this period.
fn in_cycles(value: Value, period: Time, exact: bool) -> Value {
    match value {
        Value::String(text) => match text.parse::<Time>() {
            Ok(time) if exact => Value::Float(time.as_ps() as f64 / period.as_ps().max(1) as f64),
            Ok(time) => Value::Integer(i64::try_from(cycles(time, period)).unwrap_or(i64::MAX)),
            Err(_) => Value::String(text),
        },
        Value::Table(table) => {
            let entry = |(name, value): (String, Value)| {
                let exact = name == "mean" || name == "deviation";
                let value = in_cycles(value, period, exact);
                (name, value)
            };
            Value::Table(table.into_iter().map(entry).collect())
        }
        value => value,
    }
}

/// A number as people read it, its thousands apart; decimals and a sign stay as they are.
///
/// ```
/// use vp_models::units::grouped;
/// assert_eq!([0, 999, 31_204, 1_234_567].map(grouped), ["0", "999", "31 204", "1 234 567"]);
/// assert_eq!(grouped(format_args!("{:.1}", -90_358.71)), "-90 358.7");
/// ```
pub fn grouped(number: impl fmt::Display) -> String {
    let text = number.to_string();
    let whole = text.find('.').unwrap_or(text.len());
    let mut grouped = String::with_capacity(text.len() * 4 / 3);
    for (at, digit) in text.char_indices() {
        let is_behind_digit = grouped.ends_with(|it: char| it.is_ascii_digit());
        if at < whole && is_behind_digit && (whole - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no rate: write bytes a second, or a number and a unit (B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s), such as `10 GB/s`"
)]
pub struct ParseRateError(String);

const UNITS: [(&str, f64); 9] = [
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("KB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];

/// Bytes a second of a text such as `10 GB/s`, or a number of them alone.
///
/// ```
/// use vp_models::units::parse_rate;
/// assert_eq!(parse_rate("10 GB/s"), Ok(10_000_000_000));
/// assert_eq!(parse_rate("1.5 KiB/s"), Ok(1536));
/// assert!(parse_rate("10 GHz").is_err());
/// ```
///
/// # Errors
/// When it is no rate, or more than 64 bits hold.
pub fn parse_rate(text: &str) -> Result<u64, ParseRateError> {
    let refuse = || ParseRateError(text.to_owned());
    let trimmed = text.trim();
    let end =
        trimmed.find(|it: char| !(it.is_ascii_digit() || it == '.' || it == '_')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim();
    let scale = match unit {
        "" => 1.0,
        unit => UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?.1,
    };
    let number = number.replace('_', "");
    if unit.is_empty() {
        return number.parse().map_err(|_| refuse());
    }
    let rate = (number.parse::<f64>().map_err(|_| refuse())? * scale).round();
    // What a float holds exactly.
    if (0.0..=9e15).contains(&rate) { Ok(rate as u64) } else { Err(refuse()) }
}

/// A rate as a description has it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of bytes a second, or a rate such as \"10 GB/s\"")]
enum Rate {
    Bytes(u64),
    Text(String),
}

/// Reads a rate.
pub(crate) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match Rate::deserialize(deserializer)? {
        Rate::Bytes(rate) => Ok(rate),
        Rate::Text(text) => parse_rate(&text).map_err(D::Error::custom),
    }
}

/// Reads a rate that may be left out.
pub(crate) fn optional_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    rate(deserializer).map(Some)
}

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no size: write a whole number of bytes, or of KiB, MiB, GiB or TiB (K, M, G, T for short), such as 2G or 256 KiB, below 2^64 bytes"
)]
pub struct ParseSizeError(String);

/// Bytes of a text such as `256 KiB`, `2G` or `1_048_576`. Units are powers of 1024, and in capitals or not.
///
/// ```
/// use vp_models::units::parse_size;
/// assert_eq!(["256 KiB", "2G", "4096"].map(parse_size), [Ok(256 << 10), Ok(2 << 30), Ok(4096)]);
/// // It could be either of two sizes.
/// assert!(parse_size("2 GB").is_err());
/// ```
///
/// # Errors
/// When it is no size, or more than 64 bits hold.
pub fn parse_size(text: &str) -> Result<u64, ParseSizeError> {
    let trimmed = text.trim();
    let digits = trimmed.find(|it: char| !it.is_ascii_digit() && it != '_').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: Option<u64> = number.replace('_', "").parse().ok();
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => Some(0),
        "k" | "kib" => Some(10),
        "m" | "mib" => Some(20),
        "g" | "gib" => Some(30),
        "t" | "tib" => Some(40),
        _ => None,
    };
    let size = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    size.ok_or_else(|| ParseSizeError(text.to_owned()))
}

/// A size as a description has it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of bytes, or a size such as \"256 KiB\"")]
enum Size {
    Bytes(u64),
    Text(String),
}

/// Reads a size, a number of bytes or a text for [`parse_size`], into a number of as many bits as its key has.
///
/// # Errors
/// It is none, or too much for the number.
pub fn size<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    let size = match Size::deserialize(deserializer)? {
        Size::Bytes(size) => size,
        Size::Text(text) => parse_size(&text).map_err(D::Error::custom)?,
    };
    let most = || D::Error::custom(format!("{size} bytes: at most {}", u32::MAX));
    T::try_from(size).map_err(|_| most())
}

/// Reads a size that may be left out.
pub(crate) fn optional_size<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    size(deserializer).map(Some)
}

/// Times as people write them, such as `20 ns`.
pub(crate) mod time_text {
    use super::{Deserialize, Deserializer, Error as _, Serializer, Time};

    pub(crate) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        let rates = ["5", "1_000", "3 B/s", "2kB/s", "0.5 MB/s", "1 TB/s", "1 GiB/s"].map(parse_rate);
        let expected = [5, 1000, 3, 2000, 500_000, 1_000_000_000_000, 1 << 30].map(Ok);
        assert_eq!(rates, expected);
        for wrong in
            ["", "fast", "10 GB", "-1 B/s", "1.2.3 GB/s", "10 Gbit/s", "1.5", "1e9 GB/s", "99999999 TB/s"]
        {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units_of_1024() {
        let sizes = ["5", "1_024", "64 KiB", "64k", "2M", "1 gib", "1T", " 7 bytes "].map(parse_size);
        let expected = [5, 1024, 65536, 65536, 2 << 20, 1 << 30, 1 << 40, 7].map(Ok);
        assert_eq!(sizes, expected);
        for wrong in ["", "KiB", "2 GB", "1.5 MiB", "-1", "17179869184T", "1 PiB"] {
            assert!(
                parse_size(wrong).unwrap_err().to_string().contains("a whole number of bytes"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn times_in_a_value_become_cycles_of_the_period() {
        let of = |text: &str, period| {
            let table: toml::Table = toml::from_str(text).unwrap();
            in_cycles(Value::Table(table), Time::ns(period), false).to_string()
        };
        assert_eq!(of("x = '10 ns'", 1), "{ x = 10 }");
        // Up to whole cycles, but for a mean.
        assert_eq!(of("min = '10 ns'\nmean = '10 ns'", 4), "{ min = 3, mean = 2.5 }");
        assert_eq!(of("x = 7\nname = 'uniform'", 4), "{ x = 7, name = \"uniform\" }");
    }
}
