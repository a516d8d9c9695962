//! End of a call that runs a platform: a signal has come to Python, or a callback has raised.
//!
//! A call that runs the platform has given up Python's lock (`calls.rs`). Every 16 µs of simulated time, and
//! when a run has ended, it is asked here whether it goes on. A call that ends early has its pending requests
//! given up with the CPU's place at the hub, so that the next call does not wait for them. None of this
//! changes a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pyo3::prelude::*;
use vp_core::Time;

/// Simulated time in which nobody asks: some ten thousand cycles, which the host simulates in some milliseconds.
const SLICE: Time = Time::us(16);
/// Interval at which Python is asked for signals.
const SIGNALS: Duration = Duration::from_millis(10);
/// Time for which a call over a socket that is to end waits for its answer; then the session is over. A request is made to take some 10 ms
/// (`session::REQUEST`), but on a loaded host may take many times as long.
const PATIENCE: Duration = Duration::from_secs(5);

/// State that a session and its callbacks share.
pub(crate) struct Control(Mutex<ControlState>);

struct ControlState {
    error: Option<PyErr>,
    /// Time until which a call over a socket waits for its answer, once there is an error.
    patience: Option<Instant>,
    until: Time,
    looked: Instant,
}

impl Control {
    pub(crate) fn new() -> Arc<Control> {
        let state = ControlState { error: None, patience: None, until: Time::ZERO, looked: Instant::now() };
        Arc::new(Control(Mutex::new(state)))
    }

    /// The run is to end with this.
    pub(crate) fn fail(&self, error: PyErr) {
        let mut state = self.0.lock();
        if state.error.is_none() {
            (state.error, state.patience) = (Some(error), Some(Instant::now() + PATIENCE));
        }
    }

    /// A signal's handler has raised this: the run is to end, and if it was to end already, at once.
    fn interrupt(&self, error: PyErr) {
        if self.has_failed() {
            self.0.lock().patience = Some(Instant::now());
        } else {
            self.fail(error);
        }
    }

    /// Returns true if the call is to end.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.lock().error.is_some()
    }

    /// Takes the error for which the call was to end.
    pub(crate) fn take_error(&self) -> Option<PyErr> {
        let mut state = self.0.lock();
        state.patience = None;
        state.error.take()
    }

    /// Time up to which the run goes on before this is asked again; `None`: it ends.
    pub(crate) fn goes_on(&self, now: Time) -> Option<Time> {
        let mut state = self.0.lock();
        if state.error.is_none() && now < state.until {
            return Some(state.until);
        }
        state.until = now + SLICE;
        let until = state.until;
        drop(state);
        self.look();
        (!self.has_failed()).then_some(until)
    }

    /// Returns true if a call that sleeps at a socket goes on sleeping.
    pub(crate) fn sleeps_on(&self) -> bool {
        self.look();
        self.0.lock().patience.is_none_or(|until| Instant::now() < until)
    }

    /// Looks for signals, if that was not done just now.
    fn look(&self) {
        let (now, mut state) = (Instant::now(), self.0.lock());
        if now - state.looked < SIGNALS {
            return;
        }
        state.looked = now;
        // A handler of Python's may do whatever it likes.
        drop(state);
        let seen = Python::attach(|py| {
            py.check_signals()?;
            PyResult::Ok(())
        });
        if let Err(error) = seen {
            self.interrupt(error);
        }
    }
}
