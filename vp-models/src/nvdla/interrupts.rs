//! GLB and the interrupt line it drives.

use super::config::Config;
use super::glb::{Glb, Interrupt};
use super::register_variant::RegisterVariant;
use crate::bus::irq::IrqLine;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::device::PendingInterrupt;
use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use vp_core::{Sim, Time};

/// The device's interrupt state; the line always follows it.
pub(crate) struct Interrupts {
    sim: Sim,
    glb: RefCell<Glb>,
    line: IrqLine,
    /// Times at which the last interrupt was raised, and the last one that the line shows.
    last_raised: Cell<Option<Time>>,
    last_shown: Cell<Option<Time>>,
}

impl Interrupts {
    pub(crate) fn new(sim: &Sim, config: &Config, variant: RegisterVariant, line: IrqLine) -> Rc<Interrupts> {
        let glb = RefCell::new(Glb::new(config, variant));
        Rc::new(Interrupts {
            sim: sim.clone(),
            glb,
            line,
            last_raised: Cell::new(None),
            last_shown: Cell::new(None),
        })
    }

    /// Returns GLB, in which what was raised in earlier cycles has settled.
    fn glb(&self) -> RefMut<'_, Glb> {
        let mut glb = self.glb.borrow_mut();
        if self.last_raised.get().is_some_and(|raised| raised < self.sim.now()) {
            glb.settle();
        }
        glb
    }

    /// A layer is done.
    pub(crate) fn raise(&self, interrupt: Interrupt) {
        self.glb().raise(interrupt);
        self.last_raised.set(Some(self.sim.now()));
        if !self.glb.borrow().is_masked(interrupt) {
            self.last_shown.set(Some(self.sim.now()));
        }
        self.line.drive(self.glb.borrow().level());
    }

    /// Returns the time at which the last layer was done: of those whose interrupt is not masked, if there is one. A program that waits for PDP does
    /// not wait for SDP, which goes on where no window reads the end of its output.
    pub(crate) fn last_done(&self) -> Option<Time> {
        self.last_shown.get().or(self.last_raised.get())
    }

    /// The interrupts that are pending.
    pub(crate) fn pending(&self) -> Vec<PendingInterrupt> {
        let glb = self.glb.borrow();
        let pending = |interrupt: Interrupt| PendingInterrupt {
            name: interrupt.field().name,
            is_masked: glb.is_masked(interrupt),
        };
        glb.pending().map(pending).collect()
    }

    /// Bits of a register are others.
    pub(crate) fn flip(&self, offset: u32, mask: u32) {
        self.glb().flip(offset, mask);
        self.line.drive(self.glb.borrow().level());
    }

    pub(crate) fn read(&self, offset: u32) -> u32 {
        self.glb().read(offset)
    }

    /// Returns what a read would give in the next cycle.
    pub(crate) fn peek(&self, offset: u32) -> u32 {
        self.glb().peek(offset)
    }

    pub(crate) fn write(&self, offset: u32, value: u32) {
        self.glb().write(offset, value);
        self.line.drive(self.glb.borrow().level());
    }
}

impl Interrupts {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Interrupts { sim: _, glb, line, last_raised, last_shown } = self;
        at.part("nvdla.glb")?;
        glb.borrow_mut().checkpoint(at)?;
        line.drive(glb.borrow().level());
        at.cell(last_raised)?;
        at.cell(last_shown)
    }
}

#[cfg(test)]
mod tests {
    use super::super::glb::InterruptSource::{Pdp, Sdp};
    use super::super::registers::glb;
    use super::super::rtl_tree::RtlTree;
    use super::*;
    use vp_core::Simulation;

    /// Returns the end of a run in which interrupts with these sources come 10 ns apart, and all but some are masked.
    fn end(unmasked: &[Interrupt], raised: [Interrupt; 2]) -> Option<Time> {
        let mut simulation = Simulation::new();
        let sim = simulation.sim().clone();
        let config = Config::named("nv_small").unwrap();
        let variant = RegisterVariant::of(&config, RtlTree::published(&config));
        let interrupts = Interrupts::new(&sim, &config, variant, IrqLine::new(&sim, "irq0"));
        let masked = !unmasked.iter().fold(0, |all, interrupt| all | interrupt.mask());
        interrupts.write(u32::from(glb::S_INTR_MASK.offset), masked);
        let device = interrupts.clone();
        sim.clone().process("layers", async move {
            for interrupt in raised {
                sim.wait(Time::ns(10)).await;
                device.raise(interrupt);
            }
        });
        simulation.run();
        interrupts.last_done()
    }

    #[test]
    fn a_read_in_the_cycle_of_an_interrupt_does_not_see_it() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim().clone();
        let config = Config::named("nv_full").unwrap();
        let variant = RegisterVariant::of(&config, RtlTree::published(&config));
        let interrupts = Interrupts::new(&sim, &config, variant, IrqLine::new(&sim, "irq0"));
        let (device, status) = (interrupts, u32::from(glb::S_INTR_STATUS.offset));
        sim.clone().process("layers", async move {
            sim.wait(Time::ns(10)).await;
            device.raise(Pdp.of_group(1));
            assert_eq!(device.read(status), 0);
            sim.wait(Time::ns(1)).await;
            assert_eq!(device.read(status), Pdp.of_group(1).mask());
        });
        simulation.run();
    }

    #[test]
    fn a_run_ends_with_the_last_interrupt_that_is_not_masked() {
        let (sdp, pdp) = (Sdp.of_group(0), Pdp.of_group(0));
        assert_eq!(end(&[pdp], [pdp, sdp]), Some(Time::ns(10)));
        assert_eq!(end(&[pdp], [sdp, pdp]), Some(Time::ns(20)));
        assert_eq!(end(&[pdp, sdp], [pdp, sdp]), Some(Time::ns(20)));
        // Of a program that asks for the status.
        assert_eq!(end(&[], [pdp, sdp]), Some(Time::ns(20)));
        assert_eq!(end(&[], [sdp, pdp]), Some(Time::ns(20)));
    }
}
