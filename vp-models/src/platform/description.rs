//! Description of a platform, as a person writes it down.

use super::carried::DeviceDescription;
use super::description_error::{DescriptionError, MOST_OUTSTANDING};
use crate::bounded_file::read_description;
use crate::bus::axi::Latency;
use crate::fpga_ai_suite::{Architecture, ArchitectureFile};
use crate::memory::dram::DramConfig;
use crate::memory::{CacheConfig, LiteDramConfig, MemoryModel, SramConfig, TrafficConfig};
use crate::nvdla::NvdlaDescription;
use crate::nvdla::config::{CapabilityRom, Config};
use crate::nvdla::rtl_tree::RtlTree;
use crate::outside_device::OutsideDescription;
use crate::printable::is_unfit;
use crate::toml_text::{TextError, TomlText};
use crate::units::{Timed, optional_rate, optional_size};
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use vp_core::Time;

/// A whole platform.
///
/// ```
/// use vp_models::platform::Description;
/// let text = r#"
///     name = "small-slow-memory"
///     [nvdla]
///     base = "nv_small"
///     [dbb0]
///     read_latency = 200
/// "#;
/// let description = Description::parse(text).unwrap();
/// assert_eq!(description.nvdla().unwrap().config.mac_atomic_c, 8);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Sections<MemoryOverrides>", into = "Sections<MemoryDescription>")]
pub struct Description {
    /// The platform's name. It has no control characters, and does not begin with `#`.
    pub name: String,
    /// One clock cycle of the device, its buses and its memories.
    pub period: Time,
    /// Threads of the host that may share the arithmetic of a convolution, where it is long enough to pay for them.
    /// No result and no time depends on it.
    pub threads: NonZeroUsize,
    /// Arithmetic: results are computed, or skipped. No time depends on it.
    pub arithmetic: Arithmetic,
    /// The device.
    pub device: DeviceDescription,
    /// The memory behind the device's first memory port (NVDLA's DBBIF).
    pub dbb0: MemoryDescription,
    /// The memory behind the second one (NVDLA's SRAMIF), for devices that have one.
    pub sram0: MemoryDescription,
}

/// Choice of whether a device's results are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// Results are computed.
    #[default]
    Computed,
    /// Results are left out: everything happens when it does otherwise, and what is written is zeros. For questions of time
    /// alone.
    Skipped,
}

impl Arithmetic {
    fn is_computed(&self) -> bool {
        *self == Arithmetic::Computed
    }
}

/// A description as it is written: the device is the one section of its name. A memory is what a file says of it, or all of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections<Memory> {
    name: String,
    #[serde(default = "default_period", with = "crate::units::time_text")]
    period: Time,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    threads: NonZeroUsize,
    #[serde(default, skip_serializing_if = "Arithmetic::is_computed")]
    arithmetic: Arithmetic,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nvdla: Option<Box<NvdlaDescription>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fpga_ai_suite: Option<Box<Architecture>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outside_device: Option<Box<OutsideDescription>>,
    dbb0: Option<Memory>,
    sram0: Option<Memory>,
}

impl TryFrom<Sections<MemoryOverrides>> for Description {
    type Error = DescriptionError;

    fn try_from(sections: Sections<MemoryOverrides>) -> Result<Description, DescriptionError> {
        let Sections { name, period, threads, arithmetic, nvdla, fpga_ai_suite, .. } = sections;
        let Sections { outside_device, dbb0, sram0, .. } = sections;
        let memory = |said: Option<MemoryOverrides>, name, default: MemoryDescription| match said {
            Some(said) => said.over(&default, period, name),
            None => Ok(default),
        };
        let dbb0 = memory(dbb0, "dbb0", default_dbb())?;
        let sram0 = memory(sram0, "sram0", default_sram())?;
        let devices = [
            nvdla.map(DeviceDescription::Nvdla),
            fpga_ai_suite.map(DeviceDescription::FpgaAiSuite),
            outside_device.map(DeviceDescription::Outside),
        ];
        let mut devices = devices.into_iter().flatten();
        match (devices.next(), devices.next()) {
            (Some(device), None) => {
                Ok(Description { name, period, threads, arithmetic, device, dbb0, sram0 })
            }
            _ => Err(DescriptionError::Devices),
        }
    }
}

