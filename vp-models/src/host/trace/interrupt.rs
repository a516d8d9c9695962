//! The interrupts of an NVDLA by name and by bit of GLB.S_INTR_STATUS; S_INTR_MASK has the same layout.

use std::fmt;

/// An interrupt source of GLB.S_INTR_STATUS with two bits, one a register group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Bits 0 and 1.
    Sdp,
    /// Bits 2 and 3.
    Cdp,
    /// Bits 4 and 5.
    Pdp,
    /// Bits 6 and 7.
    Bdma,
    /// Bits 8 and 9.
    Rubik,
    /// Bits 16 and 17.
    CdmaDat,
    /// Bits 18 and 19.
    CdmaWt,
    /// Bits 20 and 21.
    Cacc,
}

pub(super) const SOURCES: [(&str, Source, u32); 8] = [
    ("SDP", Source::Sdp, 0),
    ("CDP", Source::Cdp, 2),
    ("PDP", Source::Pdp, 4),
    ("BDMA", Source::Bdma, 6),
    ("RUBIK", Source::Rubik, 8),
    ("CDMA_DAT", Source::CdmaDat, 16),
    ("CDMA_WT", Source::CdmaWt, 18),
    ("CACC", Source::Cacc, 20),
];

/// One interrupt: a source and the register group whose layer is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interrupt {
    /// Who raises it.
    pub source: Source,
    /// 0 or 1.
    pub group: u8,
}

impl Interrupt {
    /// Its bit in GLB.S_INTR_STATUS and GLB.S_INTR_MASK.
    #[must_use]
    pub fn bit(self) -> u32 {
        let low = SOURCES.iter().find(|(_, source, _)| *source == self.source).map_or(0, |(_, _, low)| *low);
        low + u32::from(self.group & 1)
    }

    /// The interrupt of a status bit; none for the bits no source has.
    #[must_use]
    pub fn from_bit(bit: u32) -> Option<Self> {
        let group = (bit & 1) as u8;
        let (_, source, _) = SOURCES.iter().find(|(_, _, low)| *low == bit & !1)?;
        Some(Self { source: *source, group })
    }

    /// Reads `SDP_0` or `cdma_wt_1`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (block, group) = text.rsplit_once('_')?;
        let (_, source, _) = SOURCES.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(block))?;
        match group {
            "0" => Some(Self { source: *source, group: 0 }),
            "1" => Some(Self { source: *source, group: 1 }),
            _ => None,
        }
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            SOURCES.iter().find(|(_, source, _)| *source == self.source).map_or("", |(name, _, _)| *name);
        write!(f, "{name}_{}", self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_names_ignore_case_and_give_their_status_bit() {
        for (name, bit) in [("SDP_0", 0), ("cdp_1", 3), ("CDMA_DAT_0", 16), ("cdma_wt_0", 18), ("CACC_1", 21)]
        {
            let interrupt = Interrupt::parse(name).unwrap();
            assert_eq!(interrupt.bit(), bit);
            assert_eq!(Interrupt::from_bit(bit), Some(interrupt));
            assert_eq!(interrupt.to_string(), name.to_uppercase());
        }
        assert_eq!(Interrupt::from_bit(10), None);
        assert_eq!(Interrupt::from_bit(31), None);
    }
}
