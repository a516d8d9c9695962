//! Parameters and numbers as people say them.

use super::quantity::size;
use vp_models::units::grouped;

/// Unit in which a parameter is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number of something that its name says, or of nothing.
    Plain,
    /// Clock cycles.
    Cycles,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes, told in KiB, MiB and GiB.
    Bytes,
    /// Bytes a second, told in kB/s, MB/s and GB/s.
    Rate,
    /// A share of one, told in per cent.
    Share,
    /// Multipliers.
    Macs,
    /// Banks of the convolution buffer.
    Banks,
}

impl Unit {
    /// Unit of a parameter whose values have none of their own.
    pub(crate) fn of(name: &str) -> Unit {
        match name.rsplit('.').next() {
            Some("read_latency" | "write_latency" | "latency") => Unit::Cycles,
            Some("bandwidth" | "rate") => Unit::Rate,
            Some("size" | "placement_limit" | "cbuf_bytes") => Unit::Bytes,
            Some("cbuf_banks") => Unit::Banks,
            Some("macs") => Unit::Macs,
            Some("zeros") => Unit::Share,
            _ => Unit::Plain,
        }
    }

    /// A number with it: `400 cycles`, `1 MiB`, `25 GB/s`, `60 %`.
    pub(crate) fn said(self, number: f64) -> String {
        match self {
            Unit::Plain => plain(number),
            Unit::Cycles if number == 1.0 => "1 cycle".to_owned(),
            Unit::Cycles => format!("{} cycles", plain(number)),
            Unit::Nanoseconds => format!("{} ns", plain(number)),
            Unit::Bytes => bytes(number),
            Unit::Rate => rate(number),
            Unit::Share => format!("{} %", plain((1000.0 * number).round() / 10.0)),
            Unit::Macs => format!("{} MACs", plain(number)),
            Unit::Banks => format!("{} banks", plain(number)),
        }
    }

    /// Returns a number as it stands at the ticks of an axis, whose name has the unit where numbers have none.
    pub(crate) fn at_tick(self, number: f64) -> String {
        match self {
            Unit::Bytes | Unit::Rate | Unit::Share => self.said(number),
            _ => short(number),
        }
    }

    /// Returns what stands behind the name of an axis; nothing where the numbers along it have their units.
    fn at_axis(self) -> &'static str {
        match self {
            Unit::Cycles => ", cycles",
            Unit::Nanoseconds => ", ns",
            _ => "",
        }
    }
}

/// A parameter as a person says it.
pub(crate) fn spoken(name: &str) -> &str {
    match name {
        "dbb0.read_latency" => "read latency",
        "dbb0.read_outstanding" => "outstanding at most",
        "dbb0.bandwidth" => "bandwidth",
        "sram0.size" | "placement_limit" => "SRAM",
        "sram0.bandwidth" => "bandwidth of SRAM",
        "sram0.read_latency" => "read latency of SRAM",
        "network.precision" => "precision",
        "network.zeros" => "zeros among weights",
        "network.winograd" => "Winograd",
        "nvdla.cbuf_banks" => "CBUF",
        "area.macs" => "MACs",
        "area.cbuf_bytes" => "CBUF",
        name => name,
    }
}

/// A value of a parameter in a sentence: `400 cycles`, `64 outstanding`, `10 GB/s`, `1 MiB of SRAM`, `dbb0.cache.sets 64`.
pub(crate) fn amount(name: &str, value: &str) -> String {
    let number = value.parse::<f64>().ok();
    let told = quantity(name, value);
    match (name, number) {
        ("network" | "platform" | "network.precision" | "dbb0.read_latency" | "dbb0.bandwidth", _) => told,
        ("sram0.size" | "placement_limit", _) => format!("{told} of SRAM"),
        ("sram0.bandwidth", _) => format!("{told} of SRAM"),
        ("sram0.read_latency", _) => format!("{told} of SRAM latency"),
        ("network.zeros", Some(_)) => format!("{told} zeros"),
        ("area.macs", Some(_)) => told,
        ("area.cbuf_bytes", Some(_)) => format!("{told} of CBUF"),
        ("nvdla.cbuf_banks", Some(_)) => format!("{} CBUF banks", value),
        ("batch", Some(_)) => format!("{value} frames at once"),
        (name, Some(_)) if name.ends_with(".read_outstanding") => format!("{value} outstanding"),
        _ => valued(name, value),
    }
}

/// A value of a parameter with its unit, without its name.
pub(crate) fn quantity(name: &str, value: &str) -> String {
    // A value that is a time has its unit.
    match (value.parse::<f64>(), Unit::of(name)) {
        (Ok(number), unit) => unit.said(number),
        (Err(_), Unit::Bytes) => size(value).map_or_else(|| value.to_owned(), |size| bytes(size as f64)),
        (Err(_), _) => value.to_owned(),
    }
}

/// A parameter as it stands at an axis, with the unit of its numbers if they have none themselves.
pub(crate) fn measured_in(name: &str, unit: Unit) -> String {
    format!("{}{}", spoken(name), unit.at_axis())
}