impl From<Description> for Sections<MemoryDescription> {
    fn from(description: Description) -> Sections<MemoryDescription> {
        let Description { name, period, threads, arithmetic, device, dbb0, sram0 } = description;
        let (nvdla, fpga_ai_suite, outside_device) = match device {
            DeviceDescription::Nvdla(nvdla) => (Some(nvdla), None, None),
            DeviceDescription::FpgaAiSuite(architecture) => (None, Some(architecture), None),
            DeviceDescription::Outside(outside) => (None, None, Some(outside)),
        };
        let (dbb0, sram0) = (Some(dbb0), Some(sram0));
        Sections { name, period, threads, arithmetic, nvdla, fpga_ai_suite, outside_device, dbb0, sram0 }
    }
}

/// A memory and the way to it. A description may leave out any of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryDescription {
    /// First address.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// Cycles from a read's acceptance to its first data; the configuration's own figure if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_latency: Option<Latency>,
    /// Cycles from a write's last data to its acknowledgement.
    pub write_latency: Latency,
    /// Reads outstanding at most, 1 to 256.
    pub read_outstanding: u32,
    /// Writes outstanding at most, 1 to 256.
    pub write_outstanding: u32,
    /// Bytes a second the memory can move, reads and writes together; as much as the bus if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// True if reads and writes have the whole bandwidth each.
    #[serde(skip_serializing_if = "is_false")]
    pub duplex: bool,
    /// Seed of the random latencies.
    pub seed: u64,
    /// Model of the memory's timing beyond a latency: a cache, a DRAM, other traffic.
    #[serde(flatten)]
    pub model: MemoryModel,
}

/// Keys of a description about a memory, to be laid over the default of its port.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryOverrides {
    base: Option<u64>,
    #[serde(default, deserialize_with = "optional_size")]
    size: Option<u64>,
    read_latency: Option<Timed<Latency>>,
    write_latency: Option<Timed<Latency>>,
    read_outstanding: Option<u32>,
    write_outstanding: Option<u32>,
    #[serde(default, deserialize_with = "optional_rate")]
    bandwidth: Option<u64>,
    duplex: Option<bool>,
    seed: Option<u64>,
    queue: Option<u32>,
    priority: Option<u8>,
    cache: Option<Timed<CacheConfig>>,
    sram: Option<Timed<SramConfig>>,
    dram: Option<DramConfig>,
    litedram: Option<LiteDramConfig>,
    #[serde(default)]
    traffic: Vec<TrafficConfig>,
}

