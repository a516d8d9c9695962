//! `vp platform`: what platforms there are, and what one of them consists of.

use super::platform_args::{changed, headline, latency, load, times};
use super::record::{self, Record};
use super::{Failure, Verdict, text};
use crate::cli::out;
use clap::Subcommand;
use std::io::Write;
use vp_models::fpga_ai_suite::Architecture;
use vp_models::nvdla::config::Config;
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::{Description, DeviceDescription, MemoryPort, Platform, Port, PortKind};
use vp_study::rtl::modes::Mode;
use vp_study::rtl::proven::{self, Evidence};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the built-in platforms, a line each (also without a subcommand)
    List {
        /// Print JSON in place of text
        #[arg(long)]
        json: bool,
    },
    /// Show a platform's device, ports and memories
    Describe {
        /// Built-in platform, or a TOML file
        platform: String,
        /// Print JSON in place of text
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        change: Change,
    },
    /// Check that platforms can be built, and show errors with their places
    Check {
        /// Built-in platforms, or TOML files
        #[arg(required = true)]
        platforms: Vec<String>,
        #[command(flatten)]
        change: Change,
    },
    /// Print a platform as TOML, to start your own from
    Print {
        /// Built-in platform, or a TOML file
        platform: String,
        #[command(flatten)]
        change: Change,
    },
}

#[derive(Debug, clap::Args)]
struct Change {
    /// Set any value of the platform by its name in the TOML file, such as dbb0.dram.standard=DDR4-2400R; may be given more than once
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
}

