//! The partners with a clock at an interface, whose pins take the place of the memory or of a master.

use super::{ManagerPins, SubordinatePins};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

/// The partners of an interface.
#[derive(Default)]
pub(super) struct Partners {
    memory: RefCell<Option<Rc<ManagerPins>>>,
    master: RefCell<Option<Master>>,
    /// Number of masters that there have been: transfers of one master do not belong to the next.
    generation: Cell<u32>,
    is_any: Cell<bool>,
}

/// A master outside.
#[derive(Clone)]
pub(super) struct Master {
    pub(super) pins: Rc<SubordinatePins>,
    /// Numbers among the clients that read, and that write.
    pub(super) reader: usize,
    pub(super) writer: usize,
}

impl Partners {
    /// Returns true if anything is to be done at pins.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.is_any.get()
    }

    /// The pins of the memory outside.
    #[inline]
    pub(super) fn memory(&self) -> Option<Rc<ManagerPins>> {
        if self.is_any.get() { self.memory.borrow().clone() } else { None }
    }

    /// The master outside, which may have gone.
    pub(super) fn master(&self) -> Ref<'_, Option<Master>> {
        self.master.borrow()
    }

    /// The pins of the master that has asked for a transfer of that generation, if it has not gone.
    pub(super) fn master_of(&self, generation: u32) -> Option<Rc<SubordinatePins>> {
        let master = self.master.borrow();
        master.as_ref().filter(|_| generation == self.generation.get()).map(|master| master.pins.clone())
    }

    /// The present master's generation.
    pub(super) fn generation(&self) -> u32 {
        self.generation.get()
    }

    /// Puts a memory's pins in the place of another's; returns those.
    pub(super) fn set_memory(&self, pins: Option<Rc<ManagerPins>>) -> Option<Rc<ManagerPins>> {
        let before = self.memory.replace(pins);
        self.is_any.set(self.memory.borrow().is_some() || self.master.borrow().is_some());
        before
    }

    /// Puts a new master in the place of another.
    pub(super) fn set_master(&self, master: Master) {
        *self.master.borrow_mut() = Some(master);
        self.generation.set(self.generation.get() + 1);
        self.is_any.set(true);
    }
}