impl MemoryOverrides {
    /// Laid over the default of the memory of this name, with times in cycles of this period.
    fn over(
        self,
        default: &MemoryDescription,
        period: Time,
        name: &str,
    ) -> Result<MemoryDescription, DescriptionError> {
        let wrong = |error: toml::de::Error| TextError::whole(format!("[{name}] {}", error.message()));
        let latency =
            |said: Option<Timed<Latency>>| said.map(|it| it.resolve(period)).transpose().map_err(wrong);
        Ok(MemoryDescription {
            base: self.base.unwrap_or(default.base),
            size: self.size.unwrap_or(default.size),
            read_latency: latency(self.read_latency)?.or(default.read_latency),
            write_latency: latency(self.write_latency)?.unwrap_or(default.write_latency),
            read_outstanding: self.read_outstanding.unwrap_or(default.read_outstanding),
            write_outstanding: self.write_outstanding.unwrap_or(default.write_outstanding),
            bandwidth: self.bandwidth.or(default.bandwidth),
            duplex: self.duplex.unwrap_or(default.duplex),
            seed: self.seed.unwrap_or(default.seed),
            model: MemoryModel {
                queue: self.queue,
                priority: self.priority,
                cache: self.cache.map(|it| it.resolve(period)).transpose().map_err(wrong)?,
                sram: self.sram.map(|it| it.resolve(period)).transpose().map_err(wrong)?,
                dram: self.dram,
                litedram: self.litedram,
                traffic: self.traffic,
            },
        })
    }
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

fn is_one(threads: &NonZeroUsize) -> bool {
    threads.get() == 1
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn default_period() -> Time {
    Time::ns(1)
}

impl MemoryDescription {
    fn at(range: Range<u64>) -> MemoryDescription {
        MemoryDescription {
            base: range.start,
            size: range.end - range.start,
            read_latency: None,
            write_latency: Latency::Fixed(1),
            read_outstanding: MOST_OUTSTANDING,
            write_outstanding: MOST_OUTSTANDING,
            bandwidth: None,
            duplex: false,
            seed: 1,
            model: MemoryModel::default(),
        }
    }

    /// The addresses it answers to.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base.saturating_add(self.size)
    }

    fn check(&self, memory: &'static str) -> Result<(), DescriptionError> {
        let latency = |parameter| move |source| DescriptionError::Latency { memory, parameter, source };
        self.read_latency.map_or(Ok(()), |read| read.check()).map_err(latency("read_latency"))?;
        self.write_latency.check().map_err(latency("write_latency"))?;
        let limits =
            [("read_outstanding", self.read_outstanding), ("write_outstanding", self.write_outstanding)];
        for (parameter, value) in limits {
            if !(1..=MOST_OUTSTANDING).contains(&value) {
                return Err(DescriptionError::Outstanding { memory, parameter, value });
            }
        }
        if self.size == 0 || self.base.checked_add(self.size).is_none() {
            return Err(DescriptionError::Range { memory, base: self.base, size: self.size });
        }
        if self.bandwidth == Some(0) {
            return Err(DescriptionError::Bandwidth { memory });
        }
        if self.duplex && self.bandwidth.is_none() {
            return Err(DescriptionError::Duplex { memory });
        }
        self.model.check().map_err(|source| DescriptionError::Model { memory, source })?;
        let own_time = [("sram", self.model.sram.is_some()), ("dram", self.model.dram.is_some())];
        let given = [("read_latency", self.read_latency.is_some()), ("bandwidth", self.bandwidth.is_some())];
        for (model, _) in own_time.into_iter().filter(|(_, is)| *is) {
            if let Some((parameter, _)) = given.into_iter().find(|(_, is)| *is) {
                return Err(DescriptionError::OwnTime { memory, parameter, model });
            }
        }
        Ok(())
    }
}

// From 0x80000000 to the end of 32 bits: what the vendor's traces and its driver use.
fn default_dbb() -> MemoryDescription {
    MemoryDescription::at(0x8000_0000..0x1_0000_0000)
}

fn default_sram() -> MemoryDescription {
    MemoryDescription::at(0x5000_0000..0x6000_0000)
}

impl Description {
    /// The names of the built-in platforms with an NVDLA: one for each hardware configuration.
    pub const NAMES: &'static [&'static str] = &Config::NAMES;

