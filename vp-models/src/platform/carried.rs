//! The device that a platform carries: which there are, and what the platform asks of their descriptions.

use super::description::{DescriptionError, NvdlaDescription};
use crate::device::{Device, Identity, MemoryInterface, Wiring};
use crate::fpga_ai_suite::Architecture;
use crate::nvdla::registers::RegisterMap;
use crate::nvdla::timing::RtlTree;

/// A device, as a description says it: the section of its name.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceDescription {
    /// `[nvdla]`.
    Nvdla(Box<NvdlaDescription>),
    /// `[fpga_ai_suite]`.
    FpgaAiSuite(Box<Architecture>),
}

impl DeviceDescription {
    /// Refuses what cannot be built.
    pub(super) fn check(&self) -> Result<(), DescriptionError> {
        match self {
            DeviceDescription::Nvdla(nvdla) => Ok(nvdla.config.check()?),
            DeviceDescription::FpgaAiSuite(architecture) => Ok(architecture.check()?),
        }
    }

    /// What the device is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.identity(),
            DeviceDescription::FpgaAiSuite(architecture) => architecture.identity(),
        }
    }

    /// The register map of an NVDLA; [`RegisterMap::Foreign`], which has no unit, of another device.
    #[must_use]
    pub fn map(&self) -> RegisterMap {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.register_map,
            DeviceDescription::FpgaAiSuite(_) => RegisterMap::Foreign,
        }
    }

    /// Its first memory port.
    pub(crate) fn primary(&self) -> MemoryInterface {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.primary(),
            DeviceDescription::FpgaAiSuite(architecture) => architecture.memory_interface(),
        }
    }

    /// Its second memory port, if it has one.
    pub(crate) fn secondary(&self) -> Option<MemoryInterface> {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.secondary(),
            DeviceDescription::FpgaAiSuite(_) => None,
        }
    }

    /// Whether a write client's next burst enters its buffer at the arbiter while the one before leaves it.
    pub(super) fn writes_overlap(&self) -> bool {
        match self {
            // RTL, branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_arb.v`: the buffer holds four beats, and 64 bytes are one.
            DeviceDescription::Nvdla(nvdla) => nvdla.rtl == RtlTree::Nvdlav1,
            DeviceDescription::FpgaAiSuite(_) => true,
        }
    }

    /// Builds it.
    pub(super) fn build(&self, wiring: Wiring<'_>) -> Box<dyn Device> {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.build(wiring),
            DeviceDescription::FpgaAiSuite(architecture) => architecture.build(wiring),
        }
    }
}
