//! The way into an instance's thread, from any session.
//!
//! Commands queue up here in order. While the kernel runs, each arrival knocks at the kernel's injector, which ends the
//! run at the next boundary of a delta cycle: the command is then carried out at that point of simulated time. While the
//! kernel stands, nothing has to be stopped and no time passes.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use vp_core::Injector;

use super::Command;

/// How long a thread looks for the next command before it sleeps: an answer that is under way is there sooner than a
/// sleeper wakes.
const LOOK: Duration = Duration::from_micros(30);

/// The knock that ends a run. Says nothing: what was sent lies in the queue.
pub(super) struct Knock;

pub(in crate::server) struct Door {
    state: Mutex<State>,
    /// Whether commands wait; a hint for who looks without the lock.
    waiting: AtomicBool,
}

struct State {
    commands: Vec<Command>,
    knock: Option<Injector<Knock>>,
    running: bool,
    sleeper: Option<Thread>,
    open: bool,
}

/// The instance is gone.
#[derive(Debug)]
pub(in crate::server) struct Closed;

impl Door {
    pub(super) fn new() -> Self {
        let state = State { commands: Vec::new(), knock: None, running: false, sleeper: None, open: true };
        Self { state: Mutex::new(state), waiting: AtomicBool::new(false) }
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
            knock.send(Knock);
        }
        let sleeper = state.sleeper.take();
        drop(state);
        if let Some(sleeper) = sleeper {
            sleeper.unpark();
        }
        Ok(())
    }

    /// Where to knock from now on.
    pub(super) fn knock_at(&self, knock: Injector<Knock>) {
        self.state().knock = Some(knock);
    }

    /// Takes what has come. The kernel stands.
    pub(super) fn take(&self, into: &mut Vec<Command>) {
        let mut state = self.state();
        state.running = false;
        self.waiting.store(false, Ordering::Relaxed);
        into.append(&mut state.commands);
    }

    /// Whether a run may begin: not while commands wait.
    pub(super) fn begin_run(&self) -> bool {
        let mut state = self.state();
        state.running = state.commands.is_empty();
        state.running
    }

    /// Sleeps until a command comes, or until `wake`.
    pub(super) fn sleep(&self, wake: Option<Instant>) {
        let began = Instant::now();
        while began.elapsed() < LOOK {
            if self.waiting.load(Ordering::Acquire) {
                return;
            }
            hint::spin_loop();
            thread::yield_now();
        }
        {
            let mut state = self.state();
            if !state.commands.is_empty() {
                return;
            }
            state.sleeper = Some(thread::current());
        }
        // Waking early does no harm: the caller looks again.
        match wake {
            Some(wake) => thread::park_timeout(wake.saturating_duration_since(Instant::now())),
            None => thread::park(),
        }
        self.state().sleeper = None;
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