/// A number as people read it: three digits that count, thousands apart.
pub fn rounded(number: f64) -> String {
    let digits = match number.abs() {
        it if it >= 100.0 => 0,
        it if it >= 10.0 => 1,
        it if it >= 1.0 => 2,
        _ => 3,
    };
    if digits > 0 {
        return format!("{number:.digits$}");
    }
    // No line of a page ends within a number.
    grouped(format_args!("{number:.0}")).replace(' ', "\u{202f}")
}

/// A parameter with a value: `read latency 400 cycles`.
pub(crate) fn valued(name: &str, value: &str) -> String {
    format!("{} {}", spoken(name), quantity(name, value))
}

/// A number: whole if it is, else with three digits that count.
pub(crate) fn plain(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e3 {
        true => format!("{number}"),
        false => rounded(number),
    }
}

/// A number as it stands at an axis: `0.5`, `12`, `3 k`, `1.5 M`.
pub(crate) fn short(value: f64) -> String {
    let units = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k")];
    let (scale, unit) =
        units.into_iter().find(|(from, _)| value.abs() >= *from * 0.9999).unwrap_or((1.0, ""));
    let scale = if unit == " k" { 1e3 } else { scale };
    let text = match value.abs() / scale {
        99.95.. => format!("{:.0}", value / scale),
        9.995.. => format!("{:.1}", value / scale),
        0.9995.. => format!("{:.2}", value / scale),
        0.1.. => format!("{:.3}", value / scale),
        _ => format!("{:.5}", value / scale),
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// Bytes a second: `25 GB/s`.
fn rate(number: f64) -> String {
    let text = short(number);
    // The unit's first letter stands behind a space, if it has one.
    let (number, factor) = text.split_once(' ').unwrap_or((&text, ""));
    format!("{number}\u{a0}{factor}B/s")
}

/// Bytes in the largest of KiB, MiB and GiB that leaves at least one.
fn bytes(number: f64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let units = units.map(|(size, name)| (f64::from(size), name));
    let fitting = units.into_iter().find(|(size, _)| number.abs() >= *size);
    let (size, name) = fitting.unwrap_or((1.0, "bytes"));
    format!("{} {name}", plain(number / size))
}

/// A text in which numbers and their units are not parted at a line's end.
pub(crate) fn unbroken(text: &str) -> String {
    let mut whole = String::with_capacity(text.len() + 16);
    for word in text.split_inclusive(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches([' ', '.', ',', ':', ';', ')']));
        if is_unit
            && whole.ends_with(' ')
            && whole[..whole.len() - 1].ends_with(|it: char| it.is_ascii_digit())
        {
            whole.pop();
            whole.push('\u{a0}');
        }
        whole += word;
    }
    whole
}

/// Units that stand behind numbers.
const UNITS: [&str; 22] = [
    "%", "cycle", "cycles", "ps", "ns", "µs", "ms", "s", "bytes", "KiB", "MiB", "GiB", "kB", "MB", "GB",
    "MB/s", "GB/s", "MACs", "banks", "frames/s", "mJ", "µJ",
];

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
            ("dbb0.bandwidth", "500", "500\u{a0}B/s"),
            ("sram0.size", "1048576", "1 MiB of SRAM"),
            ("sram0.size", "1500", "1.46 KiB of SRAM"),
            ("sram0.size", "512k", "512 KiB of SRAM"),
            ("sram0.bandwidth", "25000000000", "25\u{a0}GB/s of SRAM"),
            ("network.zeros", "0.95", "95 % zeros"),
            ("network.precision", "int16", "int16"),
            ("placement", "all", "placement all"),
            ("batch", "4", "4 frames at once"),
            ("nvdla.cbuf_banks", "16", "16 CBUF banks"),
            ("area.macs", "2048", "2\u{202f}048 MACs"),
            ("platform", "nv_large", "nv_large"),
        ];
        for (name, value, said) in amounts {
            assert_eq!(amount(name, value), said);
        }
        assert_eq!(valued("dbb0.read_latency", "400"), "read latency 400 cycles");
    }

    #[test]
    fn numbers_and_units_stay_together() {
        let text = "400 cycles with 64 outstanding: 9.95 MiB of SRAM, 50 %.";
        let whole = "400\u{a0}cycles with 64 outstanding: 9.95\u{a0}MiB of SRAM, 50\u{a0}%.";
        assert_eq!(unbroken(text), whole);
        assert_eq!(unbroken("of cycles, % and 7 layers"), "of cycles, % and 7 layers");
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.5, 12.0, 1500.0, 30_000.0, 1.5e6, 2e9, 0.05].map(short);
        assert_eq!(texts, ["0", "0.5", "12", "1500", "30 k", "1.5 M", "2 G", "0.05"]);
    }

    #[test]
    fn axes_name_the_unit_that_their_numbers_have_not() {
        let along = |name: &str| measured_in(name, Unit::of(name));
        assert_eq!(along("dbb0.read_latency"), "read latency, cycles");
        assert_eq!((along("sram0.size").as_str(), Unit::Bytes.at_tick(65536.0).as_str()), ("SRAM", "64 KiB"));
        assert_eq!(Unit::Cycles.at_tick(400.0), "400");
    }
}
