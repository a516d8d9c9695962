//! GLB: collects the engines' done events into one interrupt line.
//!
//! A pure state machine over the registers of [`registers::glb`](crate::nvdla::registers::glb). Engines call
//! [`Glb::raise`], software uses [`Glb::read`] and [`Glb::write`], and after each of these calls the owner
//! drives the line to [`Glb::level`]. It has no time. If a clear and a raise come in the same cycle the raise
//! wins, so apply the clear first.

use super::{
    config::Config,
    registers::{Family, FieldRef, RegisterRef, Unit, glb},
};
use crate::checkpoint::{Checkpoint, CheckpointError};

/// A done event: the engine, and the register group in which the layer was programmed (BDMA: the launch group).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Single data point processor.
    Sdp(usize),
    /// Channel data processor.
    Cdp(usize),
    /// Planar data processor.
    Pdp(usize),
    /// Bridge DMA.
    Bdma(usize),
    /// Rubik.
    Rubik(usize),
    /// Convolution DMA has fetched all input.
    CdmaData(usize),
    /// Convolution DMA has fetched all weights.
    CdmaWeight(usize),
    /// Convolution accumulator.
    Cacc(usize),
}

impl Source {
    /// Every source, by rising bit.
    pub const ALL: [Self; 16] = [
        Self::Sdp(0),
        Self::Sdp(1),
        Self::Cdp(0),
        Self::Cdp(1),
        Self::Pdp(0),
        Self::Pdp(1),
        Self::Bdma(0),
        Self::Bdma(1),
        Self::Rubik(0),
        Self::Rubik(1),
        Self::CdmaData(0),
        Self::CdmaData(1),
        Self::CdmaWeight(0),
        Self::CdmaWeight(1),
        Self::Cacc(0),
        Self::Cacc(1),
    ];

    /// Its bit in `S_INTR_MASK`, `S_INTR_SET` and `S_INTR_STATUS`.
    ///
    /// # Panics
    ///
    /// When the group is neither 0 nor 1.
    pub fn bit(self) -> u32 {
        use glb::S_INTR_STATUS as status;
        let (fields, group): ([FieldRef; 2], _) = match self {
            Self::Sdp(group) => ([status::SDP_DONE_STATUS0, status::SDP_DONE_STATUS1], group),
            Self::Cdp(group) => ([status::CDP_DONE_STATUS0, status::CDP_DONE_STATUS1], group),
            Self::Pdp(group) => ([status::PDP_DONE_STATUS0, status::PDP_DONE_STATUS1], group),
            Self::Bdma(group) => ([status::BDMA_DONE_STATUS0, status::BDMA_DONE_STATUS1], group),
            Self::Rubik(group) => ([status::RUBIK_DONE_STATUS0, status::RUBIK_DONE_STATUS1], group),
            Self::CdmaData(group) => ([status::CDMA_DAT_DONE_STATUS0, status::CDMA_DAT_DONE_STATUS1], group),
            Self::CdmaWeight(group) => ([status::CDMA_WT_DONE_STATUS0, status::CDMA_WT_DONE_STATUS1], group),
            Self::Cacc(group) => ([status::CACC_DONE_STATUS0, status::CACC_DONE_STATUS1], group),
        };
        u32::from(fields[group].bits(FAMILY).lsb)
    }

    /// Its bit as a mask.
    ///
    /// # Panics
    ///
    /// When the group is neither 0 nor 1.
    pub fn mask(self) -> u32 {
        1 << self.bit()
    }

    /// The unit that raises it.
    pub fn unit(self) -> Unit {
        match self {
            Self::Sdp(_) => Unit::Sdp,
            Self::Cdp(_) => Unit::Cdp,
            Self::Pdp(_) => Unit::Pdp,
            Self::Bdma(_) => Unit::Bdma,
            Self::Rubik(_) => Unit::Rbk,
            Self::CdmaData(_) | Self::CdmaWeight(_) => Unit::Cdma,
            Self::Cacc(_) => Unit::Cacc,
        }
    }
}

// GLB is laid out the same in both families.
const FAMILY: Family = Family::Small;

