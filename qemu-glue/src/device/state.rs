//! The device's state in that of the machine: for `savevm` and `loadvm`, and for migration.
//!
//! ```text
//! form, 1 byte   level of the interrupt line, 1 byte   the platform, saved
//! ```
//!
//! QEMU saves RAM before it saves devices. So the platform has to be at rest from when the machine stops: a layer that is
//! under way then is waited for, and one that does not end is a reason not to save the machine.

use std::sync::{Mutex, PoisonError};

use super::Device;
use crate::qemu::Qemu;
use crate::qemu::state::{Saving, Section, Stateful};
use crate::session::MOST_STATE;

/// Of the form.
const FORM: u8 = 1;
/// Bytes before the platform's.
const HEAD: usize = 2;

/// States in which a machine stands that is about to end, or to have another state: the platform's is of no use.
const OVER: [&str; 2] = ["restore-vm", "shutdown"];
/// State in which a machine stands for `savevm`.
const SNAPSHOT: &str = "save-vm";
/// States in which a machine stands by itself, with no use for a layer's end: no layer is waited for.
const HURRIED: [&str; 5] = ["debug", "guest-panicked", "internal-error", "io-error", "watchdog"];

/// Device's part in the state of its machine.
#[derive(Default)]
pub(super) struct MachineState {
    section: std::sync::OnceLock<&'static Section>,
    /// Reason for which RAM may change after it was saved, while the machine stands: the platform is at work.
    busy: Mutex<Option<String>>,
    /// True if a state was loaded since the machine stood.
    is_loaded: std::sync::atomic::AtomicBool,
    /// True if the machine stands to be saved, and its memory with it.
    is_snapshot: std::sync::atomic::AtomicBool,
}

impl MachineState {
    fn set_busy(&self, why: Option<String>) {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    fn busy(&self) -> Option<String> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_snapshot(&self) -> bool {
        self.is_snapshot.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(super) fn section(&self) -> Option<&'static Section> {
        self.section.get().copied()
    }
}

impl Device {
    /// Makes the device's state a part of the machine's.
    ///
    /// # Errors
    /// Why it cannot be one, for people.
    pub(super) fn join_machine_state(&'static self, name: &str) -> Result<&'static Section, String> {
        Saving::find()?;
        self.session.check_keeps_state().map_err(|error| error.to_string())?;
        let section = Section::register(name, self.port.function(), self)?;
        _ = self.state.section.set(section);
        Ok(section)
    }

    /// Returns true if the server has mapped memory of the guest's, or would if it came again.
    fn is_memory_shared(&self) -> bool {
        self.session.may_share() && self.port.shares_memory()
    }

    /// The machine goes on.
    pub(super) fn goes_on(&self) {
        if !self.port.is_in_machine() {
            return;
        }
        self.port.release();
        if self.state.is_loaded.swap(false, std::sync::atomic::Ordering::Relaxed)
            && let Some(clock) = &self.clock
        {
            self.keep_up(clock);
        }
    }

    /// The machine stops; `why` is QEMU's word.
    pub(super) fn stops(&self, qemu: &Qemu, saving: &Saving, why: &str) {
        if !self.port.is_in_machine() {
            return;
        }
        self.port.hold();
        self.state.is_snapshot.store(why == SNAPSHOT, std::sync::atomic::Ordering::Relaxed);
        if OVER.contains(&why) {
            return self.state.set_busy(Some(format!("the machine is in the state {why}")));
        }
        let rest = self.session.await_rest(!HURRIED.contains(&why));
        self.state.set_busy(rest.err().map(|error| error.to_string()));
        self.port.note_written(qemu, saving);
    }
}

impl Stateful for Device {
    fn save(&self) -> Result<Vec<u8>, String> {
        let refused = |why: &dyn std::fmt::Display| format!("the device is not saved: {why}");
        // `savevm` saves the machine as it stands, whatever it is set to.
        if !self.state.is_snapshot() {
            self.check_is_seen().map_err(|why| refused(&why))?;
        }
        if let Some(busy) = self.state.busy() {
            return Err(refused(&busy));
        }
        let platform = self.session.save().map_err(|error| refused(&error))?;
        let head: [u8; HEAD] = [FORM, u8::from(self.port.level())];
        Ok([&head, &platform[..]].concat())
    }

    fn load(&self, state: &[u8]) -> Result<(), String> {
        let refused = |why: &dyn std::fmt::Display| format!("the device's state is refused: {why}");
        let [form, level, platform @ ..] = state else {
            return Err(refused(&"it is cut short"));
        };
        if *form != FORM || *level > 1 {
            return Err(refused(&format_args!("it has form {form}, and this library reads form {FORM}")));
        }
        self.session.restore(platform).map_err(|error| refused(&error))?;
        self.port.take_up(*level == 1);
        self.state.set_busy(None);
        self.state.is_loaded.store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    fn most(&self) -> u64 {
        MOST_STATE + HEAD as u64
    }

    fn check_waits_for_memory(&self) -> Result<(), String> {
        let why = "the server here reaches the guest's memory without QEMU, and would not wait for what has not come yet (postcopy): give \
                   the device share=off";
        if self.is_memory_shared() { Err(why.to_owned()) } else { Ok(()) }
    }

    fn check_is_seen(&self) -> Result<(), String> {
        let why = "the server writes the guest's memory without QEMU, which is to save it as it was (background-snapshot): give the \
                   device share=off";
        let is_background = self.state.section().is_some_and(Section::is_background);
        if is_background && self.is_memory_shared() { Err(why.to_owned()) } else { Ok(()) }
    }
}
