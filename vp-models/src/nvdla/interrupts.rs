//! GLB and the interrupt line it drives.

use super::config::Config;
use super::glb::{Glb, Interrupt};
use super::register_variant::RegisterVariant;
use crate::bus::irq::IrqLine;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::device::PendingInterrupt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::{Sim, Time};

/// The device's interrupt state; the line always follows it.
pub(crate) struct Interrupts {
    sim: Sim,
    glb: RefCell<Glb>,
    line: IrqLine,
    last_raised: Cell<Option<Time>>,
}

impl Interrupts {
    pub(crate) fn new(sim: &Sim, config: &Config, variant: RegisterVariant, line: IrqLine) -> Rc<Interrupts> {
        let glb = RefCell::new(Glb::new(config, variant));
        Rc::new(Interrupts { sim: sim.clone(), glb, line, last_raised: Cell::new(None) })
    }

    /// A layer is done.
    pub(crate) fn raise(&self, interrupt: Interrupt) {
        self.glb.borrow_mut().raise(interrupt);
        self.last_raised.set(Some(self.sim.now()));
        self.line.drive(self.glb.borrow().level());
    }

    /// Returns the time at which the last layer was done.
    pub(crate) fn last_raised(&self) -> Option<Time> {
        self.last_raised.get()
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
        self.glb.borrow_mut().flip(offset, mask);
        self.line.drive(self.glb.borrow().level());
    }

    pub(crate) fn read(&self, offset: u32) -> u32 {
        self.glb.borrow().read(offset)
    }

    pub(crate) fn write(&self, offset: u32, value: u32) {
        self.glb.borrow_mut().write(offset, value);
        self.line.drive(self.glb.borrow().level());
    }
}

impl Interrupts {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Interrupts { sim: _, glb, line, last_raised } = self;
        at.part("nvdla.glb")?;
        glb.borrow_mut().checkpoint(at)?;
        line.drive(glb.borrow().level());
        at.cell(last_raised)
    }
}
