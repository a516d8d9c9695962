//! Options for the platform to use, and for what to change in it.

use super::{Failure, standard, text};
use clap::Args;
use std::path::Path;
use std::str::FromStr;
use vp_core::Time;
pub(super) use vp_host::trace::{DEFAULT_PLATFORM, NETWORK_PLATFORM};
use vp_models::bus::axi::{Drawn, Latency, LatencyError};
use vp_models::fpga_ai_suite::Architecture;
use vp_models::memory::MemoryModel;
use vp_models::memory::dram::{DramConfig, Grade};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::rtl_tree::RtlTree;
use vp_models::platform::{Description, DeviceDescription, MemoryDescription, NvdlaDescription};
use vp_models::toml_text::TextError;
use vp_models::units::{cycles, parse_rate};

/// Options that choose a platform and override its memory.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Platform")]
pub(super) struct PlatformArgs {
    /// Built-in platform (see `vp platform`), or a TOML file [default: nv_small; nv_large for a network, fpga-ai-suite for a job]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) platform: Option<String>,

    /// Read latency of DBBIF, from a read's acceptance to its first data: cycles, or a time such as 400ns [default: the platform's]
    #[arg(long, value_name = "CYCLES|TIME")]
    dbb_latency: Option<Delay>,

    /// Write latency of DBBIF, from a write's last data to its response: cycles, or a time [default: the platform's]
    #[arg(long, value_name = "CYCLES|TIME")]
    dbb_write_latency: Option<Delay>,

    /// Limit of outstanding reads, and of outstanding writes, of DBBIF's memory, from 1 to 256 [default: the platform's]
    #[arg(long, value_name = "N")]
    outstanding: Option<u32>,

    /// Bandwidth of DBBIF's memory: bytes a second, or a rate such as 10GB/s [default: the platform's]
    #[arg(long, value_name = "BYTES|RATE", value_parser = parse_rate)]
    dbb_bandwidth: Option<u64>,

    /// DRAM behind DBBIF, by its speed grade, such as DDR4-2400R or LPDDR5-6400 [default: the platform's]
    #[arg(long, value_name = "GRADE")]
    dram: Option<Grade>,

    /// Set any value of the platform by its name in the TOML file, such as dbb0.cache.sets=256; may be given more than once
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// RTL tree that the timing follows: nv_small, nvdlav1 or master [default: the platform's]
    #[arg(long, value_name = "TREE", value_parser = rtl_tree)]
    rtl: Option<RtlTree>,

    /// True if the settings are of several platforms, of which some have no second memory.
    #[arg(skip)]
    of_several: bool,
}

/// A number of cycles, or a time that becomes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    Cycles(u32),
    Time(Time),
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        match (text.parse(), text.parse()) {
            (Ok(cycles), _) => Ok(Delay::Cycles(cycles)),
            (_, Ok(time)) => Ok(Delay::Time(time)),
            _ => Err("a number of cycles, or a time such as 400ns".to_owned()),
        }
    }
}

impl Delay {
    /// Returns it in a clock of this period, as the value of an option.
    fn latency(self, option: &str, period: Time) -> Result<Latency, Failure> {
        let cycles = match self {
            Delay::Cycles(cycles) => u64::from(cycles),
            Delay::Time(time) => cycles(time, period),
        };
        let too_long = |_| Failure::new(format!("{option}: {}", LatencyError::TooLong(cycles as f64)));
        u32::try_from(cycles).map(Latency::Fixed).map_err(too_long)
    }
}

fn rtl_tree(name: &str) -> Result<RtlTree, String> {
    match name {
        "nv_small" => Ok(RtlTree::NvSmall),
        "nvdlav1" => Ok(RtlTree::Nvdlav1),
        "master" => Ok(RtlTree::Master),
        _ => Err("the published RTL trees are `nv_small`, `nvdlav1` and `master`".to_owned()),
    }
}

impl PlatformArgs {
    /// Options for a memory alone.
    pub(super) fn of_memory(
        platform: Option<String>,
        dram: Option<Grade>,
        settings: Vec<String>,
    ) -> PlatformArgs {
        PlatformArgs { platform, dram, settings, ..PlatformArgs::default() }
    }

