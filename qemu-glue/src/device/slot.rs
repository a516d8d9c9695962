//! Where a PCI function is in the machine: its interrupt pin, and whether it may reach memory.

#![expect(unsafe_code, reason = "calls of QEMU")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::qemu::Qemu;
use crate::qemu::pci::{Function, Pci};
use crate::report::say;

/// A function's place in the machine, which it may leave.
pub(super) struct Slot {
    pci: &'static Pci,
    function: Mutex<Option<Function>>,
    has_complained: AtomicBool,
}

impl Slot {
    pub(super) fn new(pci: &'static Pci, function: Function) -> Slot {
        Slot { pci, function: Mutex::new(Some(function)), has_complained: AtomicBool::new(false) }
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

    /// Whether the function is in the machine.
    pub(super) fn is_taken(&self) -> bool {
        self.function().is_some()
    }

    /// Whether the driver has made it a bus master. Says why not, the first time.
    pub(super) fn may_access_memory(&self, qemu: &Qemu) -> bool {
        let function = self.function();
        let Some(function) = *function else { return false };
        // SAFETY: in the machine, as long as the slot is locked.
        let (is_master, sees_memory) =
            unsafe { (self.pci.is_bus_master(function), self.pci.sees_memory(qemu, function)) };
        let complaint = match (is_master, sees_memory) {
            (true, true) => return true,
            (false, _) => "its driver has not made it a bus master",
            (_, false) => "an IOMMU is between them, which the device does not go through",
        };
        if !self.has_complained.swap(true, Ordering::Relaxed) {
            say(format_args!("warning: the device cannot access the guest's memory: {complaint}"));
        }
        false
    }

    pub(super) fn function(&self) -> MutexGuard<'_, Option<Function>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
