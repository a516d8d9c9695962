//! Errors of descriptions of platforms, and of single values that are set in one.

use crate::bus::axi::LatencyError;
use crate::fpga_ai_suite::{Architecture, ArchitectureError};
use crate::memory::ModelError;
use crate::nvdla::config::{Config, ConfigError};
use crate::outside_device::OutsideError;
use crate::suggestion::hint;
use crate::toml_text::{TextError, TomlText};
use std::path::Path;
use vp_core::Time;

/// Transactions that AXI identifiers of the interfaces can tell apart.
pub(super) const MOST_OUTSTANDING: u32 = 256;

/// A description that cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DescriptionError {
    /// The text is no TOML, or not of this shape.
    #[error(transparent)]
    Text(#[from] TextError),
    /// No built-in platform of that name.
    #[error("no platform `{name}`{}; there are {}", hint(name, names()), names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// Name that was asked for.
        name: String,
    },
    /// No such hardware configuration exists, or its parameters contradict each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An architecture that cannot be built.
    #[error("[fpga_ai_suite] {0}")]
    Architecture(#[from] ArchitectureError),
    /// A device outside that cannot be.
    #[error("[outside_device] {0}")]
    Outside(#[from] OutsideError),
    /// No memory of that name.
    #[error("no memory `{0}` here: there are dbb0 and, if the device has a second interface, sram0")]
    NoMemory(String),
    /// No device, or several.
    #[error("a platform has one device: a section [nvdla], [fpga_ai_suite] or [outside_device]")]
    Devices,
    /// A single value that cannot be set.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A latency that makes no sense.
    #[error("[{memory}] {parameter}: {source}")]
    Latency {
        /// The memory's name.
        memory: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// Error of the latency.
        source: LatencyError,
    },
    /// A limit that AXI identifiers cannot express.
    #[error(
        "[{memory}] {parameter} = {value}: between 1 and {MOST_OUTSTANDING} transactions can be outstanding"
    )]
    Outstanding {
        /// The memory's name.
        memory: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// Value that was given.
        value: u32,
    },
    /// A memory without bytes, or beyond 64 bits.
    #[error(
        "[{memory}] {size} bytes from 0x{base:x} on: a memory has at least one byte and ends within 64 bits"
    )]
    Range {
        /// The memory's name.
        memory: &'static str,
        /// First address of the memory.
        base: u64,
        /// Size of the memory in bytes.
        size: u64,
    },
    /// A memory that never moves a byte.
    #[error("[{memory}] bandwidth = 0 would stop the platform: leave it out for as much as the bus can move")]
    Bandwidth {
        /// The memory's name.
        memory: &'static str,
    },
    /// A rate for each direction, and no rate.
    #[error("[{memory}] duplex = true: reads and writes have a bandwidth each, and no `bandwidth` is given")]
    Duplex {
        /// The memory's name.
        memory: &'static str,
    },
    /// A model of a memory that cannot be built.
    #[error("[{memory}] {source}")]
    Model {
        /// The memory's name.
        memory: &'static str,
        /// Error of the model.
        source: ModelError,
    },
    /// A figure that follows from another.
    #[error("[{memory}] {parameter}: it follows from `{model}`; leave out one of the two")]
    OwnTime {
        /// The memory's name.
        memory: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// The model that it follows from.
        model: &'static str,
    },
    /// A name that would not be shown as it is.
    #[error("{0:?}: names have no control characters")]
    ControlCharacters(String),
    /// A name that could be taken for a session's own platform.
    #[error("name = {0:?}: no platform's name begins with `#`, which stands before the number of a session")]
    Number(String),
    /// A clock that stands still, or nearly.
    #[error("period = \"{0}\": give the time of one clock cycle, from 1 ps to 1 ms, such as \"1 ns\"")]
    Period(Time),
}

impl DescriptionError {
    /// Returns this error, of a description in this file.
    #[must_use]
    pub fn in_file(self, path: &Path) -> DescriptionError {
        match self {
            DescriptionError::Text(error) => error.in_file(path).into(),
            error => TextError::whole(error).in_file(path).into(),
        }
    }

    /// Returns this error with the line of the key that it begins with: `[dbb0] cache.sets = 3: …`.
    pub(super) fn placed(self, text: &TomlText<'_>) -> DescriptionError {
        let what = self.to_string();
        let (section, rest) =
            what.strip_prefix('[').and_then(|it| it.split_once("] ")).unwrap_or(("", &what));
        let key = rest.split([' ', ':']).next().unwrap_or_default();
        let path = format!("{section}.{key}");
        TextError { within: String::new(), ..text.wrong(path.trim_start_matches('.'), &what) }.into()
    }
}

/// The names of all built-in platforms.
fn names() -> impl Iterator<Item = &'static str> {
    Config::NAMES.iter().chain(&Architecture::NAMES).copied()
}

/// A setting that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No `=`, or nothing before it.
    #[error("`{0}` is no setting: write NAME=VALUE, such as dbb0.dram.standard=DDR4-2400R")]
    Shape(String),
    /// A value where a section should be.
    #[error("`{setting}`: `{part}` is a value and has no parts")]
    NoSection {
        /// The setting.
        setting: String,
        /// The part of the name that is wrong.
        part: String,
    },
    /// A name from which a file takes its other values: a description has all of them.
    #[error(
        "`{setting}`: the platform has a value of its own for all that {key} gives; take the platform {named}, or a file with that {key}"
    )]
    Base {
        /// The setting.
        setting: String,
        /// The key.
        key: &'static str,
        /// The value.
        named: String,
    },
}