    /// The platform asked for, or else `default`, with the changes asked for.
    pub(super) fn description(&self, default: &str) -> Result<Description, Failure> {
        let mut description = load(self.platform.as_deref().unwrap_or(default))?;
        let period = description.period;
        let MemoryDescription {
            read_latency,
            write_latency,
            read_outstanding,
            write_outstanding,
            bandwidth,
            model: MemoryModel { dram, .. },
            ..
        } = &mut description.dbb0;
        if let Some(delay) = self.dbb_latency {
            *read_latency = Some(delay.latency("--dbb-latency", period)?);
        }
        if let Some(delay) = self.dbb_write_latency {
            *write_latency = delay.latency("--dbb-write-latency", period)?;
        }
        if let Some(limit) = self.outstanding {
            (*read_outstanding, *write_outstanding) = (limit, limit);
        }
        if let Some(rate) = self.dbb_bandwidth {
            *bandwidth = Some(rate);
        }
        if let Some(standard) = self.dram {
            *dram = Some(DramConfig::of(standard));
        }
        if let Some(tree) = self.rtl {
            nvdla_mut(&mut description)?.rtl = tree;
        }
        description.check().map_err(Failure::new)?;
        match self.of_several {
            true => set(&description, &self.settings),
            false => changed(&description, &self.settings),
        }
    }

    /// Returns these options for several traces, of which each runs on a platform of its own, unless one is named: values of `sram0` are
    /// for those that have it.
    pub(super) fn of_several(&self) -> PlatformArgs {
        PlatformArgs { of_several: self.platform.is_none(), ..self.clone() }
    }

    /// One more setting, as `--set` has it.
    pub(super) fn also(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// The names in the settings.
    pub(super) fn setting_names(&self) -> impl Iterator<Item = &str> {
        self.settings.iter().filter_map(|setting| Some(setting.split_once('=')?.0.trim()))
    }

    /// Takes out the settings of these names, which are not the platform's.
    pub(super) fn take_settings(&mut self, names: &[&str]) -> Vec<String> {
        let is_of = |setting: &String| setting.split_once('=').is_some_and(|(name, _)| names.contains(&name));
        let (taken, left) = std::mem::take(&mut self.settings).into_iter().partition(is_of);
        self.settings = left;
        taken
    }

    /// The first option given that says something about the platform.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        [
            ("--platform", self.platform.is_some()),
            ("--dbb-latency", self.dbb_latency.is_some()),
            ("--dbb-write-latency", self.dbb_write_latency.is_some()),
            ("--outstanding", self.outstanding.is_some()),
            ("--dbb-bandwidth", self.dbb_bandwidth.is_some()),
            ("--dram", self.dram.is_some()),
            ("--set", !self.settings.is_empty()),
            ("--rtl", self.rtl.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }
}

/// A platform with its values changed by `--set`.
fn set(description: &Description, settings: &[String]) -> Result<Description, Failure> {
    let changed = description.with(settings.iter().map(String::as_str));
    changed.map_err(|error| Failure::new(format!("--set {error}")))
}

/// A platform with its values changed by `--set`. A value of a memory that the device has no port to would change nothing, and is refused.
pub(super) fn changed(description: &Description, settings: &[String]) -> Result<Description, Failure> {
    let changed = set(description, settings)?;
    let is_of_second = |setting: &&String| setting.trim_start().starts_with("sram0");
    match settings.iter().find(is_of_second) {
        Some(setting) if !changed.device.has_second_memory() => {
            let why = format!("--set {setting}: {} has no second memory port, and so no sram0", changed.name);
            Err(Failure::new(why)
                .hint("take a platform that has it, such as nv_large, or set a value of dbb0"))
        }
        _ => Ok(changed),
    }
}

/// Lets those memory interfaces reach every address that a guest can have memory at, and that the device has.
pub(super) fn into_guest_memory(description: &mut Description, is_guests: impl Fn(&str) -> bool) {
    let bits = description.nvdla().map_or(52, |nvdla| nvdla.config.address_bits().min(52));
    for (port, memory) in [("dbb0", &mut description.dbb0), ("sram0", &mut description.sram0)] {
        if is_guests(port) {
            (memory.base, memory.size) = (0, 1 << bits);
        }
    }
}

/// Most bytes of a description on standard input.
const MOST_DESCRIPTION: u64 = 16 << 20;

/// A built-in platform by name, or one from a file.
pub(super) fn load(name: &str) -> Result<Description, Failure> {
    if let Ok(description) = Description::named(name) {
        return Ok(description);
    }
    let path = Path::new(name);
    if standard::is_standard(path) {
        let text = standard::read_text("--platform", path, MOST_DESCRIPTION);
        let text = text.map_err(|error| Failure::new(TextError::unreadable(path, error)))?;
        return Description::parse(&text).map_err(|error| Failure::new(error.in_file(path)));
    }
    let is_path = path.extension().is_some() || path.components().count() > 1 || path.exists();
    if !is_path {
        let built_in = Description::named(name).map_or_else(|error| error.to_string(), |_| String::new());
        return Err(Failure::new(built_in).hint("or name a TOML file, such as my-platform.toml"));
    }
    Description::load(path).map_err(Failure::new)
}

/// The NVDLA that a platform carries.
pub(super) fn nvdla(description: &Description) -> Result<&NvdlaDescription, Failure> {
    description.nvdla().ok_or_else(|| no_nvdla(&description.name))
}

fn nvdla_mut(description: &mut Description) -> Result<&mut NvdlaDescription, Failure> {
    let name = description.name.clone();
    description.nvdla_mut().ok_or_else(|| no_nvdla(&name))
}

fn no_nvdla(name: &str) -> Failure {
    Failure::new(format!("{name} carries no NVDLA"))
        .hint("take --platform nv_small, or another that `vp platform` lists")
}

/// Describes an FPGA AI Suite IP, in a few words.
fn suite_headline(architecture: &Architecture) -> Vec<String> {
    let Architecture { parallel_channels, parallel_kernels, memory_word, .. } = architecture;
    let mut parts = vec![
        format!("FPGA AI Suite, {} MACs", text::grouped(parallel_channels * parallel_kernels)),
        format!("memory {} bit", memory_word * 8),
    ];
    let builds = [
        (architecture.streaming, "streaming"),
        (architecture.ddr_free, "DDR-free"),
        (!architecture.licensed, "not licensed"),
    ];
    parts.extend(builds.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()));
    parts
}

