//! Description of a device that is outside, in a platform's file.

use serde::{Deserialize, Serialize};

use crate::device::{Identity, MemoryInterface};
use crate::nvdla::NvdlaDescription;
use crate::nvdla::config::{CapabilityRom, Config};
use crate::nvdla::registers::RegisterMap;
use crate::nvdla::rtl_tree::RtlTree;

/// A device outside: the section `[outside_device]`.
///
/// ```toml
/// [outside_device]
/// like = "nv_small"     # its ports, window and names are that NVDLA's, or else:
/// window = 0x40000      # bytes of its registers
/// compatible = ["example,device"]
/// dbb0 = { width_bits = 64, longest_burst = 1 }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct OutsideDescription {
    /// The NVDLA that it is, if it is one: what drivers of it have to know.
    pub nvdla: Option<Box<NvdlaDescription>>,
    /// Bytes of its register window.
    pub window: u32,
    /// The names by which drivers find it in a device tree, the most special first.
    pub compatible: Vec<String>,
    /// First memory port.
    pub dbb0: OutsideInterface,
    /// Second memory port, if it has it.
    pub sram0: Option<OutsideInterface>,
}

/// A memory port of a device outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutsideInterface {
    /// Width of the data bus in bits: 32 to 512, a power of two.
    pub width_bits: u32,
    /// Longest burst in beats: 1 to 16, a power of two.
    pub longest_burst: u32,
}

/// [`OutsideDescription`] as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// A built-in platform with an NVDLA: the device has its ports, window and names, as far as nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    like: Option<String>,
    /// Bytes of its register window.
    #[serde(
        default,
        deserialize_with = "crate::units::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    window: Option<u32>,
    /// The names by which drivers find it in a device tree, the most special first.
    #[serde(skip_serializing_if = "Option::is_none")]
    compatible: Option<Vec<String>>,
    /// First memory port.
    #[serde(skip_serializing_if = "Option::is_none")]
    dbb0: Option<OutsideInterface>,
    /// Second memory port, if the device has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sram0: Option<OutsideInterface>,
}

/// A device outside that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OutsideError {
    /// The platform that it is like has no NVDLA.
    #[error("like = \"{0}\": name a built-in platform with an NVDLA, such as \"nv_small\"")]
    Like(String),
    /// Something is missing that nothing else says.
    #[error("`{0}` is missing: say it, or say `like`, the built-in platform whose device it is")]
    Missing(&'static str),
    /// A register window of no whole words, or beyond 32 bits.
    #[error("window = {0}: bytes of registers, a multiple of 4 from 4 to 0x40000000")]
    Window(u32),
    /// A bus that AXI has not.
    #[error("{port}: width_bits = {width_bits}: a power of two from 32 to 512")]
    Width {
        /// The port.
        port: &'static str,
        /// Width that was given.
        width_bits: u32,
    },
    /// Bursts that AXI3 has not.
    #[error("{port}: longest_burst = {beats}: a power of two from 1 to 16")]
    Burst {
        /// The port.
        port: &'static str,
        /// Number of beats that was given.
        beats: u32,
    },
}

impl TryFrom<Written> for OutsideDescription {
    type Error = OutsideError;

    fn try_from(written: Written) -> Result<OutsideDescription, OutsideError> {
        let Written { like, window, compatible, dbb0, sram0 } = written;
        let like = like.map(|name| Self::like(&name)).transpose()?;
        let (nvdla, of) = match like {
            Some(OutsideDescription { nvdla, window, compatible, dbb0, sram0 }) => {
                (nvdla, Some((window, compatible, dbb0, sram0)))
            }
            None => (None, None),
        };
        let of = of.as_ref();
        Ok(OutsideDescription {
            nvdla,
            window: window.or(of.map(|of| of.0)).ok_or(OutsideError::Missing("window"))?,
            compatible: compatible.or(of.map(|of| of.1.clone())).unwrap_or_default(),
            dbb0: dbb0.or(of.map(|of| of.2)).ok_or(OutsideError::Missing("dbb0"))?,
            sram0: sram0.or(of.and_then(|of| of.3)),
        })
    }
}

impl From<OutsideDescription> for Written {
    fn from(description: OutsideDescription) -> Written {
        let OutsideDescription { nvdla, window, compatible, dbb0, sram0 } = description;
        let like = nvdla.map(|nvdla| nvdla.config.name.clone());
        Written { like, window: Some(window), compatible: Some(compatible), dbb0: Some(dbb0), sram0 }
    }
}

