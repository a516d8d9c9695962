//! Memory that somebody reaches whom QEMU does not see: QEMU asks before it relies on seeing all.
//!
//! Where a machine moves to before its memory does (postcopy), QEMU has to see who needs a page that has not come yet. Where a machine runs on
//! while it is saved as it was (background-snapshot), QEMU has to see who writes. It asks about the first on the side to which the machine
//! moves, before anything has moved, and about the second when the saving begins, if it is new enough.

#![expect(unsafe_code, reason = "calls to and from QEMU")]

use std::ffi::{c_int, c_void};

use super::functions::functions;
use super::layouts::Errors;
use super::state::Stateful;
use super::{Qemu, symbols};
use crate::report::guarded;

/// From this version on the place for errors is an argument (qemu/notify.h), and QEMU asks when a migration begins.
const ERRORS_APART: [i64; 2] = [9, 0];
/// `POSTCOPY_NOTIFY_PROBE` of migration/postcopy-ram.h, `MIG_EVENT_PRECOPY_SETUP` of migration/misc.h: the question.
const ASKED: c_int = 0;
/// `-EINVAL`.
const REFUSED: c_int = -22;

functions! {
    /// Functions by which QEMU is told whom to ask.
    Functions {
        /// migration/postcopy-ram.h
        fn postcopy_add_notifier(*mut Asked);
        /// migration/postcopy-ram.h
        fn postcopy_remove_notifier(*mut Asked);
        /// migration/options.h
        fn migrate_background_snapshot() -> bool;
    }
}

functions! {
    /// Functions for migrations that begin, of newer versions.
    OfMigration {
        /// migration/misc.h
        fn migration_add_notifier(*mut Asked, Answer);
        /// migration/misc.h
        fn migration_remove_notifier(*mut Asked);
    }
}

/// QEMU's way to ask: what is in its list, the question, and in newer versions a place for errors.
type Answer = unsafe extern "C" fn(*mut Asked, *const c_void, Errors) -> c_int;

/// `NotifierWithReturn` of qemu/notify.h, and the device that is asked.
#[repr(C)]
pub(super) struct Asked {
    notify: Answer,
    next: *mut c_void,
    previous: *mut c_void,
    device: &'static dyn Stateful,
}

/// `PostcopyNotifyData` of migration/postcopy-ram.h. Newer versions have the reason alone.
#[repr(C)]
struct OlderQuestion {
    _reason: c_int,
    errors: Errors,
}

/// Device as QEMU has to know of it.
pub(super) struct Unseen {
    functions: Functions,
    of_migration: Option<OfMigration>,
    /// Entries in QEMU's lists, which stay: for postcopy, and for migrations that begin.
    entries: [*mut Asked; 2],
}

// SAFETY: the entries are QEMU's, and are only handed to it.
unsafe impl Send for Unseen {}
// SAFETY: as above.
unsafe impl Sync for Unseen {}

impl Unseen {
    /// Finds out how this QEMU asks.
    ///
    /// # Errors
    /// What is missing, for people.
    pub(super) fn find(device: &'static dyn Stateful) -> Result<Unseen, String> {
        let functions = Functions::look_up().map_err(|name| format!("this QEMU does not show {name}"))?;
        let ([major, minor, _], _) = symbols::version().ok_or("this QEMU does not say its version")?;
        let is_new = [major, minor] >= ERRORS_APART;
        let none = std::ptr::null_mut();
        let entry = |notify: Answer| -> *mut Asked {
            Box::leak(Box::new(Asked { notify, next: none, previous: none, device }))
        };
        Ok(Unseen {
            functions,
            of_migration: is_new.then(OfMigration::look_up).and_then(Result::ok),
            entries: [entry(if is_new { postcopy } else { postcopy_once }), entry(migration)],
        })
    }

    /// Has QEMU ask. With the big lock, as what follows.
    pub(super) fn register(&self) {
        let [postcopy, begins] = self.entries;
        // SAFETY: entries that stay, each for one list.
        unsafe {
            (self.functions.postcopy_add_notifier)(postcopy);
            if let Some(of_migration) = &self.of_migration {
                (of_migration.migration_add_notifier)(begins, migration);
            }
        }
    }

    /// Has QEMU ask no more.
    pub(super) fn unregister(&self) {
        let [postcopy, begins] = self.entries;
        // SAFETY: registered.
        unsafe {
            (self.functions.postcopy_remove_notifier)(postcopy);
            if let Some(of_migration) = &self.of_migration {
                (of_migration.migration_remove_notifier)(begins);
            }
        }
    }

    /// Returns true if a migration is for a machine that runs on while it is saved as it was.
    pub(super) fn is_background(&self) -> bool {
        // SAFETY: asks only.
        unsafe { (self.functions.migrate_background_snapshot)() }
    }
}

/// Answers what QEMU asks of a device.
///
/// # Safety
/// Both are of QEMU's lists and calls.
unsafe fn answered(
    asked: *mut Asked,
    question: *const c_void,
    errors: Errors,
    check: fn(&dyn Stateful) -> Result<(), String>,
) -> c_int {
    guarded("a question about memory", REFUSED, || {
        // SAFETY: by the caller; what is in the list stays, and a question begins with its reason.
        let (device, reason) = unsafe { ((*asked).device, *question.cast::<c_int>()) };
        let answer = if reason == ASKED { check(device) } else { Ok(()) };
        let Err(why) = answer else { return 0 };
        if let Some(qemu) = Qemu::get() {
            // SAFETY: the place for errors that came with the question.
            unsafe { qemu.fail(errors, &format!("vp: {why}")) };
        }
        REFUSED
    })
}

unsafe extern "C" fn postcopy(asked: *mut Asked, question: *const c_void, errors: Errors) -> c_int {
    // SAFETY: QEMU calls.
    unsafe { answered(asked, question, errors, |device| device.check_waits_for_memory()) }
}

/// As QEMU called before it had the third argument.
unsafe extern "C" fn postcopy_once(asked: *mut Asked, question: *const c_void, _: Errors) -> c_int {
    // SAFETY: QEMU calls, and its question has the place in it.
    unsafe { postcopy(asked, question, (*question.cast::<OlderQuestion>()).errors) }
}

unsafe extern "C" fn migration(asked: *mut Asked, question: *const c_void, errors: Errors) -> c_int {
    // SAFETY: QEMU calls.
    unsafe { answered(asked, question, errors, |device| device.check_is_seen()) }
}
