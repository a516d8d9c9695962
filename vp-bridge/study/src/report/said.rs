//! Parameters and numbers as people say them.

use crate::results::rounded;

/// A parameter as a person says it.
pub(super) fn spoken(name: &str) -> &str {
    match name {
        "dbb0.read_latency" => "read latency",
        "dbb0.read_outstanding" => "outstanding at most",
        "dbb0.bandwidth" => "bandwidth",
        "sram0.size" | "placement_limit" => "SRAM",
        "sram0.bandwidth" => "bandwidth of SRAM",
        "sram0.read_latency" => "read latency of SRAM",
        name => name,
    }
}

/// In what it is counted.
pub(super) fn unit(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("read_latency" | "write_latency") => "cycles",
        Some("bandwidth") => "bytes/s",
        Some("size" | "placement_limit") => "bytes",
        _ => "",
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