/// Describes a platform, in one line.
pub(super) fn headline(description: &Description) -> String {
    headline_with(description, times(&description.dbb0.model, description.dbb_latency()))
}

/// Describes a platform, in one line, with what is said of the memory behind `dbb0`.
pub(super) fn headline_with(description: &Description, memory: String) -> String {
    let mut parts = vec![description.name.clone()];
    match &description.device {
        DeviceDescription::Nvdla(nvdla) => parts.extend([
            format!("{} MACs", text::grouped(nvdla.config.macs())),
            format!("{} buffer", text::size(u64::from(nvdla.config.cbuf_bytes()))),
            format!("DBBIF {} bit{}", nvdla.config.primary().width_bytes * 8, specified(&nvdla.config)),
        ]),
        DeviceDescription::FpgaAiSuite(architecture) => parts.extend(suite_headline(architecture)),
        DeviceDescription::Outside(_) => parts.push("the device outside".to_owned()),
    }
    parts.extend([memory, format!("at most {} outstanding", description.dbb0.read_outstanding)]);
    if let Some(rate) = description.dbb0.bandwidth {
        parts.push(format!("{} bytes/s", text::grouped(rate)));
    }
    parts.push(text::frequency(description.period));
    parts.join(" · ")
}

/// The vendor's width of DBBIF, where a configuration goes by the vendor's name and has another.
fn specified(config: &Config) -> String {
    let vendors = config.specified_primary_width();
    vendors.map_or_else(String::new, |bits| format!(" (the vendor's {} has {bits})", config.name))
}

/// Says when a memory's data comes, as a phrase.
pub(super) fn times(model: &MemoryModel, read: Latency) -> String {
    let reads = format!("reads {}", latency(read));
    match model.phrase() {
        Some(phrase) if model.has_own_time() => phrase,
        Some(phrase) => format!("{reads}, {phrase}"),
        None => reads,
    }
}

/// A latency as a phrase.
pub(super) fn latency(latency: Latency) -> String {
    match latency {
        Latency::Fixed(cycles) => text::counted(u64::from(cycles), "cycle"),
        Latency::Drawn(Drawn::Uniform { min, max }) => format!("{min} to {max} cycles"),
        Latency::Drawn(Drawn::Normal { mean, deviation, min }) => {
            format!("{mean} ± {deviation} cycles, at least {min}")
        }
        Latency::Drawn(Drawn::Exponential { min, mean }) => {
            format!("{min} cycles and on average {mean} more")
        }
    }
}
