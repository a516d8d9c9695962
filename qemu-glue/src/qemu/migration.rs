//! A machine with a device of ours stays where it is where the platform's state cannot be in QEMU's. And it keeps the device.

#![expect(unsafe_code, reason = "calls into QEMU")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::layouts::{Errors, Object};
use super::{Qemu, symbols};

/// From this version on a blocker is passed by its place, which QEMU keeps: migration/blocker.h.
const BY_PLACE: [i64; 2] = [8, 2];

/// Reason against migration, for QEMU to say.
static REASON: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

impl Qemu {
    /// Has QEMU refuse, with these words, to take a device out, where it would try and end. Versions that do not show the
    /// function refuse by themselves.
    ///
    /// # Safety
    /// `device` is one, and the big lock is held.
    pub(crate) unsafe fn block_unplug(&self, device: Object, why: &str) {
        let add = symbols::find("qdev_add_unplug_blocker");
        if add.is_null() {
            return;
        }
        let mut reason = std::ptr::null_mut();
        // SAFETY: a place for an error, which is the device's from here on: `void qdev_add_unplug_blocker(DeviceState *dev,
        // Error *reason)` of hw/qdev-core.h.
        unsafe {
            self.fail(&raw mut reason, why);
            type Add = unsafe extern "C" fn(Object, *mut c_void);
            std::mem::transmute::<*mut c_void, Add>(add)(device, reason);
        }
    }

    /// Has QEMU refuse to migrate and to save the machine, with these words. While the machine is built.
    ///
    /// # Errors
    /// For people: this QEMU has been told to accept nothing that cannot migrate, or cannot be told.
    pub(crate) fn block_migration(&self, why: &str) -> Result<(), String> {
        if !REASON.load(Ordering::Relaxed).is_null() {
            return Ok(());
        }
        let add = symbols::find("migrate_add_blocker");
        let version = symbols::version().map(|(version, _)| version);
        let (Some([major, minor, _]), false) = (version, add.is_null()) else {
            return Err("this QEMU does not show migrate_add_blocker".into());
        };
        // SAFETY: a place for an error that lives as long as the program, and is QEMU's from here on.
        unsafe { self.fail(REASON.as_ptr(), why) };
        let reason = match [major, minor] >= BY_PLACE {
            true => REASON.as_ptr().cast(),
            false => REASON.load(Ordering::Relaxed),
        };
        // SAFETY: `int migrate_add_blocker(Error *reason, Error **errp)`, since 8.2 with `Error **reason`: one pointer either
        // way. Without a place for errors it just says no.
        let added = unsafe {
            type Add = unsafe extern "C" fn(*mut c_void, Errors) -> i32;
            std::mem::transmute::<*mut c_void, Add>(add)(reason, std::ptr::null_mut())
        };
        match added {
            0.. => Ok(()),
            _ => Err(format!("with -only-migratable there can be no device of a platform: {why}")),
        }
    }
}