impl OutsideInterface {
    /// Returns the port of a device inside, as one of a device outside.
    pub(crate) fn of(interface: MemoryInterface) -> OutsideInterface {
        OutsideInterface { width_bits: interface.width_bytes * 8, longest_burst: interface.max_burst }
    }

    fn check(self, port: &'static str) -> Result<(), OutsideError> {
        let OutsideInterface { width_bits, longest_burst } = self;
        if !width_bits.is_power_of_two() || !(32..=512).contains(&width_bits) {
            return Err(OutsideError::Width { port, width_bits });
        }
        match longest_burst.is_power_of_two() && longest_burst <= 16 {
            true => Ok(()),
            false => Err(OutsideError::Burst { port, beats: longest_burst }),
        }
    }

    fn interface(self, latency: u32) -> MemoryInterface {
        MemoryInterface { width_bytes: self.width_bits / 8, max_burst: self.longest_burst, latency }
    }
}

impl OutsideDescription {
    /// A device outside in the place of an NVDLA: of the same ports, window and names.
    pub(crate) fn in_place_of(nvdla: &NvdlaDescription) -> OutsideDescription {
        OutsideDescription {
            nvdla: Some(Box::new(nvdla.clone())),
            window: RegisterMap::SPACE_BYTES,
            compatible: nvdla.identity().compatible,
            dbb0: OutsideInterface::of(nvdla.config.primary()),
            sram0: nvdla.config.secondary().map(OutsideInterface::of),
        }
    }

    /// A device outside that has the ports, the window and the names of a built-in NVDLA.
    ///
    /// # Errors
    /// There is no NVDLA of that name.
    pub fn like(name: &str) -> Result<OutsideDescription, OutsideError> {
        let config = Config::named(name).map_err(|_| OutsideError::Like(name.to_owned()))?;
        let rtl = RtlTree::published(&config);
        let nvdla = NvdlaDescription { rtl, capability_rom: CapabilityRom::default(), config };
        Ok(OutsideDescription::in_place_of(&nvdla))
    }

    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<(), OutsideError> {
        if self.window == 0 || !self.window.is_multiple_of(4) || self.window > 0x4000_0000 {
            return Err(OutsideError::Window(self.window));
        }
        self.dbb0.check("dbb0")?;
        self.sram0.map_or(Ok(()), |sram0| sram0.check("sram0"))
    }

    /// Returns the identity of the device.
    pub(crate) fn identity(&self) -> Identity {
        let register_map = self.nvdla.as_ref().map(|nvdla| nvdla.config.register_map.name());
        let kind = if register_map.is_some() { "nvdla" } else { "outside" };
        Identity { kind, compatible: self.compatible.clone(), register_map }
    }

    /// The first memory port; its latency is that of the NVDLA that it is, or one cycle.
    pub(crate) fn primary(&self) -> MemoryInterface {
        let latency = self.nvdla.as_ref().map_or(1, |nvdla| nvdla.config.primary().latency);
        self.dbb0.interface(latency)
    }

    /// The second one, if it has it.
    pub(crate) fn secondary(&self) -> Option<MemoryInterface> {
        let of = self.nvdla.as_ref().and_then(|nvdla| nvdla.config.secondary());
        self.sram0.map(|sram0| sram0.interface(of.map_or(1, |of| of.latency)))
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::Description;

    fn parse(section: &str) -> Result<Description, String> {
        Description::parse(&format!("name = \"x\"\n[outside_device]\n{section}"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_device_outside_is_like_a_built_in_one_or_described() {
        let like = parse("like = \"nv_small\"").unwrap();
        assert_eq!(like.nvdla().unwrap().config.mac_atomic_c, 8);
        let described =
            "window = 0x1000\ncompatible = [\"a,b\"]\ndbb0 = { width_bits = 128, longest_burst = 4 }";
        let described = parse(described).unwrap();
        assert_eq!(described.device.primary().width_bytes, 16);
        assert_eq!(Description::parse(&described.to_toml()).unwrap().device, described.device);
        assert_eq!(Description::parse(&like.to_toml()).unwrap().device, like.device);
    }

    #[test]
    fn refusals_name_the_place() {
        assert!(parse("like = \"nv_smal\"").unwrap_err().contains("nv_smal"));
        assert!(parse("window = 16").unwrap_err().contains("dbb0"));
        let odd = "window = 16\ndbb0 = { width_bits = 96, longest_burst = 4 }";
        assert!(parse(odd).unwrap_err().contains("width_bits = 96"));
        let long = "window = 16\ndbb0 = { width_bits = 64, longest_burst = 32 }";
        assert!(parse(long).unwrap_err().contains("longest_burst = 32"));
    }
}
