//! Parameters and numbers as people say them.

use super::plot::short;
use crate::results::rounded;

/// A parameter as a person says it.
pub(super) fn spoken(name: &str) -> &str {
    match name {
        "dbb0.read_latency" => "read latency",
        "dbb0.read_outstanding" => "outstanding at most",
        "dbb0.bandwidth" => "bandwidth",
        name => name,
    }
}

/// In what it is counted.
pub(super) fn unit(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("read_latency" | "write_latency" | "latency") => "cycles",
        Some("bandwidth" | "rate") => "bytes/s",
        Some("size") => "bytes",
        Some("cbuf_banks" | "banks") => "banks",
        _ => "",
    }
}

/// A value of a parameter in a sentence: `400 cycles`, `64 outstanding`, `10 GB/s`, `dbb0.cache.sets 64`.
pub(super) fn amount(name: &str, value: &str) -> String {
    let number = value.parse::<f64>().ok();
    match (name, name.rsplit('.').next(), number) {
        (_, Some("read_latency"), None) => value.to_owned(),
        (_, Some("read_latency"), Some(cycles)) => format!("{} cycles", plain(cycles)),
        (_, Some("read_outstanding"), Some(_)) => format!("{value} outstanding"),
        (_, Some("bandwidth"), Some(rate)) => format!("{}B/s", short(rate).replace(' ', "\u{a0}")),
        ("batch", _, Some(_)) => format!("{value} frames at once"),
        ("network" | "platform", _, _) => value.to_owned(),
        _ => valued(name, value),
    }
}

/// A parameter with its unit, as it stands at an axis.
pub(super) fn measured_in(name: &str) -> String {
    match unit(name) {
        "" => spoken(name).to_owned(),
        unit => format!("{}, {unit}", spoken(name)),
    }
}

/// A parameter with a value: `read latency 400 cycles`.
pub(super) fn valued(name: &str, value: &str) -> String {
    // A value that is a time has its unit.
    let unit = if value.parse::<f64>().is_ok() { unit(name) } else { "" };
    format!("{} {value} {unit}", spoken(name)).trim_end().to_owned()
}

/// A number along an axis: whole if it is.
pub(super) fn plain(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e5 { format!("{number}") } else { rounded(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_said_with_their_units() {
        let amounts = [
            ("dbb0.read_latency", "400", "400 cycles"),
            ("dbb0.read_latency", "400 ns", "400 ns"),
            ("dbb0.read_outstanding", "64", "64 outstanding"),
            ("dbb0.bandwidth", "10000000000", "10\u{a0}GB/s"),
            ("batch", "4", "4 frames at once"),
            ("nvdla.cbuf_banks", "16", "nvdla.cbuf_banks 16 banks"),
            ("platform", "nv_large", "nv_large"),
        ];
        for (name, value, said) in amounts {
            assert_eq!(amount(name, value), said);
        }
    }
}
