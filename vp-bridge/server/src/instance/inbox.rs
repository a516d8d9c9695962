//! The way into an instance's thread, from any other.
//!
//! Commands queue up here in order. While a run lasts, each arrival interrupts it through the kernel's injector: the run ends
//! with the present instant, and the command takes effect there. During a short run the platform's thread looks here every few
//! cycles, and while the kernel stands, nothing has to be stopped.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vp_core::Injector;
use vp_models::hub::Interruption;
use vp_shm::Bell;

use super::Command;

pub(crate) struct Inbox {
    state: Mutex<State>,
    /// Whether commands wait; a hint for who looks without the lock.
    waiting: AtomicBool,
    bell: Bell,
}

struct State {
    commands: Vec<Command>,
    interrupter: Option<Injector<Interruption>>,
    running: bool,
    asleep: bool,
    open: bool,
}

/// The instance is gone.
#[derive(Debug)]
pub(crate) struct Closed;

impl Inbox {
    pub(crate) fn new() -> std::io::Result<Self> {
        let state =
            State { commands: Vec::new(), interrupter: None, running: false, asleep: false, open: true };
        Ok(Self { state: Mutex::new(state), waiting: AtomicBool::new(false), bell: Bell::new()? })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the instance lives.
    pub(crate) fn is_open(&self) -> bool {
        self.state().open
    }

    /// Sends commands in, in order; leaves `commands` empty.
    pub(crate) fn send(&self, commands: &mut Vec<Command>) -> Result<(), Closed> {
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
            && let Some(interrupter) = &state.interrupter
        {
            interrupter.send(Interruption);
        }
        let is_asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if is_asleep {
            self.bell.ring();
        }
        Ok(())
    }

    /// What interrupts runs from now on.
    pub(super) fn interrupt_runs_with(&self, interrupter: Injector<Interruption>) {
        self.state().interrupter = Some(interrupter);
    }

    /// Takes what has come. The kernel stands, and nobody interrupts.
    pub(crate) fn take(&self, into: &mut Vec<Command>) {
        let mut state = self.state();
        state.running = false;
        self.waiting.store(false, Ordering::Relaxed);
        into.append(&mut state.commands);
    }

    /// From now on commands interrupt the run, unless some wait: then a run must not begin.
    pub(super) fn begin_run(&self) -> bool {
        let mut state = self.state();
        state.running = state.commands.is_empty();
        state.running
    }

    /// Whether commands wait.
    pub(crate) fn has_waiting(&self) -> bool {
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
