//! The way into an instance's thread, from any other.
//!
//! Commands queue up here in order. While the kernel is in a run that lasts, each arrival knocks at the kernel's injector, which
//! ends the run at the next boundary of a delta cycle: the command is then carried out at that point of simulated time.
//! In a short run who runs it looks here every few cycles, and while the kernel stands, nothing has to be stopped.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vp_core::Injector;
use vp_models::hub::Interruption;
use vp_shm::Bell;

use super::Command;

pub(in crate::server) struct Door {
    state: Mutex<State>,
    /// Whether commands wait; a hint for who looks without the lock.
    waiting: AtomicBool,
    bell: Bell,
}

struct State {
    commands: Vec<Command>,
    knock: Option<Injector<Interruption>>,
    running: bool,
    asleep: bool,
    open: bool,
}

/// The instance is gone.
#[derive(Debug)]
pub(in crate::server) struct Closed;

impl Door {
    pub(in crate::server) fn new() -> std::io::Result<Self> {
        let state = State { commands: Vec::new(), knock: None, running: false, asleep: false, open: true };
        Ok(Self { state: Mutex::new(state), waiting: AtomicBool::new(false), bell: Bell::new()? })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the instance lives.
    pub(in crate::server) fn is_open(&self) -> bool {
        self.state().open
    }

    /// Sends commands in, in order; leaves `commands` empty.
    pub(in crate::server) fn send(&self, commands: &mut Vec<Command>) -> Result<(), Closed> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut state = self.state();
        if !state.open {
            // Outside the lock: what a command carries may tell others when it is dropped.
            drop(state);
            commands.clear();
            return Err(Closed);
        }
        state.commands.append(commands);
        self.waiting.store(true, Ordering::Release);
        if state.running
            && let Some(knock) = &state.knock
        {
            knock.send(Interruption);
        }
        let is_asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if is_asleep {
            self.bell.ring();
        }
        Ok(())
    }

    /// Where to knock from now on.
    pub(super) fn knock_at(&self, knock: Injector<Interruption>) {
        self.state().knock = Some(knock);
    }

    /// Takes what has come. The kernel stands, and nobody knocks.
    pub(in crate::server) fn take(&self, into: &mut Vec<Command>) {
        let mut state = self.state();
        state.running = false;
        self.waiting.store(false, Ordering::Relaxed);
        into.append(&mut state.commands);
    }

    /// From now on commands knock, unless some wait: then a run must not begin.
    pub(super) fn begin_run(&self) -> bool {
        let mut state = self.state();
        state.running = state.commands.is_empty();
        state.running
    }

    /// Whether commands wait.
    pub(in crate::server) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// Says that the thread is about to sleep, until the bell rings. `false`: not now, commands wait.
    pub(super) fn fall_asleep(&self) -> bool {
        let mut state = self.state();
        state.asleep = state.commands.is_empty();
        state.asleep
    }

    /// What rings when a command comes to a thread that sleeps.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Ends the sleep.
    pub(super) fn wake(&self) {
        self.state().asleep = false;
        self.bell.hush();
    }

    /// Lets nothing in any more.
    pub(super) fn close(&self) {
        let commands = {
            let mut state = self.state();
            state.open = false;
            std::mem::take(&mut state.commands)
        };
        drop(commands);
    }
}
