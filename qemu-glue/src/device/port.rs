//! Parts of the machine that the platform sees: its RAM, and the interrupt line that it drives.

#![expect(unsafe_code, reason = "the interrupt line needs the big lock")]

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::place;
use super::slot::Slot;
use crate::qemu::pci::Function;
use crate::qemu::state::Saving;
use crate::qemu::{Handle, Qemu};
use crate::report::guarded;
use crate::session::{Guest, NoAccess, SharedMemory};

/// Time for which others may have QEMU's big lock: longer than an access to memory takes.
const MOMENT: Duration = Duration::from_micros(50);

/// The interrupt line that a device drives.
pub(super) enum Line {
    /// An input of the interrupt controller.
    Input(Handle),
    /// The pin of a PCI function.
    Pin(&'static Slot),
}

/// A device's side of the machine.
pub(super) struct Port {
    qemu: &'static Qemu,
    /// Addresses of the machine's RAM.
    ram: Vec<Range<u64>>,
    /// The parts of it that the device may reach; it reaches nothing else.
    reachable: Vec<Range<u64>>,
    /// True if the server may map the RAM: a file of it is always all of it.
    shares: bool,
    line: Line,
    /// The line's level as the platform last said.
    wanted: AtomicBool,
    /// As the interrupt controller has it. Changed with the big lock only.
    applied: AtomicBool,
    /// True if the main thread will look.
    is_scheduled: AtomicBool,
    /// True while the machine stands: its interrupt controller may be about to take up another state.
    is_held: AtomicBool,
    /// True if whoever moves the platform's time brings the line to its level: nobody else may, at a moment of its own.
    is_coupled: bool,
}

impl Port {
    pub(super) fn new(
        qemu: &'static Qemu,
        ram: Vec<Range<u64>>,
        reachable: Vec<Range<u64>>,
        line: Line,
        is_coupled: bool,
        shares: bool,
    ) -> &'static Self {
        let [wanted, applied, is_scheduled, is_held] = [const { AtomicBool::new(false) }; 4];
        Box::leak(Box::new(Self {
            qemu,
            ram,
            reachable,
            shares,
            line,
            wanted,
            applied,
            is_scheduled,
            is_held,
            is_coupled,
        }))
    }

    /// Returns true if the machine still has the device.
    pub(super) fn is_in_machine(&self) -> bool {
        match self.line {
            Line::Input(_) => true,
            Line::Pin(slot) => slot.is_taken(),
        }
    }

    pub(super) fn as_guest(&'static self) -> Arc<dyn Guest> {
        Arc::new(self)
    }

    /// Brings the line to the newest level. Only for callers that QEMU has called with the big lock: whatever the order in
    /// which threads learn of levels, the last to come here applies the newest.
    pub(super) fn settle(&self) {
        if self.is_held.load(Ordering::SeqCst) {
            return;
        }
        let level = self.wanted.load(Ordering::SeqCst);
        if self.applied.swap(level, Ordering::SeqCst) != level {
            match self.line {
                // SAFETY: an input of the interrupt controller; the callers' callers hold the lock.
                Line::Input(line) => unsafe { self.qemu.set_line(line, level) },
                // SAFETY: the callers' callers hold the lock.
                Line::Pin(slot) => unsafe { slot.set_line(level) },
            }
        }
    }

    /// Leaves the line as it is until the machine goes on. With the big lock, as all that follows.
    pub(super) fn hold(&self) {
        self.is_held.store(true, Ordering::SeqCst);
    }

    /// The machine goes on: the line has the newest level.
    pub(super) fn release(&self) {
        self.is_held.store(false, Ordering::SeqCst);
        self.settle();
    }

    /// The line's level as the interrupt controller has it.
    pub(super) fn level(&self) -> bool {
        self.applied.load(Ordering::SeqCst)
    }

    /// The interrupt controller has taken up a state in which the line has this level.
    pub(super) fn take_up(&self, level: bool) {
        self.applied.store(level, Ordering::SeqCst);
    }

    /// Tells a migration under way of what the server may have written by itself.
    pub(super) fn note_written(&self, qemu: &Qemu, saving: &Saving) {
        if self.shares && matches!(self.line, Line::Input(_)) && saving.is_logged(qemu) {
            let written: Vec<_> = qemu.shared_ram().into_iter().map(|memory| memory.range).collect();
            // SAFETY: RAM; the callers' callers hold the lock.
            unsafe { saving.note_written(qemu, &written) };
        }
    }

    /// Returns true if the guest has memory that a server of the same host can map.
    pub(super) fn shares_memory(&self) -> bool {
        self.shares && matches!(self.line, Line::Input(_)) && !self.qemu.shared_ram().is_empty()
    }

    /// QEMU's object of the PCI function, if the device is one.
    pub(super) fn function(&self) -> Option<Handle> {
        match self.line {
            Line::Input(_) => None,
            Line::Pin(slot) => slot.function().map(Function::object),
        }
    }

    /// Checks that the device may access these bytes: by the driver's leave if there is such a thing, and RAM, unless the guest's IOMMU
    /// decides. Gives that one's addresses.
    fn check(&self, address: u64, bytes: usize) -> Result<Option<Handle>, NoAccess> {
        let space = match self.line {
            Line::Input(_) => None,
            Line::Pin(slot) => slot.space(self.qemu)?,
        };
        if space.is_some() {
            return if self.shares { Ok(space) } else { Err(NoAccess::BehindIommu) };
        }
        let end = address.checked_add(bytes as u64).ok_or(NoAccess::NoMemory)?;
        let is_in = |ranges: &[Range<u64>]| ranges.iter().any(|range| place::covers(range, &(address..end)));
        match (is_in(&self.reachable), is_in(&self.ram)) {
            (true, _) => Ok(None),
            (false, true) => Err(NoAccess::OutsideRanges),
            (false, false) => Err(NoAccess::NoMemory),
        }
    }
}

/// Says why an access has failed that was let through.
fn failed(space: Option<Handle>) -> NoAccess {
    space.map_or(NoAccess::NoMemory, |_| NoAccess::Untranslated)
}

impl Guest for &'static Port {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NoAccess> {
        let space = self.check(address, into.len())?;
        self.qemu.read(space, address, into).then_some(()).ok_or_else(|| failed(space))
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), NoAccess> {
        let space = self.check(address, bytes.len())?;
        self.qemu.write(space, address, bytes).then_some(()).ok_or_else(|| failed(space))
    }

    fn line(&self, level: bool) {
        self.wanted.store(level, Ordering::SeqCst);
        if !self.is_coupled && !self.is_scheduled.swap(true, Ordering::SeqCst) {
            let port: *const Port = *self;
            // SAFETY: a port lives for ever.
            unsafe { self.qemu.schedule(settle_later, port.cast_mut().cast()) };
        }
    }

    fn shared_memory(&self) -> Option<Vec<SharedMemory>> {
        match self.line {
            Line::Input(_) => self.shares.then(|| self.qemu.shared_ram()),
            // Each of its accesses is by the driver's leave.
            Line::Pin(_) => None,
        }
    }

    fn make_way(&self) {
        self.qemu.without_big_lock(|| std::thread::sleep(MOMENT));
    }

    fn thread(&self, work: &mut dyn FnMut()) {
        self.qemu.as_thread(work);
    }
}

unsafe extern "C" fn settle_later(port: *mut c_void) {
    guarded("an interrupt", (), || {
        // SAFETY: the port that was scheduled, which lives for ever.
        let port = unsafe { &*port.cast::<Port>() };
        port.is_scheduled.store(false, Ordering::SeqCst);
        port.settle();
    });
}
