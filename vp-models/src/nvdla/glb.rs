//! GLB: collects the engines' done events into one interrupt line.
//!
//! A pure state machine over the registers of [`registers::glb`](crate::nvdla::registers::glb). Engines call
//! [`Glb::raise`], software uses [`Glb::read`] and [`Glb::write`], and after each of these calls the owner
//! drives the line to [`Glb::level`]. It has no time: the owner calls [`Glb::settle`] when a cycle is over. Until
//! then software neither sees nor clears what was raised (RTL, `NV_NVDLA_GLB_ic.v`: done_source and a request,
//! `NV_NVDLA_GLB_csb.v`, req_vld, are registered in the same cycle, the status bit a cycle later).

mod interrupt;

pub use interrupt::{Interrupt, InterruptSource};

use super::{
    config::Config,
    register_variant::RegisterVariant,
    registers::{Family, RegisterRef, glb},
};
use crate::checkpoint::{Checkpoint, CheckpointError};

// GLB is laid out the same in both families.
const FAMILY: Family = Family::Small;

const VERSION: u32 = glb::S_NVDLA_HW_VERSION.offset as u32;
const MASK: u32 = glb::S_INTR_MASK.offset as u32;
const SET: u32 = glb::S_INTR_SET.offset as u32;
const STATUS: u32 = glb::S_INTR_STATUS.offset as u32;

/// Interrupt status and mask, and the version word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glb {
    /// Bits of the sources that exist. Others never become pending, by event or by `S_INTR_SET`.
    present: u32,
    /// Bits that the mask keeps.
    maskable: u32,
    mask: u32,
    status: u32,
    /// Bits that were raised in this cycle.
    arriving: u32,
}

impl Glb {
    /// GLB at reset: nothing pending, nothing masked.
    pub fn new(config: &Config, variant: RegisterVariant) -> Self {
        let present = Interrupt::all().filter(|interrupt| config.has_unit(interrupt.source.unit()));
        let present = present.fold(0, |bits, interrupt| bits | interrupt.mask());
        let maskable = if variant.keeps_absent_masks { fields(glb::S_INTR_MASK) } else { present };
        Self { present, maskable, mask: 0, status: 0, arriving: 0 }
    }

    /// Records a done event, masked or not.
    pub fn raise(&mut self, interrupt: Interrupt) {
        self.arriving |= interrupt.mask() & self.present;
    }

    /// Ends a cycle: software sees what was raised in it.
    pub fn settle(&mut self) {
        self.status |= self.arriving;
        self.arriving = 0;
    }

    /// Returns true if the interrupt line is high: something is pending and not masked.
    pub fn level(&self) -> bool {
        self.raised() & !self.mask != 0
    }

    /// Bits of pending interrupts, those of this cycle included.
    fn raised(&self) -> u32 {
        self.status | self.arriving
    }

    /// Pending interrupts, masked ones included.
    pub fn pending(&self) -> impl Iterator<Item = Interrupt> {
        let status = self.raised();
        Interrupt::all().filter(move |interrupt| status & interrupt.mask() != 0)
    }

