//! The device that a platform carries: which there are, and what the platform asks of their descriptions.

use super::description_error::DescriptionError;
use crate::bus::axi::{PipelineConfig, RegisterKind, WriteGathering};
use crate::device::{Device, Identity, MemoryInterface, Wiring};
use crate::fpga_ai_suite::Architecture;
use crate::nvdla::NvdlaDescription;
use crate::nvdla::registers::RegisterMap;
use crate::nvdla::rtl_tree::RtlTree;
use crate::outside_device::{OutsideDescription, OutsideInterface};

/// A device, as a description says it: the section of its name.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceDescription {
    /// `[nvdla]`.
    Nvdla(Box<NvdlaDescription>),
    /// `[fpga_ai_suite]`.
    FpgaAiSuite(Box<Architecture>),
    /// `[outside_device]`.
    Outside(Box<OutsideDescription>),
}

impl DeviceDescription {
    /// Refuses what cannot be built.
    pub(super) fn check(&self) -> Result<(), DescriptionError> {
        match self {
            DeviceDescription::Nvdla(nvdla) => Ok(nvdla.config.check()?),
            DeviceDescription::FpgaAiSuite(architecture) => Ok(architecture.check()?),
            DeviceDescription::Outside(outside) => Ok(outside.check()?),
        }
    }

    /// Returns what is said of the device as text.
    pub(super) fn names(&self) -> &[String] {
        match self {
            DeviceDescription::Nvdla(nvdla) => std::slice::from_ref(&nvdla.config.name),
            DeviceDescription::FpgaAiSuite(architecture) => std::slice::from_ref(&architecture.version),
            DeviceDescription::Outside(outside) => &outside.compatible,
        }
    }