const VERSION: u32 = glb::S_NVDLA_HW_VERSION.offset as u32;
const MASK: u32 = glb::S_INTR_MASK.offset as u32;
const SET: u32 = glb::S_INTR_SET.offset as u32;
const STATUS: u32 = glb::S_INTR_STATUS.offset as u32;

/// Interrupt status and mask, and the version word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glb {
    /// Bits of the sources that exist. Others never become pending, by event or by `S_INTR_SET`; their mask
    /// bits stay writable (RTL, branch master).
    present: u32,
    mask: u32,
    status: u32,
}

impl Glb {
    /// GLB at reset: nothing pending, nothing masked.
    pub fn new(config: &Config) -> Self {
        let present = Source::ALL.into_iter().filter(|source| config.has_unit(source.unit()));
        Self { present: present.fold(0, |bits, source| bits | source.mask()), mask: 0, status: 0 }
    }

    /// Records a done event, masked or not.
    ///
    /// # Panics
    ///
    /// When the group is neither 0 nor 1.
    pub fn raise(&mut self, source: Source) {
        self.status |= source.mask() & self.present;
    }

    /// Whether the interrupt line is high: something is pending and not masked.
    pub fn level(&self) -> bool {
        self.status & !self.mask != 0
    }

    /// Pending sources, masked ones included.
    pub fn pending(&self) -> impl Iterator<Item = Source> {
        let status = self.status;
        Source::ALL.into_iter().filter(move |source| status & source.mask() != 0)
    }

    /// A software read at a byte offset in the unit; holes and `S_INTR_SET` read 0. Has no side effects.
    pub fn read(&self, offset: u32) -> u32 {
        match offset {
            VERSION => glb::S_NVDLA_HW_VERSION.reset(FAMILY),
            MASK => self.mask,
            STATUS => self.status,
            _ => 0,
        }
    }

    /// A software write at a byte offset in the unit. `S_INTR_STATUS` clears where 1 is written, `S_INTR_SET`
    /// raises.
    pub fn write(&mut self, offset: u32, value: u32) {
        match offset {
            MASK => self.mask = value & fields(glb::S_INTR_MASK),
            SET => self.status |= value & self.present,
            STATUS => self.status &= !value,
            _ => {}
        }
    }

    /// Inverts bits of what is stored at a byte offset in the unit.
    pub fn flip(&mut self, offset: u32, mask: u32) {
        match offset {
            MASK => self.mask ^= mask,
            STATUS => self.status ^= mask,
            _ => {}
        }
    }
}

fn fields(register: RegisterRef) -> u32 {
    register.mask(FAMILY, |_| true)
}