    /// Returns true if an interrupt is kept from the line.
    pub fn is_masked(&self, interrupt: Interrupt) -> bool {
        self.mask & interrupt.mask() != 0
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

    /// Returns what a software read will give in the next cycle.
    pub fn peek(&self, offset: u32) -> u32 {
        if offset == STATUS { self.raised() } else { self.read(offset) }
    }

    /// A software write at a byte offset in the unit. `S_INTR_STATUS` clears where 1 is written, `S_INTR_SET`
    /// raises.
    pub fn write(&mut self, offset: u32, value: u32) {
        match offset {
            MASK => self.mask = value & self.maskable,
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
        let Glb { present: _, maskable: _, mask, status, arriving } = self;
        at.value(mask)?;
        at.value(status)?;
        at.value(arriving)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FAMILY, Glb, Interrupt, InterruptSource};
    use crate::nvdla::{
        config::Config,
        register_variant::RegisterVariant,
        registers::{RegisterRef, glb},
        rtl_tree::RtlTree,
    };

    fn glb_of(name: &str) -> Glb {
        let config = Config::named(name).unwrap();
        Glb::new(&config, RegisterVariant::of(&config, RtlTree::published(&config)))
    }

    fn at(register: RegisterRef) -> u32 {
        u32::from(register.offset)
    }

    #[test]
    fn mask_set_and_status_put_every_source_at_the_same_bit() {
        for register in [glb::S_INTR_MASK, glb::S_INTR_SET, glb::S_INTR_STATUS] {
            assert_eq!(super::fields(register), 0x003f_03ff);
            for (field, interrupt) in register.fields.iter().zip(Interrupt::all()) {
                assert_eq!(u32::from(field.bits(FAMILY).lsb), interrupt.bit(), "{field}");
            }
        }
    }

    #[test]
    fn a_done_event_raises_the_line_until_its_bit_is_cleared() {
        let mut glb = glb_of("nv_small");
        glb.raise(InterruptSource::Pdp.of_group(1));
        assert!(glb.level());
        glb.settle();
        assert_eq!(glb.read(at(glb::S_INTR_STATUS)), 0x20);
        glb.write(at(glb::S_INTR_STATUS), 0x20);
        assert!(!glb.level());
    }

    #[test]
    fn a_done_event_is_neither_seen_nor_cleared_in_its_cycle() {
        let mut glb = glb_of("nv_small");
        glb.raise(InterruptSource::Pdp.of_group(1));
        assert_eq!(glb.read(at(glb::S_INTR_STATUS)), 0);
        assert_eq!(glb.peek(at(glb::S_INTR_STATUS)), 0x20);
        glb.write(at(glb::S_INTR_STATUS), 0x20);
        assert!(glb.level());
        glb.settle();
        assert_eq!(glb.read(at(glb::S_INTR_STATUS)), 0x20);
    }

    #[test]
    fn clearing_one_bit_keeps_an_event_that_came_between_read_and_write() {
        let mut glb = glb_of("nv_small");
        glb.raise(InterruptSource::Sdp.of_group(0));
        glb.settle();
        let read = glb.read(at(glb::S_INTR_STATUS));
        glb.raise(InterruptSource::Cacc.of_group(0));
        glb.write(at(glb::S_INTR_STATUS), read);
        assert_eq!(glb.pending().collect::<Vec<_>>(), [InterruptSource::Cacc.of_group(0)]);
        assert!(glb.level());
    }

    #[test]
    fn a_masked_event_is_recorded_but_does_not_raise_the_line() {
        let mut glb = glb_of("nv_small");
        glb.write(at(glb::S_INTR_MASK), InterruptSource::Sdp.of_group(0).mask());
        glb.raise(InterruptSource::Sdp.of_group(0));
        assert!(!glb.level());
        glb.settle();
        assert_eq!(glb.read(at(glb::S_INTR_STATUS)), 1);
        glb.write(at(glb::S_INTR_MASK), 0);
        assert!(glb.level(), "unmasking shows what was pending");
    }

    #[test]
    fn software_raises_through_set_which_reads_0() {
        let mut glb = glb_of("nv_small");
        glb.write(at(glb::S_INTR_SET), InterruptSource::CdmaWeight.of_group(1).mask());
        assert!(glb.level());
        assert_eq!(glb.read(at(glb::S_INTR_SET)), 0);
    }

    #[test]
    fn absent_sources_never_become_pending_and_only_branch_master_keeps_their_mask_bits() {
        let bdma = InterruptSource::Bdma.of_group(0).mask() | InterruptSource::Rubik.of_group(1).mask();
        let expected = [("nv_small", 0, 0), ("nv_small_256", 0, bdma), ("nv_full", bdma, bdma)];
        for (name, status, mask) in expected {
            let mut glb = glb_of(name);
            glb.write(at(glb::S_INTR_SET), bdma);
            glb.write(at(glb::S_INTR_MASK), bdma);
            let read = (glb.read(at(glb::S_INTR_STATUS)), glb.read(at(glb::S_INTR_MASK)));
            assert_eq!(read, (status, mask), "{name}");
        }
    }

    #[test]
    fn the_version_is_constant_and_holes_are_empty() {
        let mut glb = glb_of("nv_large");
        glb.write(at(glb::S_NVDLA_HW_VERSION), 0);
        glb.write(0x10, u32::MAX);
        assert_eq!(glb.read(at(glb::S_NVDLA_HW_VERSION)), 0x0030_3031);
        assert_eq!((glb.read(0x10), glb.read(0xffc), glb.read(1)), (0, 0, 0));
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
                let is_written = |interrupt: Interrupt| value & interrupt.mask() != 0;
                match kind {
                    0 => {
                        glb.raise(Interrupt::all().nth(source).unwrap());
                        glb.settle();
                        latches[source].0 = true;
                    }
                    1 => glb.write(at(glb::S_INTR_MASK), value),
                    2 => glb.write(at(glb::S_INTR_SET), value),
                    _ => glb.write(at(glb::S_INTR_STATUS), value),
                }
                for (latch, interrupt) in latches.iter_mut().zip(Interrupt::all()) {
                    match kind {
                        1 => latch.1 = is_written(interrupt),
                        2 => latch.0 |= is_written(interrupt),
                        3 => latch.0 &= !is_written(interrupt),
                        _ => {}
                    }
                }
                prop_assert_eq!(glb.level(), latches.iter().any(|(pending, masked)| *pending && !masked));
                let pending = Interrupt::all().zip(latches).filter(|it| it.1.0).map(|it| it.0);
                prop_assert_eq!(glb.pending().collect::<Vec<_>>(), pending.collect::<Vec<_>>());
            }
        }
    }
}
