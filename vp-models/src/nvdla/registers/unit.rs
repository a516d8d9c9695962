//! The units that have a slot in the register space.

use std::fmt;
use strum::{IntoStaticStr, VariantArray};

use super::{
    Grouping, RegisterRef, bdma, cacc, cdma, cdp, cdp_rdma, cfgrom, cmac, csc, glb, mcif, pdp, pdp_rdma, rbk,
    sdp, sdp_rdma,
};

/// One unit of NVDLA as software sees it: the owner of 4 KiB of register space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Unit {
    /// Capability ROM; absent in `nv_full`.
    Cfgrom,
    /// Global control: version and interrupts.
    Glb,
    /// Arbiter of the primary memory interface.
    Mcif,
    /// Arbiter of the secondary memory interface (the manual's SRAMIF).
    Cvif,
    /// Bridge DMA.
    Bdma,
    /// Convolution DMA.
    Cdma,
    /// Convolution sequence controller.
    Csc,
    /// MAC array, first half of the kernels.
    CmacA,
    /// MAC array, second half of the kernels.
    CmacB,
    /// Convolution accumulator.
    Cacc,
    /// Read DMA of the single data point processor.
    SdpRdma,
    /// Single data point processor.
    Sdp,
    /// Read DMA of the planar data processor.
    PdpRdma,
    /// Planar data processor.
    Pdp,
    /// Read DMA of the channel data processor.
    CdpRdma,
    /// Channel data processor.
    Cdp,
    /// Rubik, the reshape engine.
    Rbk,
}

impl Unit {
    /// Every unit, in the order of the manual.
    pub const ALL: [Self; 17] = *Self::VARIANTS.first_chunk().unwrap();

    /// The manual's name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The unit of that name. `SRAMIF` and `RUBIK`, the architecture text's names, are accepted too.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "SRAMIF" => Some(Self::Cvif),
            "RUBIK" => Some(Self::Rbk),
            _ => Self::ALL.into_iter().find(|unit| unit.name() == name),
        }
    }

    /// Returns the unit's registers by rising offset, without holes: the register at byte offset `o` is element `o / 4`.
    pub const fn registers(self) -> &'static [RegisterRef] {
        match self {
            Self::Cfgrom => cfgrom::REGISTERS,
            Self::Glb => glb::REGISTERS,
            Self::Mcif | Self::Cvif => mcif::REGISTERS,
            Self::Bdma => bdma::REGISTERS,
            Self::Cdma => cdma::REGISTERS,
            Self::Csc => csc::REGISTERS,
            Self::CmacA | Self::CmacB => cmac::REGISTERS,
            Self::Cacc => cacc::REGISTERS,
            Self::SdpRdma => sdp_rdma::REGISTERS,
            Self::Sdp => sdp::REGISTERS,
            Self::PdpRdma => pdp_rdma::REGISTERS,
            Self::Pdp => pdp::REGISTERS,
            Self::CdpRdma => cdp_rdma::REGISTERS,
            Self::Cdp => cdp::REGISTERS,
            Self::Rbk => rbk::REGISTERS,
        }
    }

    /// The register at a byte offset inside the unit; `None` for a hole or an unaligned offset.
    pub fn register_at(self, offset: u32) -> Option<RegisterRef> {
        if offset.is_multiple_of(4) { self.registers().get(offset as usize / 4).copied() } else { None }
    }

    /// The register of that name.
    pub fn register(self, name: &str) -> Option<RegisterRef> {
        self.registers().iter().find(|register| register.name == name).copied()
    }

    /// Returns true if the unit has two register groups (`S_POINTER`, `D_OP_ENABLE`).
    pub fn is_ping_pong(self) -> bool {
        self.op_enable().is_some()
    }

    /// Returns the unit's `D_OP_ENABLE`, if it has groups: the first duplicated register.
    pub fn op_enable(self) -> Option<RegisterRef> {
        let enables =
            |register: &RegisterRef| register.starts_work && register.grouping == Grouping::Duplicated;
        self.registers().iter().copied().find(enables)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