    /// Returns the identity of the device.
    #[must_use]
    pub fn identity(&self) -> Identity {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.identity(),
            DeviceDescription::FpgaAiSuite(architecture) => architecture.identity(),
            DeviceDescription::Outside(outside) => outside.identity(),
        }
    }

    /// The register map of an NVDLA; [`RegisterMap::Foreign`], which has no unit, of another device.
    #[must_use]
    pub fn map(&self) -> RegisterMap {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.register_map,
            DeviceDescription::FpgaAiSuite(_) => RegisterMap::Foreign,
            DeviceDescription::Outside(outside) => {
                outside.nvdla.as_ref().map_or(RegisterMap::Foreign, |nvdla| nvdla.config.register_map)
            }
        }
    }

    /// Returns a device outside in the place of this one: of the same ports, window and names.
    #[must_use]
    pub fn outside(&self) -> OutsideDescription {
        match self {
            DeviceDescription::Nvdla(nvdla) => OutsideDescription::in_place_of(nvdla),
            DeviceDescription::Outside(outside) => (**outside).clone(),
            DeviceDescription::FpgaAiSuite(architecture) => OutsideDescription {
                nvdla: None,
                window: RegisterMap::SPACE_BYTES,
                compatible: architecture.identity().compatible,
                dbb0: OutsideInterface::of(architecture.memory_interface()),
                sram0: None,
            },
        }
    }

    /// Returns the device's first memory port.
    pub(crate) fn primary(&self) -> MemoryInterface {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.primary(),
            DeviceDescription::FpgaAiSuite(architecture) => architecture.memory_interface(),
            DeviceDescription::Outside(outside) => outside.primary(),
        }
    }

    /// Returns true if the device has a second memory port.
    #[must_use]
    pub fn has_second_memory(&self) -> bool {
        self.secondary().is_some()
    }

    /// Returns the device's second memory port, if it has one.
    pub(crate) fn secondary(&self) -> Option<MemoryInterface> {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.secondary(),
            DeviceDescription::FpgaAiSuite(_) => None,
            DeviceDescription::Outside(outside) => outside.secondary(),
        }
    }

    /// Returns true if a write client's next burst enters its buffer at the arbiter while the one before leaves it.
    pub(super) fn writes_overlap(&self) -> bool {
        match self {
            // RTL, branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_arb.v`: the buffer holds four beats, and 64 bytes are one.
            DeviceDescription::Nvdla(nvdla) => nvdla.rtl == RtlTree::Nvdlav1,
            DeviceDescription::FpgaAiSuite(_) | DeviceDescription::Outside(_) => true,
        }
    }

    /// Beats that the arbiter of reads of such an interface grants at once: eight atoms, aligned, on nvdlav1, which go on AR one by one (RTL,
    /// `NV_NVDLA_MCIF_READ_IG_bpt.v`, ftran_size; `_spt.v`).
    pub(super) fn transaction_beats(&self, interface: MemoryInterface) -> u32 {
        match self {
            DeviceDescription::Nvdla(nvdla) if nvdla.rtl == RtlTree::Nvdlav1 => {
                interface.max_burst.max(8 * nvdla.config.memory_atom / interface.width_bytes.max(1))
            }
            _ => interface.max_burst,
        }
    }

    /// True if read data is told of in pairs of atoms from the first of a request on (RTL, branch nvdlav1, `NV_NVDLA_MCIF_READ_eg.v`,
    /// arb_cq_swizzle, ro*_fifo0 and 1).
    pub(super) fn realigns_reads(&self) -> bool {
        matches!(self, DeviceDescription::Nvdla(nvdla) if nvdla.rtl == RtlTree::Nvdlav1)
    }

    /// Kind of the registers of its memory interfaces in front of the arbiter of reads.
    pub(super) fn request_registers(&self) -> RegisterKind {
        match self {
            DeviceDescription::Nvdla(nvdla) if nvdla.rtl == RtlTree::Master => RegisterKind::Delayed,
            _ => RegisterKind::Catching,
        }
    }

    /// Blocks whose beats its memory interfaces, so many bytes wide, gather before a write client asks the arbiter.
    pub(super) fn gathers_writes(&self, beat: u32) -> Option<WriteGathering> {
        match self {
            DeviceDescription::Nvdla(nvdla) if nvdla.rtl == RtlTree::Nvdlav1 => {
                WriteGathering::of_atoms(beat, nvdla.config.memory_atom)
            }
            _ => None,
        }
    }

    /// Bits of its addresses.
    pub(super) fn address_bits(&self) -> u32 {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.config.address_bits(),
            DeviceDescription::FpgaAiSuite(_) | DeviceDescription::Outside(_) => u64::BITS,
        }
    }

    /// The registers between its read arbiter and AR.
    pub(super) fn read_pipeline(&self) -> PipelineConfig {
        let (before_count, behind_count) = match self {
            // Behind the count: `…_READ_IG_cvt.v`, `pipe_p1` with its skid register.
            DeviceDescription::Nvdla(nvdla) => match nvdla.rtl {
                // `NV_NVDLA_NOCIF_DRAM_READ_IG_spt.v`, of nvdlav1 `NV_NVDLA_MCIF_READ_IG_spt.v`: `pipe_p1`, and `p2` with
                // its skid register.
                RtlTree::NvSmall | RtlTree::Nvdlav1 => (3, 2),
                // `NV_NVDLA_MCIF_READ_IG_arb.v`, `pipe_out` with its skid register; there is no `_spt`.
                RtlTree::Master => (2, 2),
            },
            // Of the one nothing is known, the other has them itself: a read that is on AR stays there (AXI, A3.2.1).
            DeviceDescription::FpgaAiSuite(_) | DeviceDescription::Outside(_) => (1, 1),
        };
        PipelineConfig { before_count, behind_count }
    }

    /// The registers between its write arbiter and AW.
    pub(super) fn write_pipeline(&self) -> PipelineConfig {
        let (before_count, behind_count) = match self {
            // Behind the count: `…_WRITE_IG_cvt.v`, `pipe_p3` with its skid register.
            DeviceDescription::Nvdla(nvdla) => match nvdla.rtl {
                // `NV_NVDLA_NOCIF_DRAM_WRITE_IG_spt.v`, of nvdlav1 `NV_NVDLA_MCIF_WRITE_IG_spt.v`: `pipe_p1`; `…_cvt.v`: `pipe_p1`.
                RtlTree::NvSmall | RtlTree::Nvdlav1 => (2, 2),
                // `NV_NVDLA_MCIF_WRITE_IG_cvt.v`, `pipe_p1`; there is no `_spt`.
                RtlTree::Master => (1, 2),
            },
            DeviceDescription::FpgaAiSuite(_) | DeviceDescription::Outside(_) => (1, 1),
        };
        PipelineConfig { before_count, behind_count }
    }

    /// Builds it.
    pub(super) fn build(&self, wiring: Wiring<'_>) -> Box<dyn Device> {
        match self {
            DeviceDescription::Nvdla(nvdla) => nvdla.build(wiring),
            DeviceDescription::FpgaAiSuite(architecture) => architecture.build(wiring),
            DeviceDescription::Outside(outside) => outside.build(&wiring),
        }
    }
}
