//! A value that belongs to the thread, and to the process, that made it: a simulation is not to be used from two.

use std::cell::{RefCell, RefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use send_wrapper::SendWrapper;

use crate::errors;

/// Number of forks that have led to this process: Python tells ([`count_fork`]).
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Counts a fork, of which this process is the child from now on.
pub(crate) fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A value of one thread of one process, until it is closed.
pub(crate) struct Owned<T> {
    value: Option<SendWrapper<RefCell<Option<T>>>>,
    forks: u64,
}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Owned<T> {
        let forks = FORKS.load(Ordering::Relaxed);
        Owned { value: Some(SendWrapper::new(RefCell::new(Some(value)))), forks }
    }

    fn is_forked(&self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.forks
    }

    /// The value, for whoever may use it now; `None` if it is closed.
    fn cell(&self) -> PyResult<RefMut<'_, Option<T>>> {
        if self.is_forked() {
            return Err(errors::of(
                "ForkedError",
                "this process was forked from the one that made the platform: make one here",
            ));
        }
        let Some(cell) = self.value.as_ref().filter(|cell| cell.valid()) else {
            return Err(errors::of(
                "WrongThreadError",
                "a platform belongs to the thread that made it: use it there, or make one in this thread",
            ));
        };
        cell.try_borrow_mut().map_err(|_| {
            errors::of(
                "BusyError",
                "the platform runs: a callback is told what has happened, and cannot make calls of its own",
            )
        })
    }

    /// The value.
    pub(crate) fn get(&self) -> PyResult<RefMut<'_, T>> {
        RefMut::filter_map(self.cell()?, Option::as_mut)
            .map_err(|_| errors::of("ClosedError", "the platform is closed"))
    }

    /// Takes the value out, if that was not done before.
    pub(crate) fn take(&self) -> PyResult<Option<T>> {
        Ok(self.cell()?.take())
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // Elsewhere its sockets, files and threads are not to be touched: what it has stays for good.
        if self.is_forked() || !self.value.as_ref().is_some_and(SendWrapper::valid) {
            std::mem::forget(self.value.take());
        }
    }
}
