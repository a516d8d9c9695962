//! The interrupts of an NVDLA: which unit is done with the layer of which register group. They have names in traces, and the same bit
//! each in `S_INTR_MASK`, `S_INTR_SET` and `S_INTR_STATUS`.

use super::FAMILY;
use crate::nvdla::registers::{FieldRef, Unit, glb};
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// Source of the interrupts that a unit raises when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum InterruptSource {
    /// Single data point processor.
    Sdp,
    /// Channel data processor.
    Cdp,
    /// Planar data processor.
    Pdp,
    /// Bridge DMA.
    Bdma,
    /// Rubik.
    Rubik,
    /// Convolution DMA has fetched all input.
    #[strum(serialize = "CDMA_DAT")]
    CdmaData,
    /// Convolution DMA has fetched all weights.
    #[strum(serialize = "CDMA_WT")]
    CdmaWeight,
    /// Convolution accumulator.
    Cacc,
}

impl InterruptSource {
    /// Every source, by rising bit.
    pub const ALL: [Self; 8] = *Self::VARIANTS.first_chunk().unwrap();

    /// Returns the source's interrupt for the layer of register group 0 or 1 (BDMA: of the launch group).
    pub fn of_group(self, group: usize) -> Interrupt {
        Interrupt { source: self, group: (group & 1) as u8 }
    }

    /// The unit that raises it.
    pub fn unit(self) -> Unit {
        match self {
            Self::Sdp => Unit::Sdp,
            Self::Cdp => Unit::Cdp,
            Self::Pdp => Unit::Pdp,
            Self::Bdma => Unit::Bdma,
            Self::Rubik => Unit::Rbk,
            Self::CdmaData | Self::CdmaWeight => Unit::Cdma,
            Self::Cacc => Unit::Cacc,
        }
    }

    /// Returns the source's name in traces.
    fn name(self) -> &'static str {
        self.into()
    }

    fn fields(self) -> [FieldRef; 2] {
        use glb::S_INTR_STATUS as status;
        match self {
            Self::Sdp => [status::SDP_DONE_STATUS0, status::SDP_DONE_STATUS1],
            Self::Cdp => [status::CDP_DONE_STATUS0, status::CDP_DONE_STATUS1],
            Self::Pdp => [status::PDP_DONE_STATUS0, status::PDP_DONE_STATUS1],
            Self::Bdma => [status::BDMA_DONE_STATUS0, status::BDMA_DONE_STATUS1],
            Self::Rubik => [status::RUBIK_DONE_STATUS0, status::RUBIK_DONE_STATUS1],
            Self::CdmaData => [status::CDMA_DAT_DONE_STATUS0, status::CDMA_DAT_DONE_STATUS1],
            Self::CdmaWeight => [status::CDMA_WT_DONE_STATUS0, status::CDMA_WT_DONE_STATUS1],
            Self::Cacc => [status::CACC_DONE_STATUS0, status::CACC_DONE_STATUS1],
        }
    }
}

/// One interrupt: a source, and the register group whose layer is done (BDMA: the launch group).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interrupt {
    /// Source that raises the interrupt.
    pub source: InterruptSource,
    /// 0 or 1.
    pub group: u8,
}

impl Interrupt {
    /// All of them, by rising bit.
    pub fn all() -> impl Iterator<Item = Self> {
        InterruptSource::ALL.into_iter().flat_map(|source| [source.of_group(0), source.of_group(1)])
    }

    /// Returns the interrupt's bit in `S_INTR_MASK`, `S_INTR_SET` and `S_INTR_STATUS`.
    #[must_use]
    pub fn bit(self) -> u32 {
        self.field().bits(FAMILY).lsb.into()
    }

    /// Returns the interrupt's field of `S_INTR_STATUS`.
    #[must_use]
    pub fn field(self) -> FieldRef {
        self.source.fields()[usize::from(self.group & 1)]
    }

    /// Returns the interrupt's bit as a mask.
    #[must_use]
    pub fn mask(self) -> u32 {
        1 << self.bit()
    }

    /// The interrupt of a status bit; none for the bits that no source has.
    #[must_use]
    pub fn from_bit(bit: u32) -> Option<Self> {
        Self::all().find(|interrupt| interrupt.bit() == bit)
    }

    /// Reads `SDP_0` or `cdma_wt_1`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|interrupt| interrupt.to_string().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.source.name(), self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_have_the_manuals_bits() {
        let bits: Vec<_> = Interrupt::all().map(Interrupt::bit).collect();
        assert_eq!(bits, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21]);
        for bit in 0..32 {
            assert_eq!(Interrupt::from_bit(bit).map(Interrupt::bit), bits.contains(&bit).then_some(bit));
        }
    }

    #[test]
    fn names_ignore_case_and_give_the_status_bit() {
        for (name, bit) in [("SDP_0", 0), ("cdp_1", 3), ("CDMA_DAT_0", 16), ("cdma_wt_0", 18), ("CACC_1", 21)]
        {
            let interrupt = Interrupt::parse(name).unwrap();
            assert_eq!((interrupt.bit(), interrupt.to_string()), (bit, name.to_uppercase()));
        }
        assert_eq!(["SDP_2", "SDP", "SDP_00", "CSC_0"].map(Interrupt::parse), [None; 4]);
    }

    #[test]
    fn every_source_belongs_to_a_unit_with_that_name() {
        assert_eq!(InterruptSource::Rubik.unit(), Unit::Rbk);
        assert_eq!(InterruptSource::CdmaData.unit(), Unit::Cdma);
    }
}