impl Change {
    /// A platform with these changes.
    fn load(&self, name: &str) -> Result<Description, Failure> {
        changed(&load(name)?, &self.settings)
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let names = || Description::NAMES.iter().chain(Description::OTHER_NAMES);
    let mut out = out::stdout();
    match &args.command {
        None | Some(Command::List { json: false }) => {
            for name in names() {
                writeln!(out, "{}", headline(&load(name)?))?;
            }
        }
        Some(Command::List { json: true }) => {
            let entry = |name: &&str| {
                Ok(Record::default().with("name", name).with("platform", headline(&load(name)?)))
            };
            record::print(&names().map(entry).collect::<Result<Vec<_>, Failure>>()?)?;
        }
        Some(Command::Describe { platform, change, json: true }) => {
            record::print(&record_of(&change.load(platform)?)?)?;
        }
        Some(Command::Describe { platform, change, .. }) => describe(&mut out, &change.load(platform)?)?,
        Some(Command::Check { platforms, change }) => return check(&mut out, platforms, change),
        Some(Command::Print { platform, change }) => write!(out, "{}", change.load(platform)?.to_toml())?,
    }
    Ok(Verdict::Right)
}

fn check(out: &mut impl Write, platforms: &[String], change: &Change) -> Result<Verdict, Failure> {
    let mut verdict = Verdict::Right;
    for name in platforms {
        let built = change.load(name).and_then(|description| {
            Platform::build(&description).map_err(Failure::new)?;
            Ok(description)
        });
        match built {
            Ok(description) => {
                writeln!(out, "{name}: {} {}", text::styled(text::GREEN, "ok"), headline(&description))?;
            }
            Err(failure) => {
                verdict = Verdict::Wrong;
                out::eprintln!("{} {failure}", text::styled(text::RED, "error:"));
            }
        }
    }
    Ok(verdict)
}

/// A device outside, as far as the platform's file says what it is.
fn of_outside(outside: &OutsideDescription) -> Vec<(&'static str, String)> {
    let like = match &outside.nvdla {
        Some(nvdla) => format!("an NVDLA like {}", nvdla.config.name),
        None => "not known here".to_owned(),
    };
    vec![("device", format!("outside: {like}")), ("compatible", outside.compatible.join(", "))]
}

/// Returns what a platform's device consists of.
fn of_device(device: &DeviceDescription) -> Vec<(&'static str, String)> {
    match device {
        DeviceDescription::Nvdla(nvdla) => of_nvdla(&nvdla.config),
        DeviceDescription::FpgaAiSuite(architecture) => of_suite(architecture),
        DeviceDescription::Outside(outside) => of_outside(outside),
    }
}

/// A platform for other programs.
fn record_of(description: &Description) -> Result<Record, Failure> {
    let platform = Platform::build(description).map_err(Failure::new)?;
    let mut device = Record::default();
    of_device(&description.device)
        .into_iter()
        .for_each(|(name, value)| device.put(name.replace(' ', "_"), value));
    let port = |port: &Port| {
        Record::default()
            .with("name", port.name)
            .with("width_bits", port.width)
            .with("base", port.base)
            .with("size", port.size)
    };
    let memory = |memory: &MemoryPort| {
        let axi = memory.interconnect().config();
        Record::default()
            .with("name", memory.name())
            .with("burst_beats", axi.burst_beats)
            .with("read_latency", latency(axi.read_latency))
            .with("write_latency", latency(axi.write_latency))
            .with("read_outstanding", axi.read_outstanding)
            .with("write_outstanding", axi.write_outstanding)
            .with("bytes_per_second", axi.bandwidth)
    };
    let held = |(mode, evidence): &(Mode, Evidence)| {
        let Evidence { goldens, rows, exact, largest } = evidence;
        Record::default()
            .with("mode", mode.name())
            .with("goldens", goldens)
            .with("rtl_runs", rows)
            .with("equal_cycles", exact)
            .with("farthest_ppm", largest)
    };
    Ok(Record::default()
        .with("name", &description.name)
        .with("period_ps", description.period.as_ps())
        .with("device", device)
        .with("ports", platform.ports().iter().map(port).collect::<Vec<_>>())
        .with("memories", platform.memories().iter().map(memory).collect::<Vec<_>>())
        .with("held_to", proven::of(description).map(|modes| modes.iter().map(held).collect::<Vec<_>>())))
}

fn describe(out: &mut impl Write, description: &Description) -> Result<(), Failure> {
    let platform = Platform::build(description).map_err(Failure::new)?;
    writeln!(out, "{}\n", headline(description))?;
    for (name, value) in of_device(&description.device) {
        writeln!(out, "{name:<14} {value}")?;
    }
    writeln!(out)?;
    let is_outside = platform.outside_registers().is_some();
    let mut table = text::table(&["port", "kind", "width", "first", "size", "outside can be"], &[2, 3]);
    for port in platform.ports() {
        let (kind, outside) = match port.kind {
            PortKind::Registers if is_outside => ("register bus", "initiator (the CPU), target (the device)"),
            PortKind::Registers => ("register bus", "initiator (the CPU)"),
            PortKind::Irq if is_outside => ("interrupt line", "sink, source (the device)"),
            PortKind::Irq => ("interrupt line", "sink"),
            PortKind::Axi => (
                "memory interface",
                "target (owns the memory), initiator (loads it, or a master with a clock)",
            ),
            PortKind::Stream => ("input stream", "initiator (sends)"),
        };
        let (first, size) = match port.size {
            0 => (String::new(), String::new()),
            size => (format!("{:#x}", port.base), text::size(size)),
        };
        table.add_row([port.name, kind, &format!("{} bit", port.width), &first, &size, outside]);
    }
    writeln!(out, "{}\n", table.trim_fmt())?;
    for memory in platform.memories() {
        let axi = memory.interconnect().config();
        let burst = text::counted(u64::from(axi.burst_beats), "beat");
        let model = match memory.name() {
            "dbb0" => &description.dbb0.model,
            _ => &description.sram0.model,
        };
        let each = if axi.duplex { " each way" } else { "" };
        let bandwidth =
            axi.bandwidth.map_or_else(String::new, |rate| format!(", {} bytes/s{each}", text::grouped(rate)));
        writeln!(
            out,
            "{:<6} bursts to {burst}, {} and writes {}, {} and {} outstanding{bandwidth}",
            memory.name(),
            times(model, axi.read_latency),
            latency(axi.write_latency),
            axi.read_outstanding,
            axi.write_outstanding,
        )?;
    }
    match proven::of(description) {
        Some(modes) => held_to(out, &modes),
        None => Ok(()),
    }
}

/// Shows what each mode of an NVDLA was held to.
fn held_to(out: &mut impl Write, modes: &[(Mode, Evidence)]) -> Result<(), Failure> {
    let nothing = Evidence::default();
    if modes.iter().all(|(_, evidence)| *evidence == nothing) {
        let text = "its results and cycles follow from its parameters as those of other configurations do";
        return Ok(writeln!(out, "\nheld to  nothing of this configuration was measured: {text}")?);
    }
    let mut table =
        text::table(&["held to", "goldens", "RTL runs", "equal cycles", "farthest"], &[1, 2, 3, 4]);
    for (mode, Evidence { goldens, rows, exact, largest }) in modes.iter().filter(|it| it.1 != nothing) {
        let mut cells = vec![mode.to_string(), goldens.to_string(), rows.to_string()];
        if *rows > 0 {
            cells.extend([exact.to_string(), format!("{:.2} %", *largest as f64 / 10_000.0)]);
        }
        table.add_row(cells);
    }
    writeln!(out, "\n{}", table.trim_fmt())?;
    let without: Vec<&str> = modes.iter().filter(|it| it.1 == nothing).map(|(mode, _)| mode.name()).collect();
    writeln!(out, "\nWhere no RTL run was measured, cycles follow the mechanism alone (docs/timing.md).")?;
    if !without.is_empty() {
        writeln!(out, "Held to neither a run nor a golden: {}.", without.join(", "))?;
    }
    Ok(())
}

/// Returns what an NVDLA consists of.
fn of_nvdla(config: &Config) -> Vec<(&'static str, String)> {
    let enabled = |parts: &[(&str, bool)]| {
        let present: Vec<&str> = parts.iter().filter(|part| part.1).map(|part| part.0).collect();
        present.join(", ")
    };
    let stages = [
        ("BS", config.sdp_bs),
        ("BN", config.sdp_bn),
        ("EW", config.sdp_ew),
        ("lookup table", config.sdp_lut),
    ];
    let engines = [
        ("convolution", true),
        ("SDP", true),
        ("PDP", config.pdp),
        ("CDP", config.cdp),
        ("BDMA", config.bdma),
        ("RUBIK", config.rubik),
    ];
    vec![
        ("register map", config.register_map.to_string()),
        ("engines", enabled(&engines)),
        ("SDP stages", enabled(&stages)),
        ("MAC array", format!("{} channels x {} kernels", config.mac_atomic_c, config.mac_atomic_k)),
        ("memory atom", format!("{} bytes", config.memory_atom)),
        ("buffer", format!("{} banks, {}", config.cbuf_banks, text::size(u64::from(config.cbuf_bytes())))),
    ]
}

/// Returns what an FPGA AI Suite IP consists of.
fn of_suite(architecture: &Architecture) -> Vec<(&'static str, String)> {
    let Architecture { parallel_channels, parallel_kernels, queue_depth, jobs_in_flight, .. } = architecture;
    let licence = match architecture.licensed {
        true => "licensed".to_owned(),
        false => format!("none: {} inferences", text::grouped(architecture.inference_limit)),
    };
    let model = if architecture.ddr_free { "on the chip" } else { "in memory" };
    let input = if architecture.streaming { "input stream" } else { "memory" };
    vec![
        ("hash", architecture.hash().to_string()),
        ("version", architecture.version.clone()),
        ("MAC array", format!("{parallel_channels} channels x {parallel_kernels} kernels")),
        ("memory word", format!("{} bytes", architecture.memory_word)),
        ("features", format!("{} on the chip", text::size(u64::from(architecture.feature_buffer)))),
        ("queue", format!("{queue_depth} descriptors, {jobs_in_flight} jobs in flight")),
        ("model", model.to_owned()),
        ("input", format!("from {input}")),
        ("licence", licence),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(description: &Description) -> String {
        let mut out = Vec::new();
        assert!(describe(&mut out, description).is_ok());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_platform_says_what_it_is_held_to_and_what_it_is_not() {
        let small = described(&Description::named("nv_small").unwrap());
        assert!(small.contains("PDP behind SDP"), "{small}");
        assert!(!small.contains("Winograd") && !small.contains("Held to neither"), "{small}");
        let large = described(&Description::named("nv_large").unwrap());
        assert!(large.contains("Held to neither a run nor a golden: convolution of an image,"), "{large}");
        let mut own = Description::named("nv_small").unwrap();
        let config = &mut own.nvdla_mut().unwrap().config;
        (config.mac_atomic_c, config.cbuf_bank_width) = (16, 16);
        let own = described(&own);
        assert!(own.contains("nothing of this configuration was measured"), "{own}");
    }

    #[test]
    fn a_width_of_dbbif_that_the_vendor_does_not_have_is_named() {
        let mut own = Description::named("nv_small").unwrap();
        assert!(described(&own).contains("DBBIF 64 bit · "));
        own.nvdla_mut().unwrap().config.primary_width = 128;
        let own = described(&own);
        assert!(own.contains("DBBIF 128 bit (the vendor's nv_small has 64) · "), "{own}");
    }

    #[test]
    fn what_is_no_nvdla_is_held_to_no_rtl() {
        assert!(!described(&Description::named("fpga-ai-suite").unwrap()).contains("RTL"));
    }
}