impl Glb {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Glb { present: _, mask, status } = self;
        at.value(mask)?;
        at.value(status)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FAMILY, Glb, Source};
    use crate::nvdla::{
        config::Config,
        registers::{RegisterRef, Unit, glb},
    };

    fn glb_of(name: &str) -> Glb {
        Glb::new(&Config::named(name).unwrap())
    }

    fn at(register: RegisterRef) -> u32 {
        u32::from(register.offset)
    }

    #[test]
    fn sources_have_the_manuals_bits() {
        let bits: Vec<_> = Source::ALL.into_iter().map(Source::bit).collect();
        assert_eq!(bits, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21]);
    }

    #[test]
    fn mask_set_and_status_put_every_source_at_the_same_bit() {
        for register in [glb::S_INTR_MASK, glb::S_INTR_SET, glb::S_INTR_STATUS] {
            assert_eq!(super::fields(register), 0x003f_03ff);
            for (field, source) in register.fields.iter().zip(Source::ALL) {
                assert_eq!(u32::from(field.bits(FAMILY).lsb), source.bit(), "{field}");
            }
        }
    }

    #[test]
    fn a_done_event_raises_the_line_until_its_bit_is_cleared() {
        let mut glb = glb_of("nv_small");
        glb.raise(Source::Pdp(1));
        assert!(glb.level());
        assert_eq!(glb.read(at(glb::S_INTR_STATUS)), 0x20);
        glb.write(at(glb::S_INTR_STATUS), 0x20);
        assert!(!glb.level());
    }

    #[test]
    fn clearing_one_bit_keeps_an_event_that_came_between_read_and_write() {
        let mut glb = glb_of("nv_small");
        glb.raise(Source::Sdp(0));
        let read = glb.read(at(glb::S_INTR_STATUS));
        glb.raise(Source::Cacc(0));
        glb.write(at(glb::S_INTR_STATUS), read);
        assert_eq!(glb.pending().collect::<Vec<_>>(), [Source::Cacc(0)]);
        assert!(glb.level());
    }

    #[test]
    fn a_masked_event_is_recorded_but_does_not_raise_the_line() {
        let mut glb = glb_of("nv_small");
        glb.write(at(glb::S_INTR_MASK), Source::Sdp(0).mask());
        glb.raise(Source::Sdp(0));
        assert!(!glb.level());
        assert_eq!(glb.read(at(glb::S_INTR_STATUS)), 1);
        glb.write(at(glb::S_INTR_MASK), 0);
        assert!(glb.level(), "unmasking shows what was pending");
    }

    #[test]
    fn software_raises_through_set_which_reads_0() {
        let mut glb = glb_of("nv_small");
        glb.write(at(glb::S_INTR_SET), Source::CdmaWeight(1).mask());
        assert!(glb.level());
        assert_eq!(glb.read(at(glb::S_INTR_SET)), 0);
    }

    #[test]
    fn absent_sources_never_become_pending_but_keep_their_mask_bits() {
        let bdma = Source::Bdma(0).mask() | Source::Rubik(1).mask();
        let mut small = glb_of("nv_small");
        let mut full = glb_of("nv_full");
        for glb in [&mut small, &mut full] {
            glb.write(at(glb::S_INTR_SET), bdma);
            glb.write(at(glb::S_INTR_MASK), bdma);
            assert_eq!(glb.read(at(glb::S_INTR_MASK)), bdma);
        }
        assert_eq!((small.read(at(glb::S_INTR_STATUS)), full.read(at(glb::S_INTR_STATUS))), (0, bdma));
    }

    #[test]
    fn the_version_is_constant_and_holes_are_empty() {
        let mut glb = glb_of("nv_large");
        glb.write(at(glb::S_NVDLA_HW_VERSION), 0);
        glb.write(0x10, u32::MAX);
        assert_eq!(glb.read(at(glb::S_NVDLA_HW_VERSION)), 0x0030_3031);
        assert_eq!((glb.read(0x10), glb.read(0xffc), glb.read(1)), (0, 0, 0));
    }

    #[test]
    fn every_source_belongs_to_a_unit_with_that_name() {
        assert_eq!(Source::Rubik(0).unit(), Unit::Rbk);
        assert_eq!(Source::CdmaData(1).unit(), Unit::Cdma);
    }

    proptest! {
        /// One latch a source, asked one by one.
        #[test]
        fn the_line_is_the_or_of_unmasked_latches(
            accesses in prop::collection::vec((0..4u8, any::<u32>(), 0..16usize), 0..100),
        ) {
            let mut glb = glb_of("nv_full");
            let mut latches = [(false, false); 16];
            for (kind, value, source) in accesses {
                let is_written = |source: Source| value & source.mask() != 0;
                match kind {
                    0 => { glb.raise(Source::ALL[source]); latches[source].0 = true; }
                    1 => glb.write(at(glb::S_INTR_MASK), value),
                    2 => glb.write(at(glb::S_INTR_SET), value),
                    _ => glb.write(at(glb::S_INTR_STATUS), value),
                }
                for (latch, source) in latches.iter_mut().zip(Source::ALL) {
                    match kind {
                        1 => latch.1 = is_written(source),
                        2 => latch.0 |= is_written(source),
                        3 => latch.0 &= !is_written(source),
                        _ => {}
                    }
                }
                prop_assert_eq!(glb.level(), latches.iter().any(|(pending, masked)| *pending && !masked));
                let pending = Source::ALL.into_iter().zip(latches).filter(|it| it.1.0).map(|it| it.0);
                prop_assert_eq!(glb.pending().collect::<Vec<_>>(), pending.collect::<Vec<_>>());
            }
        }
    }
}