    /// The names of the built-in platforms with another device.
    pub const OTHER_NAMES: &'static [&'static str] = &Architecture::NAMES;

    /// A built-in platform.
    pub fn named(name: &str) -> Result<Description, DescriptionError> {
        let device = match Architecture::named(name) {
            Some(architecture) => DeviceDescription::FpgaAiSuite(Box::new(architecture)),
            None => {
                let config =
                    Config::named(name).map_err(|_| DescriptionError::Unknown { name: name.to_owned() })?;
                let rtl = RtlTree::published(&config);
                let capability_rom = CapabilityRom::default();
                DeviceDescription::Nvdla(Box::new(NvdlaDescription { rtl, capability_rom, config }))
            }
        };
        let (dbb0, sram0) = (default_dbb(), default_sram());
        Ok(Description {
            name: name.to_owned(),
            period: default_period(),
            threads: one(),
            arithmetic: Arithmetic::default(),
            device,
            dbb0,
            sram0,
        })
    }

    /// The NVDLA, if that is the device, here or outside.
    pub fn nvdla(&self) -> Option<&NvdlaDescription> {
        match &self.device {
            DeviceDescription::Nvdla(nvdla) => Some(nvdla),
            DeviceDescription::Outside(outside) => outside.nvdla.as_deref(),
            DeviceDescription::FpgaAiSuite(_) => None,
        }
    }

    /// The NVDLA, if that is the device, to be changed.
    pub fn nvdla_mut(&mut self) -> Option<&mut NvdlaDescription> {
        match &mut self.device {
            DeviceDescription::Nvdla(nvdla) => Some(nvdla),
            _ => None,
        }
    }

    /// Reads and checks a description.
    pub fn parse(text: &str) -> Result<Description, DescriptionError> {
        let text = TomlText::parse(text).map_err(|error| match ArchitectureFile::of(text) {
            Some(file) => TextError::whole(file),
            None => error,
        })?;
        let sections: Sections<MemoryOverrides> = text.read()?;
        // An integer beyond TOML's 64 bits with a sign fits some values, and could not be written again.
        text.read::<toml::Table>()?;
        let description = Description::try_from(sections);
        let checked = description.and_then(|description| description.check().map(|()| description));
        checked.map_err(|error| error.placed(&text))
    }

    /// Reads and checks the description in a file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Description, DescriptionError> {
        let text = read_description(path).map_err(|error| TextError::unreadable(path, error))?;
        Description::parse(&text).map_err(|error| error.in_file(path))
    }

    /// The description as text that [`Description::parse`] reads back: every parameter that is in force, and
    /// no memory that the configuration cannot reach.
    pub fn to_toml(&self) -> String {
        let mut explicit = self.clone();
        let latencies = [self.dbb_latency(), self.sram_latency()];
        for (memory, latency) in [&mut explicit.dbb0, &mut explicit.sram0].into_iter().zip(latencies) {
            if !memory.model.has_own_time() {
                memory.read_latency = Some(latency);
            }
        }
        let mut table = match toml::Table::try_from(explicit) {
            Ok(table) => table,
            Err(error) => return format!("# cannot be written: {error}\n"),
        };
        if self.device.secondary().is_none() {
            table.remove("sram0");
        }
        table.to_string()
    }

    /// Refuses what cannot be built.
    pub fn check(&self) -> Result<(), DescriptionError> {
        if self.period == Time::ZERO || self.period > Time::ms(1) {
            return Err(DescriptionError::Period(self.period));
        }
        // They are shown to people, also when a server says them.
        let mut names = std::iter::once(&self.name).chain(self.device.names());
        if let Some(name) = names.find(|name| name.contains(is_unfit)) {
            return Err(DescriptionError::ControlCharacters(name.clone()));
        }
        if self.name.starts_with('#') {
            return Err(DescriptionError::Number(self.name.clone()));
        }
        self.device.check()?;
        self.dbb0.check("dbb0")?;
        self.sram0.check("sram0")
    }

    /// The read latency of the primary memory in force.
    pub fn dbb_latency(&self) -> Latency {
        self.dbb0.read_latency.unwrap_or(Latency::Fixed(self.device.primary().latency))
    }

    /// The read latency of the secondary memory in force.
    pub fn sram_latency(&self) -> Latency {
        let latency = self.device.secondary().map_or(0, |interface| interface.latency);
        self.sram0.read_latency.unwrap_or(Latency::Fixed(latency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_that_toml_cannot_write_is_refused_with_its_line() {
        let refused = Description::parse(
            "name = \"big\"\n[nvdla]\nbase = \"nv_small\"\n[dbb0]\nseed = 18446744073709551615\n",
        );
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("line 5"), "{why}");
    }

    #[test]
    fn every_built_in_platform_is_read_back_as_it_is_written() {
        let unknown = Description::named("nv_larg").unwrap_err().to_string();
        assert!(
            unknown.starts_with("no platform `nv_larg`; nearest: nv_large; there are nv_small,"),
            "{unknown}"
        );
        assert!(
            unknown.ends_with("nv_full, fpga-ai-suite, fpga-ai-suite-streaming, fpga-ai-suite-ddr-free"),
            "{unknown}"
        );
        for name in Description::NAMES.iter().chain(Description::OTHER_NAMES) {
            let description = Description::named(name).unwrap();
            description.check().unwrap();
            let read = Description::parse(&description.to_toml()).unwrap();
            assert_eq!(read.to_toml(), description.to_toml(), "{name}");
            assert_eq!(
                (&read.device, read.dbb_latency()),
                (&description.device, description.dbb_latency()),
                "{name}"
            );
        }
    }

    #[test]
    fn latencies_may_be_times_and_rates_have_units() {
        let text = |period: u32| {
            format!(
                "name = \"x\"\nperiod = \"{period} ns\"\n[nvdla]\nbase = \"nv_large\"\n[dbb0]\nread_latency = \"400 ns\"\n\
                 write_latency = {{ distribution = \"uniform\", min = \"10 ns\", max = \"20 ns\" }}\nbandwidth = \"10 GB/s\"\n\
                 [dbb0.cache]\nhit_latency = \"12 ns\"\n[[dbb0.traffic]]\nname = \"cpu\"\nrate = \"1 GB/s\"\n[sram0]\n\
                 [sram0.sram]\nlatency = \"5 ns\"\n"
            )
        };
        let [one, three] = [1, 3].map(|period| Description::parse(&text(period)).unwrap());
        assert_eq!((one.dbb_latency(), three.dbb_latency()), (Latency::Fixed(400), Latency::Fixed(134)));
        assert_eq!((one.dbb0.bandwidth, three.dbb0.bandwidth), (Some(10_000_000_000), Some(10_000_000_000)));
        let caches = [&one, &three].map(|it| it.dbb0.model.cache.unwrap().hit_latency);
        assert_eq!(caches, [12, 4]);
        assert_eq!(
            (three.sram0.model.sram.unwrap().latency, one.dbb0.model.traffic[0].rate),
            (2, 1_000_000_000)
        );
        assert_eq!(three.dbb0.write_latency.least(), 4);
        // What is written has cycles.
        assert_eq!(Description::parse(&three.to_toml()).unwrap(), three);
    }

    fn refusal(text: &str) -> String {
        Description::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn refusals_name_the_place() {
        let with = |rest: &str| format!("name = \"x\"\n[nvdla]\nbase = \"nv_small\"\n{rest}");
        let dbb = |rest: &str| with(&format!("[dbb0]\nbase = 0x80000000\nsize = 0x1000\n{rest}"));
        assert!(refusal(&with("[fpga_ai_suite]")).contains("a platform has one device"));
        assert!(refusal("name = \"x\"").contains("a platform has one device"));
        let named = |name: &str| refusal(&format!("name = \"{name}\"\n[nvdla]\nbase = \"nv_small\""));
        assert_eq!(named("a\\u001b[2J"), "\"a\\u{1b}[2J\": names have no control characters");
        assert_eq!(named("a\\u202e"), "\"a\\u{202e}\": names have no control characters");
        assert!(named("#1").contains("name = \"#1\": no platform's name begins with `#`"));
        assert!(refusal(&dbb("read_outstanding = 0")).contains("line 7: [dbb0] read_outstanding = 0"));
        assert!(refusal(&dbb("read_latency = 9999999")).contains("line 7: [dbb0] read_latency"));
        assert!(refusal(&dbb("bandwidth = 0")).contains("[dbb0] bandwidth"));
        assert!(refusal(&dbb("duplex = true")).contains("[dbb0] duplex"));
        let why = refusal(&dbb("bandwidth = \"10 miles\""));
        assert!(why.contains("line 7") && why.contains("`10 miles` is no rate"), "{why}");
        let why = refusal(&dbb("read_latency = \"soon\""));
        assert!(why.contains("line 7") && why.contains("`\"soon\"` is no latency"), "{why}");
        assert!(refusal(&dbb("read_latency = \"1 s\"")).contains("[dbb0] read_latency"));
        assert!(refusal(&dbb("latency = 5")).contains("latency"));
        assert_eq!(
            refusal(&with("\nmac_atomic_c = 5")),
            "line 5: [nvdla] mac_atomic_c = 5 is impossible: must be a power of two, 4 to 256"
        );
        let why = refusal(&with("mac_atomic_q = 5"));
        assert!(why.starts_with("line 4: [nvdla] unknown field `mac_atomic_q`, expected one of "), "{why}");
        assert!(why.ends_with("; nearest: mac_atomic_c"), "{why}");
        assert!(
            refusal(&dbb("[dbb0.cache]\nways = 2\nsets = 3")).starts_with("line 9: [dbb0] cache.sets = 3: ")
        );
        assert!(refusal("name = \"x\"\n[nvdla]\nbase = \"nv_smal\"").contains("nv_smal"));
    }
}
