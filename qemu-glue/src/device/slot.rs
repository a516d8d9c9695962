//! Place of a PCI function in the machine: its interrupt pin, and whether it may reach memory.

#![expect(unsafe_code, reason = "calls of QEMU")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::qemu::pci::{Function, Pci};
use crate::qemu::{Handle, Qemu};
use crate::session::NoAccess;

/// A function's place in the machine, which it may leave.
pub(super) struct Slot {
    pci: &'static Pci,
    function: Mutex<Option<Function>>,
}

impl Slot {
    pub(super) fn new(pci: &'static Pci, function: Function) -> Slot {
        Slot { pci, function: Mutex::new(Some(function)) }
    }

    /// Moves the interrupt line.
    ///
    /// # Safety
    /// The big lock is held.
    pub(super) unsafe fn set_line(&self, level: bool) {
        if let Some(function) = *self.function() {
            // SAFETY: in the machine, or it would not be here; the lock by the caller.
            unsafe { self.pci.set_line(function, level) };
        }
    }

    /// Returns true if the function is in the machine.
    pub(super) fn is_taken(&self) -> bool {
        self.function().is_some()
    }

    /// Returns the addresses through which the function accesses memory, as a bus master: those of an IOMMU, or `None`, memory's own.
    pub(super) fn space(&self, qemu: &Qemu) -> Result<Option<Handle>, NoAccess> {
        let function = self.function();
        let Some(function) = *function else { return Err(NoAccess::Gone) };
        // SAFETY: in the machine, as long as the slot is locked.
        let (is_master, space) =
            unsafe { (self.pci.is_bus_master(function), self.pci.space(qemu, function)) };
        if is_master { Ok(space) } else { Err(NoAccess::NotBusMaster) }
    }

    pub(super) fn function(&self) -> MutexGuard<'_, Option<Function>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
